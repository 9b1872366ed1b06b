package remote

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/schema/schematest"
)

// TestBucket_AFailureIsNoMissingObject whatever its text has: to gocloud every error with 301 in its text, such as that
// of a port or a request ID, means that the object is missing, and a bucket that fails would be taken for an empty one.
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
		is, err := b.readPointer(t.Context(), "")
		if is != nil || !errors.Is(err, want) || errors.Is(err, errNotFound) {
			t.Errorf("status %d: pointer %v, error %v, want %v", status, is, err, want)
		}
	}
}

// TestBucket_HostileReplies: whatever a storage sends, push and pull end with an error and take bounded memory. The
// other clients have the same table in cmd/spendsync and load/lake.
func TestBucket_HostileReplies(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := bytes.Repeat(zipped.Bytes(), 64) // 1 GiB
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for name, reply := range map[string]http.HandlerFunc{
		"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		},
		"deep JSON": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"format":1,"accounts":`+strings.Repeat(`{"a":`, 1<<20))
		},
		"deep XML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			_, _ = io.WriteString(w, strings.Repeat("<Error>", 1<<19))
		},
		"without end": func(w http.ResponseWriter, r *http.Request) {
			for range 1 << 10 {
				if _, err := w.Write(blanks); err != nil {
					return
				}
			}
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		},
		"metadata": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", strings.Repeat("x", 1<<19))
			_, _ = io.WriteString(w, "{}")
		},
		"reset": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"format":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		for _, status := range []int{200, 403} {
			for _, http2 := range []bool{false, true} {
				if http2 != (status == 200) && !schematest.All() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/http2=%t", name, status, http2), func(t *testing.T) {
					s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						w.Header().Set("Date", "Tue, 24 Nov 2026 00:00:00 GMT")
						reply(&statusFirst{ResponseWriter: w, status: status}, r)
					}))
					s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
					options := Options{Pause: 1}
					if http2 {
						s.EnableHTTP2 = true
						s.StartTLS()
						options.CABundle = pemOf(s)
					} else {
						s.Start()
					}
					defer s.Close()
					newS3(t) // for its variables
					t.Setenv("AWS_ENDPOINT_URL", s.URL)
					b, err := Open("s3://spend/store", options)
					if err != nil {
						t.Fatal(err)
					}
					source := newStore(t)
					source.publish(100)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, pullErr := b.Pull(t.Context(), PullOptions{Dir: t.TempDir(), All: true})
					_, pushErr := b.Push(t.Context(), source.pushOptions())
					runtime.ReadMemStats(&after)
					if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 {
						t.Errorf("%d MiB of memory were taken", took>>20)
					}
					for _, err := range []error{pullErr, pushErr} {
						if err == nil || len(err.Error()) > 4000 {
							t.Errorf("%.300v", err)
						}
						if errors.Is(err, durable.ErrStorage) {
							t.Errorf("%v: that is no error of the disk", err)
						}
					}
				})
			}
		}
	}
}

// statusFirst is a reply with a status of its own.
type statusFirst struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (w *statusFirst) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.WriteHeader(w.status)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.NewResponseController.
func (w *statusFirst) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// pemOf is the certificate of a server.
func pemOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
