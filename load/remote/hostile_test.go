package remote

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// TestBucket_AFailureIsNoMissingObject: the text of an error must not matter. The gocloud library classified every
// error with 301 in its text as a missing object, for example if 301 was in a port or a request ID. So a failing bucket
// looked empty.
func TestBucket_AFailureIsNoMissingObject(t *testing.T) {
	p := newS3(t)
	b, err := Open(p.url, Options{Pause: 1, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]error{500: ErrUnavailable, 403: ErrDenied} {
		answer := fault(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("X-Amz-Request-Id", "13010")
			w.WriteHeader(status)
			return true
		})
		p.fault.Store(&answer)
		is, err := b.readPointer(t.Context())
		if is != nil || !errors.Is(err, want) || errors.Is(err, errNotFound) {
			t.Errorf("status %d: pointer %v, error %v, want %v", status, is, err, want)
		}
	}
}
