package extract

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

func TestTakeReply_LetsTheReplyGo(t *testing.T) {
	read := func() *ReadError { return &ReadError{What: "spend", Reply: []byte("read"), Err: ErrContract} }
	walked := func() *UnprovenError { return &UnprovenError{What: "spend", Reply: []byte("walked")} }
	for name, tc := range map[string]struct {
		err   error
		first string
	}{
		"read":   {fmt.Errorf("day: %w", read()), "read"},
		"walked": {fmt.Errorf("day: %w", walked()), "walked"},
		"other":  {ErrAuth, ""},
	} {
		check(t, name, string(TakeReply(tc.err)), tc.first)
		check(t, name+" again", string(TakeReply(tc.err)), "")
	}
	both := fmt.Errorf("%w, %w", read(), walked())
	check(t, "both", string(TakeReply(both)), "read")
	check(t, "both again", string(TakeReply(both)), "walked")
}

func TestReadError_NamesTheRequestOnce(t *testing.T) {
	for reason, want := range map[string]string{
		"status 500":                      "spend: status 500, request id req-1: outside the service's contract",
		`status 500: "see request req-1"`: `spend: status 500: "see request req-1": outside the service's contract`,
	} {
		e := &ReadError{What: "spend", Reason: reason, RequestID: "req-1", Attempts: 1, Err: ErrContract}
		check(t, "error", e.Error(), want)
	}
	e := &ReadError{What: "spend", Reason: "cut off", Attempts: 2, Err: ErrContract}
	check(t, "error", e.Error(), "spend: cut off, 2 attempts: outside the service's contract")
}

// TestReadError_HoldsTheRefusedReply if it is JSON; a proxy's page is worth nothing.
func TestReadError_HoldsTheRefusedReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for body, want := range map[string]string{
			`{"columns":7}`: `{"columns":7}`, `{"error":"odd"}`: `{"error":"odd"}`, `{"columns":`: "",
		} {
			_, err := walk(t, newTestClient(t, saying(body)).Spend(t.Context(), testDay, 3, nil, nil))
			wantError(t, err, ErrContract)
			check(t, "reply of "+body, string(TakeReply(err)), want)
		}
	})
}

// TestReadError_HoldsTheBodyOfARefusal, as it came; of a service that fails, and of a redirect, it has none.
func TestReadError_HoldsTheBodyOfARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, kept := range map[int]bool{301: false, 399: false, 400: true, 404: true, 499: true, 500: false,
			503: false} {
			for _, body := range []string{`{"error":"no such column"}`, ""} {
				c := newTestClient(t, roundTrip(status(code, body)))
				_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
				e, ok := errors.AsType[*ReadError](err)
				if want := kept && body != ""; !ok || (e.Refusal != nil) != want || want && string(e.Refusal) != body {
					t.Errorf("status %d, %q: error %v with the refusal %q", code, body, err, e.Refusal)
				}
			}
		}
	})
}
