package extract

import (
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
			`{"columns":7}`: `{"columns":7}`, `{"error":"busy"}`: `{"error":"busy"}`, "<html>": "", "": "",
		} {
			_, err := walk(t, newTestClient(t, saying(body)).Spend(t.Context(), testDay, 3, nil, nil))
			wantError(t, err, ErrContract)
			check(t, "reply of "+body, string(TakeReply(err)), want)
		}
	})
}
