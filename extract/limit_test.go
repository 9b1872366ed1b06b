package extract

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// checkWindows asserts that no window of 60 seconds has more requests than the limit. It returns the largest number in
// a window.
func checkWindows(t *testing.T, arrived []time.Time, limit int) (fullest int) {
	t.Helper()
	slices.SortFunc(arrived, time.Time.Compare)
	for i := range arrived {
		n := 0
		for _, at := range arrived[i:] {
			if at.Sub(arrived[i]) <= time.Minute {
				n++
			}
		}
		fullest = max(fullest, n)
	}
	if fullest > limit {
		t.Errorf("a window of 60s holds %d requests, the limit is %d", fullest, limit)
	}
	return fullest
}

// TestLimiter_HoldsInEveryWindow: no window has more requests than the limit. There are many workers, and failures with
// retries. A request takes up to a minute, and arrives at any moment of that time.
func TestLimiter_HoldsInEveryWindow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		const limit = 20
		random := rand.New(rand.NewPCG(seed, 0))
		var mu sync.Mutex
		var arrived []time.Time
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			travel, work := time.Duration(0), time.Duration(random.IntN(300))*time.Millisecond
			if random.IntN(10) == 0 { // a slow network or a slow service
				travel, work = time.Duration(random.IntN(20_000))*time.Millisecond,
					time.Duration(random.IntN(20_000))*time.Millisecond
			}
			fate := random.IntN(10)
			mu.Unlock()
			time.Sleep(travel)
			mu.Lock()
			arrived = append(arrived, time.Now())
			mu.Unlock()
			time.Sleep(work)
			switch fate {
			case 0:
				return answerWith(500, "")
			case 1:
				return answerWith(429, "", "Retry-After", "3")
			case 2:
				return answerWith(200, "<html>")
			}
			return answerWith(200, pageOf(nil, placed(1, 3, 0, 0)))
		}), func(o *Options) { o.PerMinute = limit })
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 10 {
					if _, err := walk(t, dayOf(t.Context(), c, testDay, 3)); err != nil && !isContract(err) {
						t.Error(err)
					}
				}
			})
		}
		start := time.Now()
		wg.Wait()
		fullest := checkWindows(t, arrived, limit)
		if fullest < limit {
			t.Errorf("the fullest window holds %d requests: the limit of %d is not used", fullest, limit)
		}
		check(t, "requests", int64(len(arrived)), c.Stats().Requests)
		check(t, "retries were among them", c.Stats().Retries > 0, true)
		// A slow request occupies its place for longer, so the total is somewhat slower than the limit.
		if ideal := time.Duration(len(arrived)/limit) * time.Minute; time.Since(start) > ideal*3/2 {
			t.Errorf("took %v, the limit alone would take %v", time.Since(start), ideal)
		}
	})
}

func isContract(err error) bool {
	e, ok := err.(*ReadError)
	return ok && e.Err == ErrContract // three consecutive replies were not JSON
}

// TestClient_WaitsUntil: a client knows how long its requests wait for the limit per minute, and for a pause that the
// service asked for.
func TestClient_WaitsUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, failed := time.Now(), false
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if time.Since(start) > time.Minute && !failed {
				failed = true
				return answerWith(503, "", "Retry-After", "90")
			}
			return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
		}), func(o *Options) { o.PerMinute = 2 })
		at := func(since, want time.Duration) {
			t.Helper()
			time.Sleep(time.Until(start.Add(since)))
			if got := c.WaitsUntil(); want == 0 && !got.IsZero() || want > 0 && !got.Equal(start.Add(want)) {
				t.Errorf("after %v it waits until %v after the start, want %v", since, got.Sub(start), want)
			}
		}
		at(0, 0)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := walk(t, dayOf(t.Context(), c, testDay, 3)); err != nil {
					t.Error(err)
				}
			})
		}
		at(time.Second, limitWindow)
		at(2*time.Second+limitWindow, limitWindow+90*time.Second)
		wg.Wait()
		if got := c.WaitsUntil(); !got.IsZero() {
			t.Errorf("nothing waits, and it waits until %v", got)
		}
	})
}

// TestLimiter_LogsItsWaits: while requests wait for the limit per minute, the log gets a line a minute.
func TestLimiter_LogsItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
		}), func(o *Options) { o.PerMinute, o.Log = 2, slog.New(slog.NewTextHandler(&log, nil)) })
		var wg sync.WaitGroup
		for range 7 {
			wg.Go(func() {
				if _, err := walk(t, dayOf(t.Context(), c, testDay, 3)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		const line = ` level=INFO msg="requests wait for the limit per minute" limit=2 wait_ms=60250` + "\n"
		if strings.Count(log.String(), line) != 3 || strings.Count(log.String(), "\n") != 3 {
			t.Errorf("seven requests, two a minute: %s", &log)
		}
	})
}
