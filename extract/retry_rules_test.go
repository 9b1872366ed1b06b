package extract

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestNewBackOff_DrawsFromTheWholeRange: waits are spread, so that clients which failed together do not come back
// together, and they grow.
func TestNewBackOff_DrawsFromTheWholeRange(t *testing.T) {
	for attempt, most := 1, firstWait; attempt <= 10; attempt, most = attempt+1, min(2*most, longestWait) {
		low, high := most, most*0
		for range 200 {
			b := newBackOff()
			for range attempt - 1 {
				b.NextBackOff()
			}
			wait := b.NextBackOff()
			low, high = min(low, wait), max(high, wait)
		}
		if low < 0 || low > most/4 || high > most+1 || high < most*3/4 {
			t.Errorf("wait %d is drawn from %v to %v, want 0 to %v", attempt, low, high, most)
		}
	}
}

// TestReadError_OfAReadThatSentNothing: a read that gives up because the service is down has the status of the
// failure that its reason quotes, and one that failed itself has its own.
func TestReadError_OfAReadThatSentNothing(t *testing.T) {
	c := newTestClient(t, roundTrip(status(500, "")))
	statusOf := func(f *failure) int {
		r := &reading{c: c, q: question{what: "x"}}
		e, ok := errors.AsType[*ReadError](r.fail(ErrUnavailable, f, "down"))
		if !ok {
			t.Fatal("another error")
		}
		return e.Status
	}
	check(t, "before any failure", statusOf(nil), 0)
	c.lastDown.Store(&failure{status: 502})
	check(t, "after another's failure", statusOf(nil), 502)
	check(t, "of its own failure", statusOf(&failure{status: 503}), 503)
}

// TestTotalHeader: only a count is a total.
func TestTotalHeader(t *testing.T) {
	for text, want := range map[string]int64{"": -1, "0": 0, "7": 7, "-1": -1, "-7": -1, "x": -1, "7 ": -1} {
		if got := totalHeader(http.Header{"X-Total-Count": {text}}); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestBreaker_AllowEndsWithItsContext: a read that waits for how the probes of a service that is down end gives up
// with its context, and goes on when a probe ends.
func TestBreaker_AllowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(time.Minute)
		began := time.Now()
		b.failure(began, "x")
		time.Sleep(time.Minute)
		if _, down := b.failure(began, "x"); !down {
			t.Fatal("the service is not down")
		}
		for range maxProbes {
			if tripped, err := b.allow(t.Context()); err != nil || tripped != nil {
				t.Fatalf("a probe: %v, %v", tripped, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.allow(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that ended: %v", err)
		}
		check(t, "waited", time.Since(began), time.Minute+time.Second)
		for range maxProbes {
			time.AfterFunc(time.Second, b.endProbe)
		}
		if _, err := b.allow(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("all probes have failed: %v", err)
		}
	})
}
