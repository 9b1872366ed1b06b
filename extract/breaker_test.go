package extract

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/schema"
)

// The service is down for good: four workers and thirty days cost one budget
// and a few single requests.
func TestOutage_CostsOneBudget(t *testing.T) {
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
							_, err := walk(t, c.Spend(t.Context(), testDay+schema.Date(i), 3, nil, nil))
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
				// The budget, the request then under way, and those that may try once.
				if took := time.Since(start); took < 10*time.Minute || took > 10*time.Minute+2*time.Minute {
					t.Errorf("took %v, want little more than the budget of 10m", took)
				}
				wantError(t, last, ErrUnavailable, "nothing has succeeded since 2000-01-01T00:00:0",
					"the last failure: ")
			})
		})
	}
}

// Reads that wait when the service is taken for down end at that moment.
func TestOutage_EndsWaitingReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, roundTrip(status(503, "")), func(o *Options) { o.PerMinute = 1 })
		start := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
				wantError(t, err, ErrUnavailable, "nothing has succeeded")
			})
		}
		wg.Wait()
		// The limit lets the request that finds out through a minute late.
		if took := time.Since(start); took > 11*time.Minute+5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// One day fails for ever, in pages of any size; the others, read one after the other, do not suffer.
func TestOutage_IsNotOneBadDay(t *testing.T) {
	for _, pageSize := range []int{3, MaxPageSize} {
		synctest.Test(t, func(t *testing.T) {
			bad := testDay
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("start_date") == bad.String() {
					return answerWith(500, "")
				}
				size, err := strconv.Atoi(r.URL.Query().Get("page_size"))
				if err != nil {
					t.Error(err)
				}
				return answerWith(200, pageOf(nil, placed(1, size, 0, 0)))
			}))
			for i := range 5 {
				day := testDay + schema.Date(i)
				_, err := walk(t, c.Spend(t.Context(), day, pageSize, nil, nil))
				if day == bad {
					wantError(t, err, ErrUnavailable)
				} else if err != nil {
					t.Errorf("%v: %v", day, err)
				}
			}
		})
	}
}

// The same with others succeeding meanwhile: the bad day has its own budget.
func TestOutage_IsNotOneBadDayAmongGoodOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("start_date") == testDay.String() {
				return answerWith(500, "broken day")
			}
			return answerWith(200, pageOf(nil, placed(1, 3, 0, 0)))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := walk(t, c.Spend(ctx, testDay+1, 3, nil, nil)); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			}
		})
		start := time.Now()
		_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
		check(t, "took", time.Since(start), 10*time.Minute)
		cancel()
		wg.Wait()
		wantError(t, err, ErrUnavailable, `status 500: "broken day"`, "for 10m0s")
	})
}

// A service that answers some questions and never others costs one budget, whether they
// are asked one after the other, some at a time or all at once, and however it fails.
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
				continue // two of the waits that it asks for fill the budget, and nothing else is answered in them
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
								_, err := walk(t, c.Spend(t.Context(), day, 3, nil, nil))
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
					// One budget, or the one request that takes longer; a part of it for the questions
					// that fail afterwards, and the request that is under way when it ends.
					most := max(budget, c.timeout)*14/10 + c.timeout
					if each := requests.Load() / bad.Load(); took > most || each > 60 {
						t.Errorf("%s, a budget of %v, %d readers: a partial outage took %v and %d requests for each "+
							"bad day, want %v at most", name, budget, readers, took, each, most)
					}
				})
			}
		}
	}
}

// A question that gives up before it is sent again, because others were asked to wait, has used up the budget too:
// otherwise the next one would have a budget of its own.
func TestOutage_CountsAWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = time.Minute
		var c *Client
		c = newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			c.breaker.pause(2 * budget) // as the reply to another question asks
			return answerWith(500, "")
		}), func(o *Options) { o.RetryBudget = budget })
		_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
		wantError(t, err, ErrUnavailable, "the service asked to wait until")
		check(t, "spent", c.breaker.hasSpent(), true)
		check(t, "questions without an answer", len(c.breaker.unheard), 1)
	})
}

// A few questions that are never answered, and are asked at the same time, pass for an outage. The healthy ones
// after them are answered all the same: they wait for those that may try.
func TestOutage_EndsForAllWithOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("start_date") < (testDay + 4).String() {
				return answerWith(500, "")
			}
			time.Sleep(100 * time.Millisecond)
			return answerWith(200, pageOf(nil, placed(1, 3, 0, 0)))
		}))
		read := func(days ...schema.Date) {
			var wg sync.WaitGroup
			for _, day := range days {
				wg.Go(func() {
					if _, err := walk(t, c.Spend(t.Context(), day, 3, nil, nil)); (err != nil) != (day < testDay+4) {
						t.Errorf("%v: %v", day, err)
					}
				})
			}
			wg.Wait()
		}
		read(testDay, testDay+1, testDay+2, testDay+3)
		check(t, "down", c.breaker.down, true)
		var healthy []schema.Date
		for i := range schema.Date(20) {
			healthy = append(healthy, testDay+4+i)
		}
		read(healthy...)
	})
}

// What was waited for without success counts once, and counts for all: questions that fail one after
// another, each for less than the budget, use it up together.
func TestOutage_CountsAllThatWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(10 * time.Minute)
		start := time.Now()
		time.Sleep(4 * time.Minute)
		check(t, "left", b.left(start), 6*time.Minute)
		b.giveUp("one", start)
		check(t, "left to one that has waited as long", b.left(start), 6*time.Minute)
		b.giveUp("two", start.Add(time.Minute))
		check(t, "left to a new one", b.left(time.Now()), 6*time.Minute)
		check(t, "spent", b.hasSpent(), false)
		time.Sleep(time.Hour) // in which nobody waits
		check(t, "left after an hour", b.left(time.Now()), 6*time.Minute)
		since := time.Now()
		time.Sleep(6 * time.Minute)
		check(t, "left at last", b.left(since), 0)
		b.giveUp("three", since)
		check(t, "spent", b.hasSpent(), true)
		b.answered("another", time.Second)
		check(t, "spent after another answer", b.hasSpent(), true)
		b.answered("two", time.Second)
		check(t, "spent after its answer", b.hasSpent(), false)
		check(t, "left after its answer", b.left(time.Now()), 10*time.Minute)
	})
}

// A question that needs one more try, and a slow one, are answered though another question
// has used up the budget.
func TestOutage_LeavesTheOthersTheirChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			day := r.URL.Query().Get("start_date")
			mu.Lock()
			asked[day]++
			n := asked[day]
			mu.Unlock()
			switch {
			case day == testDay.String():
				return answerWith(500, "")
			case day == (testDay+1).String() && n < patientAttempts:
				return answerWith(503, "")
			case day == (testDay + 2).String():
				time.Sleep(9 * time.Second)
			case day == (testDay + 3).String():
				time.Sleep(26 * time.Second) // not three times as long as the slowest so far
			}
			return answerWith(200, pageOf(nil, placed(1, 3, 0, 0)))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { // the service is not down: a day is answered every minute
			for ctx.Err() == nil {
				if _, err := walk(t, c.Spend(ctx, testDay+9, 3, nil, nil)); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			}
		})
		defer wg.Wait()
		defer cancel()
		for i := range 5 {
			start := time.Now()
			_, err := walk(t, c.Spend(t.Context(), testDay+schema.Date(i), 3, nil, nil))
			if i == 0 {
				wantError(t, err, ErrUnavailable, "for 10m0s")
				check(t, "took", time.Since(start), 10*time.Minute)
			} else if err != nil {
				t.Errorf("day %d: %v", i, err)
			}
		}
		_, err := walk(t, c.Spend(t.Context(), testDay, 4, nil, nil))
		wantError(t, err, ErrUnavailable, "the retry budget of 10m0s is used up", "3 attempts")
	})
}

func TestOutage_EndsWhenTheServiceAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := false
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			if up {
				return answerWith(200, pageOf(nil, placed(1, 3, 0, 0)))
			}
			return answerWith(503, "")
		}))
		for range 8 {
			_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
			wantError(t, err, ErrUnavailable)
		}
		before := c.Stats().Requests
		_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
		wantError(t, err, ErrUnavailable)
		check(t, "requests while down", c.Stats().Requests-before, 0)

		up = true
		time.Sleep(probeEvery)
		for range 3 {
			if _, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil)); err != nil {
				t.Error(err)
			}
		}
		up = false
		start := time.Now()
		_, err = walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
		wantError(t, err, ErrUnavailable)
		check(t, "a new outage has a budget of its own", time.Since(start), 10*time.Minute)
	})
}

// A slow request that was sent before others were answered says nothing about
// the time before their answers.
func TestBreaker_CountsFromTheLatestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(time.Minute)
		sent := time.Now()
		time.Sleep(59 * time.Second)
		b.success()
		time.Sleep(59 * time.Second)
		if _, down := b.failure(sent, "slow"); down {
			t.Error("down 59s after an answer")
		}
		time.Sleep(time.Second)
		if _, down := b.failure(time.Now(), "busy"); !down {
			t.Error("not down a minute after the latest answer")
		}
	})
}

// An old failure and a new one with a long silence between them are no outage.
func TestBreaker_ForgetsAfterASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for silence, want := range map[time.Duration]bool{time.Minute: true, time.Minute + 1: false, time.Hour: false} {
			b := newBreaker(time.Minute)
			b.failure(time.Now(), "busy")
			time.Sleep(silence)
			if _, down := b.failure(time.Now(), "busy"); down != want {
				t.Errorf("two failures %v apart: down %t", silence, down)
			}
		}
	})
}

// A read that is under way while the service goes down and comes back again
// waits like any other.
func TestOutage_IsOverForReadsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(time.Minute)
		c := newTestClient(t, failing(2, func(*http.Request) (*http.Response, error) {
			if !b.down { // during the first request
				b.failure(time.Now().Add(-2*time.Minute), "outage")
				b.failure(time.Now(), "outage")
				b.success()
			}
			return answerWith(503, "")
		}))
		c.breaker = b
		if _, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil)); err != nil {
			t.Error(err)
		}
	})
}

// TestBreaker_LetsFewReadsTryWhileDown: three, and one more after each half minute.
func TestBreaker_LetsFewReadsTryWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(time.Minute)
		b.failure(time.Now().Add(-time.Minute), "busy")
		tries := func() (n int) {
			for range 10 {
				switch tripped, err := b.allow(t.Context()); {
				case err != nil:
					check(t, "error", err, errDown)
				case tripped == nil:
					b.endProbe()
					n++
				default:
					n++
				}
			}
			return n
		}
		check(t, "reads that may try", tries(), 3)
		time.Sleep(29 * time.Second)
		check(t, "a moment later", tries(), 0)
		time.Sleep(time.Second)
		if _, err := b.allow(t.Context()); err != nil {
			t.Errorf("after half a minute: %v", err)
		}
		b.endProbe()
		b.failure(time.Now(), "busy")
		check(t, "after that one failed", tries(), 0)
		b.success()
		check(t, "after an answer", tries(), 10)
	})
}

// TestBreaker_SharesItsBudget among all questions that stay unanswered, until one of them is
// answered.
func TestBreaker_SharesItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(10 * time.Minute)
		wait := func(question string, d time.Duration) {
			began := time.Now()
			time.Sleep(d)
			b.giveUp(question, began)
		}
		check(t, "left at first", b.left(time.Now()), 10*time.Minute)
		wait("monday", 4*time.Minute)
		check(t, "left after one waited", b.left(time.Now()), 6*time.Minute)
		b.answered("tuesday", time.Second)
		check(t, "left after another was answered", b.left(time.Now()), 6*time.Minute)
		b.answered("monday", time.Second)
		check(t, "left after it was answered", b.left(time.Now()), 10*time.Minute)
		wait("wednesday", 10*time.Minute)
		check(t, "used up", b.hasSpent(), true)
		b.answered("monday", time.Second)
		check(t, "used up after an answer to one that waits no more", b.hasSpent(), true)
		b.answered("wednesday", time.Second)
		check(t, "used up after its answer", b.hasSpent(), false)
	})
}

func TestBreaker_BriefIsAsLongAsHealthyAnswersTake(t *testing.T) {
	for name, tc := range map[string]struct {
		budget time.Duration
		took   []time.Duration
		want   time.Duration
	}{
		"part-of-the-budget": {10 * time.Minute, nil, 10 * time.Second},
		"shortest":           {10 * time.Second, nil, time.Second},
		"slow":               {10 * time.Minute, []time.Duration{20 * time.Second, time.Second}, time.Minute},
		"quick":              {10 * time.Minute, []time.Duration{time.Second}, 10 * time.Second},
	} {
		b := newBreaker(tc.budget)
		for _, took := range tc.took {
			b.answered("monday", took)
		}
		check(t, name, b.brief(), tc.want)
	}
}

// TestRetryAfter_OfOneEndpointStarvesNoOther: a pause that nobody waits for is that endpoint's alone, until a second
// one asks for such a pause, too.
func TestRetryAfter_OfOneEndpointStarvesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := map[string]bool{"/v1/balance": true}
		asked := map[string]int{}
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			asked[r.URL.Path]++
			if !closed[r.URL.Path] {
				return answerWith(200, `{"id":"C1000001"}`)
			}
			resp, err := answerWith(429, `{"error":{"code":"rate_limited","message":"slow down"}}`)
			resp.Header.Set("Retry-After", "3600")
			return resp, err
		}))
		began := time.Now()
		for range 3 {
			if _, err := c.Balance(t.Context()); !errors.Is(err, ErrUnavailable) {
				t.Errorf("the balance: %v", err)
			}
			if _, err := c.Campaign(t.Context(), "C1000001"); err != nil {
				t.Errorf("another endpoint: %v", err)
			}
		}
		check(t, "waited", time.Since(began), 0)
		check(t, "requests for what is closed", asked["/v1/balance"], 1)
		check(t, "requests for another endpoint", asked["/v1/campaigns/C1000001"], 3)
		closed["/v1/limits"] = true
		if _, err := c.Limits(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("the limits: %v", err)
		}
		if _, err := c.Campaign(t.Context(), "C1000002"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("two endpoints ask for a pause, and another one answers: %v", err)
		}
		check(t, "requests after two have asked for a pause", asked["/v1/campaigns/C1000002"], 0)
	})
}
