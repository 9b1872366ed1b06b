package extract

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
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
	c.lastFailure.Store(&failure{status: 502})
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

// TestClient_IsAnsweredByAnAcceptedReply: a client says that the service has answered once a reply was accepted, and
// not before.
func TestClient_IsAnsweredByAnAcceptedReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := []func(*http.Request) (*http.Response, error){
			status(404, `{"error":{"code":"not_found"}}`), status(200, `{"id":"C1000001"}`),
		}
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			next := replies[0]
			replies = replies[1:]
			return next(r)
		}))
		check(t, "before any request", c.Answered(), false)
		if _, err := c.Campaign(t.Context(), "C1000001"); err == nil {
			t.Error("a 404 is no error")
		}
		check(t, "after a 404", c.Answered(), false)
		if _, err := c.Campaign(t.Context(), "C1000001"); err != nil {
			t.Error(err)
		}
		check(t, "after a reply", c.Answered(), true)
	})
}

// TestBudget_LeavesOutTheQueue: the time that a read waits for our own limit is no failure of the service.
func TestBudget_LeavesOutTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1/limits" {
				return answerWith(200, `{"a":1}`)
			}
			return answerWith(500, "")
		}), func(o *Options) { o.PerMinute = 2 })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { // the service is not down, and half of the limit is another's
			defer close(done)
			for ctx.Err() == nil {
				if _, err := c.Limits(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		}()
		began := time.Now()
		_, err := c.Balance(t.Context())
		wantError(t, err, ErrUnavailable)
		if waited := time.Since(began); waited < c.budget*3/2 {
			t.Errorf("gave up after %v: most of that was the queue", waited)
		}
		cancel()
		<-done
	})
}

// TestRetryAfter_OfTheWholeBudgetIsWaitedFor, by all endpoints: only a longer pause is of one endpoint, and refused.
func TestRetryAfter_OfTheWholeBudgetIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			if asked.Add(1) == 1 {
				return answerWith(503, "", "Retry-After", "600")
			}
			return answerWith(200, `{"a":1}`)
		}))
		check(t, "budget", c.budget, 10*time.Minute)
		began, ended := time.Now(), make(chan error)
		go func() {
			_, err := c.Balance(t.Context())
			ended <- err
		}()
		time.Sleep(time.Second)
		_, err := c.Limits(t.Context())
		check(t, "error of another endpoint", err, nil)
		if waited := time.Since(began); waited < c.budget {
			t.Errorf("another endpoint is asked after %v", waited)
		}
		check(t, "error", <-ended, nil)
	})
}

// TestUntried_AnAddressThatIsWrongEndsEarly: of an interface that was never read, and has answered nothing yet, an
// error that doubts its URL is asked for a few times only. Everything else has the whole budget.
func TestUntried_AnAddressThatIsWrongEndsEarly(t *testing.T) {
	noHost := broken(&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true})
	for name, tc := range map[string]struct {
		untried, answered bool
		fails             func(*http.Request) (*http.Response, error)
		early             bool
	}{
		"untried":                      {true, false, noHost, true},
		"tried in an earlier run":      {false, false, noHost, false},
		"answered in this run":         {true, true, noHost, false},
		"tried and answered":           {false, true, noHost, false},
		"an error that is no doubt":    {true, false, status(503, ""), false},
		"no doubt, tried and answered": {false, true, status(503, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed := 0
				answers := tc.answered
				c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					if answers || failed >= (fewRetries+1)+2 {
						return answerWith(200, `{"a":1}`)
					}
					failed++
					return tc.fails(r)
				}))
				if tc.untried {
					c.Untried()
				}
				if tc.answered {
					_, err := c.Balance(t.Context())
					check(t, "the first answer", err, nil)
				}
				answers = false
				_, err := c.Limits(t.Context())
				check(t, "it is given up", err != nil, tc.early)
				want := (fewRetries + 1)
				if !tc.early {
					want += 2
				}
				check(t, "requests that failed", failed, want)
			})
		})
	}
}
