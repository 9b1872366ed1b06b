package extract

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/schema"
)

// TestOutage_EndsInBoundedTime: if the service is down, four workers that read thirty days spend one budget, and then
// one request for each day; two budgets at most.
func TestOutage_EndsInBoundedTime(t *testing.T) {
	for name, f := range map[string]func(*http.Request) (*http.Response, error){
		"refused": broken(errors.New("connect: connection refused")),
		"busy":    status(503, "down for maintenance"),
		"stalled": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil,
				r.Context().Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := newTestClient(t, roundTrip(f))
				var wg sync.WaitGroup
				days := make(chan int)
				var mu sync.Mutex
				var last error
				for range 4 {
					wg.Go(func() {
						for i := range days {
							_, err := walk(t, dayOf(t.Context(), c, testDay+schema.Date(i), 3))
							wantError(t, err, ErrUnavailable)
							mu.Lock()
							last = err
							mu.Unlock()
						}
					})
				}
				for i := range 30 {
					days <- i
				}
				close(days)
				wg.Wait()
				most := 10 * time.Minute
				if name == "stalled" { // requests already sent, and the timeouts of the remaining requests
					most = 20*time.Minute + time.Minute
				}
				if took := time.Since(start); took < 10*time.Minute || took > most {
					t.Errorf("took %v, want 10m to %v", took, most)
				}
				wantError(t, last, ErrUnavailable, "the retry budget of 10m0s is used up")
			})
		})
	}
}

// TestOutage_CostsOneBudgetWherePartial: a service that never answers some of the questions costs one budget. It does
// not matter how many questions are sent at a time, or how the service fails.
func TestOutage_CostsOneBudgetWherePartial(t *testing.T) {
	const days = 33
	isBad := func(day string) bool { return (day[9]-'0')%2 == 0 }
	fails := map[string]func(r *http.Request) (*http.Response, error){
		"500":   status(500, ""),
		"reset": broken(errors.New("read: connection reset by peer")),
		"html":  status(502, "<html>bad gateway</html>"),
		"busy":  status(503, "", "Retry-After", "20"),
		"slow": func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return answerWith(500, "")
		},
		"silent": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
	}
	for name, fail := range fails {
		for _, budget := range []time.Duration{30 * time.Second, time.Minute, 10 * time.Minute} {
			if name == "busy" && budget < time.Minute {
				continue // two waits use up the budget, and nothing is answered during them
			}
			for _, readers := range []int{1, 4, 38} {
				synctest.Test(t, func(t *testing.T) {
					var requests, bad atomic.Int64
					c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
						if !isBad(r.URL.Query().Get("start_date")) {
							time.Sleep(100 * time.Millisecond)
							return answerWith(200, pageOf(nil, placed(1, 3, 0, 0)))
						}
						requests.Add(1)
						time.Sleep(10 * time.Millisecond)
						return fail(r)
					}), func(o *Options) { o.RetryBudget = budget })
					start, asked := time.Now(), make(chan schema.Date, days)
					for i := range days {
						asked <- testDay + schema.Date(i)
					}
					close(asked)
					var wg sync.WaitGroup
					for range readers {
						wg.Go(func() {
							for day := range asked {
								_, err := walk(t, dayOf(t.Context(), c, day, 3))
								if isBad(day.String()) {
									bad.Add(1)
									wantError(t, err, ErrUnavailable)
								} else if err != nil {
									t.Errorf("%s, %v, %d readers, %v: %v", name, budget, readers, day, err)
								}
							}
						})
					}
					wg.Wait()
					took := time.Since(start)
					// One budget, or a single request that takes longer; afterwards one request for each bad day.
					each := map[string]time.Duration{"busy": 20 * time.Second, "slow": 5 * time.Second,
						"silent": time.Minute}[name]
					most := max(budget, time.Minute) + time.Minute + each*17 + time.Minute
					if n := requests.Load() / bad.Load(); took > most || n > 60 {
						t.Errorf("%s, a budget of %v, %d readers: a partial outage took %v and %d requests for each "+
							"bad day, want %v at most", name, budget, readers, took, n, most)
					}
				})
			}
		}
	}
}

// TestRetryAfter_OfOneEndpointStarvesNoOther: the first pause longer than the budget may be meant for one endpoint
// only; a second one delays all requests.
func TestRetryAfter_OfOneEndpointStarvesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := map[string]bool{"/v1/balance": true, "/v1/limits": true}
		asked := map[string]int{}
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			asked[r.URL.Path]++
			if !closed[r.URL.Path] {
				return answerWith(200, `{"id":"C1000001"}`)
			}
			return answerWith(429, `{"error":{"code":"rate_limited"}}`, "Retry-After", "3600")
		}))
		began := time.Now()
		if _, err := c.Balance(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("the balance: %v", err)
		}
		for range 3 {
			if _, err := c.Campaign(t.Context(), "C1000001"); err != nil {
				t.Errorf("another endpoint: %v", err)
			}
		}
		if _, err := c.Limits(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("the limits: %v", err)
		}
		_, err := c.Campaign(t.Context(), "C1000002")
		wantError(t, err, ErrUnavailable, "the service asked to wait until")
		check(t, "waited", time.Since(began), 0)
		check(t, "requests after two have asked for a pause", asked["/v1/campaigns/C1000002"], 0)
	})
}

// TestOutage_AnAnswerRefillsTheBudget: after an answer to a question that had waited, the next outage has a full
// budget; an immediate answer does not refill it.
func TestOutage_AnAnswerRefillsTheBudget(t *testing.T) {
	for name, tc := range map[string]struct {
		second int // number of failed requests for the question between the two outages
		want   time.Duration
	}{"answered at once": {0, 6 * time.Minute}, "answered after a wait": {1, 10 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fails := 0
				c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					switch {
					case r.URL.Path == "/v1/me" && fails > 0:
						fails--
						return answerWith(503, "")
					case r.URL.Path == "/v1/me":
						return answerWith(200, `{"id":"A1"}`)
					}
					return answerWith(503, "")
				}))
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				_, err := c.Balance(ctx)
				wantError(t, err, context.DeadlineExceeded)
				fails = tc.second
				if _, err := c.Me(t.Context()); err != nil {
					t.Error(err)
				}
				began := time.Now()
				_, err = c.Limits(t.Context())
				wantError(t, err, ErrUnavailable, "status 503", "used up")
				check(t, "the next one waits", time.Since(began), tc.want)
				before := c.Stats().Requests
				_, err = c.Balance(t.Context())
				wantError(t, err, ErrUnavailable)
				check(t, "requests once it is used up", c.Stats().Requests-before, 1)
			})
		})
	}
}

// TestOutage_NothingIsSentToAServiceThatStaysSilent: if no answer comes for another budget's time after the first
// budget was used up, nothing is sent any more.
func TestOutage_NothingIsSentToAServiceThatStaysSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		began, last := time.Now(), error(nil)
		for range 100 {
			_, last = c.Balance(t.Context())
		}
		wantError(t, last, ErrUnavailable, "nothing is answered any more, and the retry budget of 10m0s is used up",
			"the last failure: no complete reply within 1m0s")
		if took := time.Since(began); took < 20*time.Minute || took > 21*time.Minute {
			t.Errorf("took %v", took)
		}
		e, _ := errors.AsType[*ReadError](last)
		check(t, "attempts of the last", e.Attempts, 0)
		check(t, "its cause is that of the last failure", errors.Is(e.Cause, context.DeadlineExceeded), true)
	})
}
