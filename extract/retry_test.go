package extract

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// failingFirst answers the first n requests with f, and later requests with one row.
func failingFirst(n int, f func(*http.Request) (*http.Response, error)) roundTrip {
	var mu sync.Mutex
	asked := 0
	return func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		asked++
		fail := asked <= n
		mu.Unlock()
		if fail {
			return f(r)
		}
		return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
	}
}

func status(code int, body string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return answerWith(code, body, headers...) }
}

func broken(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// TestRetry_SendsAgainWhatMayPass: a request is sent again after a failure that may be temporary. TestJudge has all
// forms of such failures.
func TestRetry_SendsAgainWhatMayPass(t *testing.T) {
	for name, f := range map[string]func(*http.Request) (*http.Response, error){
		"network/reset":  broken(errors.New("read: connection reset by peer")),
		"network/goaway": broken(errors.New("http2: server sent GOAWAY and closed the connection")),
		"status/408":     status(408, ""),
		"status/429":     status(429, ""),
		"status/500":     status(500, "Internal server error, request id 4f3a-77"),
		"body/html":      status(200, "<html>maintenance</html>"),
		"body/empty":     status(200, ""),
		"body/null":      status(200, "null"),
		"body/prefix":    status(200, `{"columns":[`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := newTestClient(t, failingFirst(2, f))
				_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
				if err != nil {
					t.Fatal(err)
				}
				check(t, "requests", c.Stats().Requests, 3)
				check(t, "retries", c.Stats().Retries, 2)
				// Two random waits, of at most 500 ms and 1 s.
				if took := time.Since(start); took > 1500*time.Millisecond+2 {
					t.Errorf("waited %v, more than 1.5s", took)
				}
			})
		})
	}
}

func TestRetry_NeverSendsAgainWhatWillNot(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		kind   error
		parts  []string
	}{
		"400": {400, "Invalid date format (expected YYYY-MM-DD)", ErrContract,
			[]string{`status 400: "Invalid date format (expected YYYY-MM-DD)"`}},
		"400/reach": {400, "start_date cannot be more than 32 days before today", ErrUnreachable,
			[]string{"32 days"}},
		"401": {401, "Authentication required. Use Basic Auth or Bearer the service.", ErrAuth,
			[]string{"status 401"}},
		"404": {404, "<html>no</html>", ErrContract, []string{"status 404"}},
		"204": {204, "", ErrContract, []string{"status 204"}},
		"403/error-json": {403, `{"error":{"code":"forbidden","message":"read only","request_id":"req-0042"}}`, ErrAuth,
			[]string{`"read only"`, "request id req-0042"}},
		"400/controls": {400, "a\r\nb\x1b[31m\x00\xff", ErrContract, []string{`\x1b`, `\xff`}},
		"400/long":     {400, strings.Repeat("no ", 50_000), ErrContract, []string{`no no "...`}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := map[string]int{}
			answer := status(tc.status, tc.body)
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				asked[r.URL.RawQuery]++
				return answer(r)
			}), func(o *Options) { o.RetryBudget = time.Minute })
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			wantError(t, err, tc.kind, append(tc.parts, "spend 2026-03-08 page 1: ")...)
			want := int64(1)
			if tc.status >= 400 && tc.kind == ErrContract { // sent once more: no parameter is named
				want++
			}
			check(t, "requests", c.Stats().Requests, want)
			check(t, "questions", len(asked), 1)
			check(t, "bounded", len(err.Error()) < 700, true)
			e, _ := errors.AsType[*ReadError](err)
			check(t, "status", e.Status, tc.status)
			for _, other := range []error{ErrAuth, ErrContract, ErrUnavailable, ErrUnreachable} {
				check(t, other.Error(), errors.Is(err, other), other == tc.kind)
			}
		})
	}
}

func TestRetry_EndsWithItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := newTestClient(t, roundTrip(status(500, "Internal server error, request id 4f3a-77")), func(o *Options) {
			o.RetryBudget = 5 * time.Minute
		})
		_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
		wantError(t, err, ErrUnavailable, "spend 2026-03-08 page 1: ", "status 500",
			"Internal server error, request id 4f3a-77")
		e, _ := errors.AsType[*ReadError](err)
		check(t, "request id", e.RequestID, "4f3a-77")
		check(t, "status", e.Status, 500)
		check(t, "took", time.Since(start), 5*time.Minute)
		// Waits are random and 15 s on average, so about twenty fit.
		if n := c.Stats().Requests; n < 10 || n > 80 {
			t.Errorf("%d requests in five minutes", n)
		}
		check(t, "attempts", int64(e.Attempts), c.Stats().Requests)
	})
}

func TestRetryAfter_IsRead(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                               0,
		"0":                              0,
		"7":                              7 * time.Second,
		" 120 ":                          2 * time.Minute,
		"-5":                             0,
		"1.5":                            0,
		"soon":                           0,
		"86401":                          maxHold,
		"100000000000000000000":          maxHold,
		"9223372036854775807":            maxHold,
		"Sun, 08 Mar 2026 12:00:30 GMT":  30 * time.Second,
		"Sun, 08 Mar 2026 11:00:00 GMT":  0,
		"Sunday, 08-Mar-26 12:01:00 GMT": time.Minute,
		"Sun Mar  8 12:02:00 2026":       2 * time.Minute,
		"Tue, 08 Mar 2126 12:00:30 GMT":  maxHold,
	} {
		check(t, fmt.Sprintf("%q", text), retryAfter(http.Header{"Retry-After": {text}}, now), want)
	}
	skewed := http.Header{"Retry-After": {"Sun, 08 Mar 2026 12:00:30 GMT"}, "Date": {"Sun, 08 Mar 2026 12:00:10 GMT"}}
	check(t, "by the reply's clock", retryAfter(skewed, now.Add(-time.Hour)), 20*time.Second)
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("10", "Sun, 08 Mar 2026 12:00:10 GMT")
	f.Add("Sun, 08 Mar 2026 12:00:30 GMT", "")
	f.Fuzz(func(t *testing.T, text, date string) {
		d := retryAfter(http.Header{"Retry-After": {text}, "Date": {date}}, time.Unix(0, 0))
		if d < 0 || d > maxHold {
			t.Errorf("retryAfter(%q, %q) = %v", text, date, d)
		}
	})
}

func TestRetryAfter_HoldsBackEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var sent []time.Duration
		start := time.Now()
		first := true
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, time.Since(start))
			if first {
				first = false
				return answerWith(503, "", "Retry-After", "90")
			}
			return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
		}), func(o *Options) { o.PerMinute = 2 })
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Second)
				if _, err := walk(t, dayOf(t.Context(), c, testDay, 3)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		check(t, "requests", len(sent), 7)
		for _, at := range sent[1:] {
			if at < 90*time.Second {
				t.Errorf("a request was sent after %v, asked to wait 90s", at)
			}
		}
	})
}

// slowly answers requests with one row, each after the given time.
func slowly(takes func(r *http.Request) time.Duration) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(takes(r)):
			return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// TestTimeout_GrowsForASlowService: if a reply takes longer than the timeout, the next request has twice as long,
// within the budget. The client remembers the time that was needed, so later reads lose no time.
func TestTimeout_GrowsForASlowService(t *testing.T) {
	for takes, want := range map[time.Duration]struct{ first, then int64 }{ // requests
		59 * time.Second:  {1, 1},
		70 * time.Second:  {2, 1},
		119 * time.Second: {2, 1},
		121 * time.Second: {3, 1},
		235 * time.Second: {3, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, slowly(func(*http.Request) time.Duration { return takes }))
			for i, want := range []int64{want.first, want.then, want.then} {
				before, start := c.Stats().Requests, time.Now()
				if _, err := walk(t, dayOf(t.Context(), c, testDay, 3)); err != nil {
					t.Fatalf("%v: %v", takes, err)
				}
				check(t, fmt.Sprintf("%v: requests of read %d", takes, i+1), c.Stats().Requests-before, want)
				if took := time.Since(start); i > 0 && took != takes {
					t.Errorf("%v: read %d took %v", takes, i+1, took)
				}
			}
		})
	}
}

// TestTimeout_IsTheCauseAndNamesItsSetting: if replies take longer than the budget allows, the read ends with the
// budget. The message begins with the timeout and names the variable that sets it.
func TestTimeout_IsTheCauseAndNamesItsSetting(t *testing.T) {
	for _, name := range []string{"", "SPENDSYNC_HTTP_TIMEOUT"} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, slowly(func(*http.Request) time.Duration { return time.Hour }), func(o *Options) {
				o.TimeoutName = name
			})
			start := time.Now()
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			wantError(t, err, ErrUnavailable, "no complete reply within ")
			const raise = "; if the service is that slow, raise SPENDSYNC_HTTP_TIMEOUT (1m0s)"
			check(t, "names the setting", strings.Contains(err.Error(), raise), name != "")
			// 1, 2 and 4 minutes, and the rest of ten, with waits between them. The last request has a minute.
			if took := time.Since(start); took < 10*time.Minute || took > 11*time.Minute {
				t.Errorf("took %v", took)
			}
			if n := c.Stats().Requests; n < 4 || n > 5 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestLimit_IsTemporaryAtAnyStatus: the client waits for a limit, and for the error page of a proxy, within the budget.
// If the limit lasts, the error is ErrUnavailable or ErrPage, not ErrAuth or ErrContract.
func TestLimit_IsTemporaryAtAnyStatus(t *testing.T) {
	for name, f := range map[string]func(*http.Request) (*http.Response, error){
		"403 with a wait": status(403, "forbidden", "Retry-After", "5"),
		"400 in words":    status(400, `{"error":{"message":"(#17) User request limit reached","code":17}}`),
		"200 with a code": status(200, `{"code":40100,"message":"Too many requests"}`),
		"200 of a page":   status(200, "<html><title>We'll be back</title></html>"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTestClient(t, failingFirst(7, f))
				if _, err := walk(t, dayOf(t.Context(), c, testDay, 3)); err != nil {
					t.Error(err)
				}
				check(t, "requests", c.Stats().Requests, 8)
				lasting := newTestClient(t, roundTrip(f))
				began := time.Now()
				_, err := walk(t, dayOf(t.Context(), lasting, testDay, 3))
				wantError(t, err, ErrUnavailable, "the retry budget")
				if took := time.Since(began); took < 9*time.Minute || took > 11*time.Minute {
					t.Errorf("a limit that lasts is waited for %v", took)
				}
				for _, other := range []error{ErrAuth, ErrContract, ErrUnreachable} {
					check(t, other.Error(), errors.Is(err, other), false)
				}
				check(t, "pages", errors.Is(err, ErrPage), name == "200 of a page")
				if _, err := lasting.Me(t.Context()); !errors.Is(err, ErrUnavailable) {
					t.Errorf("the API: %v", err)
				}
			})
		})
	}
}

// TestRetry_PagesThatLast: if only HTML pages come, a question that is not sent at all has the error ErrPage, too.
func TestRetry_PagesThatLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			time.Sleep(30 * time.Second)
			return answerWith(200, "<html>sign in</html>")
		}))
		for n := int64(-1); n < c.Stats().Requests; {
			n = c.Stats().Requests
			_, err := c.Me(t.Context())
			wantError(t, err, ErrPage, "sign in")
		}
	})
}

// TestRetry_RefusedCredentials: refused credentials end a read at once. If they were accepted before, the read sends
// two more requests within seconds. If the credentials stay refused, the next read sends one request. An answer makes
// the credentials good again.
func TestRetry_RefusedCredentials(t *testing.T) {
	const yes, no = true, false
	for _, code := range []int{401, 403} {
		for name, c := range map[string]struct {
			replies  []bool // whether each request is accepted
			requests []int  // of each read
			refused  []bool // whether each read ends with ErrAuth
		}{
			"from the first request":  {[]bool{no, no}, []int{1, 1}, []bool{yes, yes}},
			"once between answers":    {[]bool{yes, no, yes}, []int{1, 2}, []bool{no, no}},
			"twice between answers":   {[]bool{yes, no, no, yes}, []int{1, 3}, []bool{no, no}},
			"from the second read on": {[]bool{yes, no, no, no, no}, []int{1, 3, 1}, []bool{no, yes, yes}},
			"for the second read only": {[]bool{yes, no, no, no, yes, no, yes}, []int{1, 3, 1, 2},
				[]bool{no, yes, no, no}},
		} {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				client := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
					if asked++; c.replies[asked-1] {
						return answerWith(200, `{"id":"C1000001"}`)
					}
					return answerWith(code, `{"error":{"code":"forbidden","message":"no"}}`)
				}))
				began := time.Now()
				for i, requests := range c.requests {
					before := asked
					_, err := client.Me(t.Context())
					if errors.Is(err, ErrAuth) != c.refused[i] || (err == nil) == c.refused[i] ||
						asked-before != requests {
						t.Errorf("%d, %s, read %d: %d requests, %v", code, name, i+1, asked-before, err)
					}
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%d, %s: took %v", code, name, took)
				}
			})
		}
	}
}
