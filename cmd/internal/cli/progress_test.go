package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestBar_KnownWaitsCountDown: if the end of a wait is known, the bar counts down; if the bar waits for replies, it
// counts up. The time left does not grow between steps.
func TestBar_KnownWaitsCountDown(t *testing.T) {
	b := &Bar{}
	b.stepped.Store(int64(30 * time.Second)) // 30 of 36 steps were done after 30 seconds
	for _, c := range []struct {
		took, wait time.Duration
		want       string
	}{
		{30 * time.Second, 0, "6s left"},
		{32 * time.Second, 0, "4s left"},
		{33 * time.Second, 57 * time.Second, "limit of requests: goes on in 57s"},
		{80 * time.Second, 10 * time.Second, "limit of requests: goes on in 10s"},
		// The wait for the limit does not count as a wait for replies.
		{90 * time.Second, 500 * time.Millisecond, "6s left"},
		{95 * time.Second, 0, "waiting 5s for replies"},
		{96 * time.Second, -time.Hour, "waiting 6s for replies"},
	} {
		if got := b.pace(c.took, c.wait, 30, 36); got != c.want {
			t.Errorf("after %v, waiting %v: %q, want %q", c.took, c.wait, got, c.want)
		}
	}
	if got := b.pace(time.Second, 0, 0, 36); got != "" {
		t.Errorf("before the first step: %q", got)
	}
	b = &Bar{}
	// the first steps are fast, because the limit of requests is only reached later
	b.stepped.Store(int64(600 * time.Millisecond))
	if got := b.pace(700*time.Millisecond, 0, 30, 36); got != "" {
		t.Errorf("after 0.7 seconds: %q", got)
	}
	b.stepped.Store(int64(3 * time.Second))
	if got := b.pace(3100*time.Millisecond, 0, 35, 36); got != "1s left" {
		t.Errorf("before the last step: %q", got)
	}
}

// TestBar_LeavesItsLine: after the bar is gone, one line on the terminal shows how much was read.
func TestBar_LeavesItsLine(t *testing.T) {
	for done, want := range map[string]string{"read": "3 of 3 days read\n", "": ""} {
		var out bytes.Buffer
		s := NewScreen(&out)
		s.Terminal = true
		b := s.Progress("days", done, 3, nil)
		for range 3 {
			b.Step()
		}
		if b.Done(); !strings.HasSuffix(out.String(), want) || strings.Contains(out.String(), " read") != (want != "") {
			t.Errorf("%q: left is %q", done, out.String())
		}
	}
}
