package job

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
)

// clocked is a session whose machine's clock is ahead of the service's. The service has answered once, with a Date
// if hasDate.
func clocked(t *testing.T, ahead time.Duration, hasDate bool) (r *session, log *bytes.Buffer) {
	t.Helper()
	client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			header := http.Header{}
			if hasDate {
				header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
			}
			return &http.Response{StatusCode: 200, Header: header, ContentLength: -1, Request: r,
				Body: io.NopCloser(strings.NewReader(`{"id":"a"}`))}, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := client.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	return &session{Job: Job{API: client, Log: slog.New(slog.NewTextHandler(log, nil))},
		clock: newClock(func() time.Time { return time.Now().Add(ahead) })}, log
}

// TestSession_CheckClock: a run ends if the clocks differ by more than an hour, and says in which direction and what
// that would spoil. It warns, and follows the service's clock, if they differ by less.
func TestSession_CheckClock(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		ends  string // why; empty: the run goes on
		warns bool
	}{
		{0, "", false},
		{clockWarning, "", false},
		{clockWarning + time.Second, "", true},
		{-clockWarning, "", false},
		{-clockWarning - time.Second, "", true},
		{MaxClockOff, "", true},
		{-MaxClockOff, "", true},
		{MaxClockOff + 400*time.Millisecond, "", true}, // the Date has no fraction of a second
		{MaxClockOff + time.Second, "is 1h0m1s ahead of the service's, 2000-01-01T01:00:01Z against " +
			"2000-01-01T00:00:00Z: days would count as over that are not", true},
		{-MaxClockOff - time.Second, "is 1h0m1s behind the service's, 1999-12-31T22:59:59Z against " +
			"2000-01-01T00:00:00Z: days would count as lost that can be read", true},
	} {
		synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01 00:00:00
			r, log := clocked(t, c.ahead, true)
			err := r.checkClock(r.API)
			if (err != nil) != (c.ends != "") || err != nil && (!errors.Is(err, exit.ErrUsage) ||
				!strings.Contains(err.Error(), c.ends)) {
				t.Errorf("%v ahead: %v", c.ahead, err)
			}
			if r.warnOfClock(); strings.Contains(log.String(), "level=WARN") != c.warns {
				t.Errorf("%v ahead: %s", c.ahead, log)
			}
			if c.warns && !strings.Contains(log.String(), "ahead="+c.ahead.Round(time.Second).String()) {
				t.Errorf("%v ahead: %s", c.ahead, log)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r, _ := clocked(t, 2*MaxClockOff, false)
		if err := r.checkClock(r.API); err != nil || r.clock.compared {
			t.Errorf("a service without a clock: %v, compared %t", err, r.clock.compared)
		}
	})
}

// TestSession_AskClock: a run waits five seconds for the service's clock, and no longer than it is allowed to. It
// begins by the service's clock if that differs.
func TestSession_AskClock(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		ahead              time.Duration
		answered, stopped  time.Duration // when
		waits              time.Duration
		starts, isUsageErr bool
	}{
		"answered before":       {0, 0, never, 0, true, false},
		"answered after 3 s":    {0, 3 * time.Second, never, 3 * time.Second, true, false},
		"not answered":          {0, never, never, clockWait, true, false},
		"stopped before":        {0, never, 0, 0, false, false},
		"stopped after 2 s":     {0, never, 2 * time.Second, 2 * time.Second, true, false},
		"10 minutes ahead":      {10 * time.Minute, 0, never, 0, true, false},
		"two hours ahead":       {2 * time.Hour, 0, never, 0, true, true},
		"10 minutes behind":     {-10 * time.Minute, 0, never, 0, true, false},
		"stopped, hours behind": {-2 * time.Hour, never, 0, 0, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := clocked(t, c.ahead, true)
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.stopped)
			defer cancel()
			if c.stopped == 0 {
				cancel()
			}
			me := &keyAnswer{done: make(chan struct{})}
			if c.answered < never {
				answered := time.AfterFunc(c.answered, func() { close(me.done) })
				defer answered.Stop()
				if c.answered == 0 {
					synctest.Wait()
				}
			}
			err := r.askClock(ctx, me)
			if errors.Is(err, exit.ErrUsage) != c.isUsageErr || (err != nil) != c.isUsageErr {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took != c.waits {
				t.Errorf("%s: waited %v, want %v", name, took, c.waits)
			}
			if want := c.starts; r.start.IsZero() == want || want && !r.start.Equal(began) {
				t.Errorf("%s: the run began at %v, by the service's clock it is %v", name, r.start, began)
			}
		})
	}
}
