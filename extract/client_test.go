package extract

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNewClient_RefusesUnsafeAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		url   string
		allow bool
		want  string // empty: accepted
	}{
		"https":              {"https://report.test", false, ""},
		"https/path":         {"https://report.test/a/b/", false, ""},
		"http/loopback":      {"http://127.0.0.1:8080", false, ""},
		"http/loopback-v6":   {"http://[::1]:8080", false, ""},
		"http/localhost":     {"http://localhost:8080/x", false, ""},
		"http/allowed":       {"http://report.test", true, ""},
		"http/host":          {"http://report.test", false, "plain http to report.test"},
		"http/near-loopback": {"http://127.0.0.1.evil.test", false, "plain http"},
		"userinfo":           {"https://ann:open-sesame@report.test", false, "user name or password"},
		"query":              {"https://report.test?key=open-sesame", false, "query or a fragment"},
		"query/empty":        {"https://report.test?", false, "query or a fragment"},
		"fragment":           {"https://report.test#open-sesame", false, "query or a fragment"},
		"scheme":             {"ftp://report.test", false, "not of the form"},
		"no-scheme":          {"report.test/api", false, "not of the form"},
		"no-host":            {"https:///api", false, "not of the form"},
		"empty":              {"", false, "not of the form"},
		"port":               {"https://report.test:65536", false, "has a port that is not one of 1 to 65535"},
		"port/0":             {"https://report.test:0", false, "has a port"},
		"unparsable":         {"https://ann:open-sesame@report.test:port", false, "cannot be parsed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewClient(Options{BaseURL: tc.url, AllowHTTP: tc.allow, Authorize: func(*http.Request) {}})
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			case err != nil && strings.Contains(err.Error(), "open-sesame"):
				t.Errorf("error %v shows a secret", err)
			}
		})
	}
}

func TestClient_NeverShowsCredentials(t *testing.T) {
	const password = `p"ä%s/+word`
	var log strings.Builder
	for name, rt := range map[string]roundTrip{
		"status/echo": func(r *http.Request) (*http.Response, error) {
			return answerWith(400, "you sent "+r.Header.Get("Authorization")+" which is ann:"+password)
		},
		"status/json": func(r *http.Request) (*http.Response, error) {
			return answerWith(403, `{"error":{"message":"no: `+strings.ReplaceAll(password, `"`, `\"`)+`"}}`)
		},
		"page/html": func(r *http.Request) (*http.Response, error) {
			return answerWith(200, "<p>"+r.Header.Get("Authorization")+" "+password)
		},
		"network": func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("dial " + r.Header.Get("Authorization") + "\x1b[31m " + password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var header string
				c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					header = strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
					return rt(r)
				}), func(o *Options) {
					o.Authorize = func(r *http.Request) { r.SetBasicAuth("ann", password) }
					o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
					o.RetryBudget = time.Minute
				})
				_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
				if err == nil {
					t.Fatal("no error")
				}
				for _, secret := range []string{header, "word"} {
					if strings.Contains(err.Error()+log.String(), secret) {
						t.Errorf("%q is shown in %q or %q", secret, err, log.String())
					}
				}
				if strings.ContainsAny(err.Error(), "\x1b") {
					t.Errorf("error %q holds control characters", err)
				}
			})
		})
	}
}

func TestClient_ReadsCredentialsAgainOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		changed  bool
		refuse   int // requests that are refused
		requests int64
		want     error
	}{
		"changed":       {true, 1, 2, nil},
		"changed-twice": {true, 2, 2, ErrAuth},
		"same":          {false, 1, 1, ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			asked, reloads := 0, 0
			c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
				if asked++; asked <= tc.refuse {
					return answerWith(401, "Incorrect username or password")
				}
				return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
			}), func(o *Options) {
				o.Reload = func() bool { reloads++; return tc.changed }
			})
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			if tc.want != nil {
				wantError(t, err, tc.want, "status 401", `"Incorrect username or password"`)
			} else if err != nil {
				t.Fatal(err)
			}
			check(t, "requests", c.Stats().Requests, tc.requests)
			check(t, "reloads", reloads, 1)
		})
	}
}

// TestClient_ReadsCredentialsAgainForAll: four days are read at once when the password changes. The first refused
// request reads the new password for all of them.
func TestClient_ReadsCredentialsAgainForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		password, reloads := "old", 0
		c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			if _, p, _ := r.BasicAuth(); p != "new" {
				return answerWith(401, "")
			}
			return answerWith(200, pageOf(lines(1), placed(1, 3, 1, 1)))
		}), func(o *Options) {
			o.Authorize = func(r *http.Request) { r.SetBasicAuth("ann", password) }
			o.Reload = func() bool { reloads++; changed := password != "new"; password = "new"; return changed }
		})
		failed := make(chan error, 4)
		for range 4 {
			go func() {
				_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
				failed <- err
			}()
		}
		for range 4 {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		check(t, "reloads", reloads, 1)
	})
}

func TestClient_EndsWithItsContext(t *testing.T) {
	stall := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	body := roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := answerWith(200, "")
		resp.ContentLength, resp.Body = -1, stalledBody{r, strings.NewReader(" ")}
		return resp, err
	})
	busy := roundTrip(func(*http.Request) (*http.Response, error) { return answerWith(503, "") })
	held := roundTrip(func(*http.Request) (*http.Response, error) { return answerWith(429, "", "Retry-After", "300") })
	for name, tc := range map[string]struct {
		rt        roundTrip
		perMinute int
	}{
		"headers": {stall, 0}, "body": {body, 0}, "backoff": {busy, 0}, "pause": {held, 0}, "limiter": {busy, 1},
		"limiter/open": {stall, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTestClient(t, tc.rt, func(o *Options) { o.PerMinute = tc.perMinute })
				ctx, cancel := context.WithCancel(t.Context())
				failed := make(chan error, 2)
				for range 2 {
					go func() {
						_, err := walk(t, dayOf(ctx, c, testDay, 3))
						failed <- err
					}()
				}
				time.Sleep(10 * time.Second)
				cancel()
				synctest.Wait()
				for range 2 {
					select {
					case err := <-failed:
						wantError(t, err, context.Canceled, "spend 2026-03-08 page 1")
						check(t, "unavailable", errors.Is(err, ErrUnavailable), false)
					default:
						t.Fatal("still waiting after its context ended")
					}
				}
			})
		})
	}
}
