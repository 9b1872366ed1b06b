package extract

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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
