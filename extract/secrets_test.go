package extract

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// canary is a password that each of the escapes writes differently.
const canary = `cAn4ry"ä<&>/+ %s\x`

// inJSON is a text as JSON spells it, without the quotes.
func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return strings.Trim(string(b), `"`)
}

// canaryParts are what no output may hold, of any form: the first letters, too, for
// a text that is cut must not end within the secret.
var canaryParts = []string{"cAn4ry", base64.StdEncoding.EncodeToString([]byte("ann:" + canary))[:12]}

// repeats are the ways in which a service may repeat a secret.
var repeats = map[string]func(string) string{
	"plain":       func(s string) string { return s },
	"query":       url.QueryEscape,
	"path":        url.PathEscape,
	"html":        html.EscapeString,
	"json":        inJSON,
	"json/ascii":  func(s string) string { return strings.Trim(fmt.Sprintf("%+q", s), `"`) },
	"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte("ann:" + s)) },
	"base64/bare": func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("ann:" + s)) },
}

// canaryClient is a client whose password is the canary, with everything that it logs.
func canaryClient(t *testing.T, rt http.RoundTripper) (*Client, *strings.Builder) {
	log := &strings.Builder{}
	return newTestClient(t, rt, func(o *Options) {
		o.Authorize = func(r *http.Request) { r.SetBasicAuth("ann", canary) }
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.RetryBudget = time.Second
	}), log
}

func wantNoCanary(t *testing.T, where, text string) {
	t.Helper()
	for _, part := range canaryParts {
		if strings.Contains(text, part) {
			t.Errorf("%s shows %q: %s", where, part, text)
		}
	}
}

// A service that repeats the password, in whatever form and at whatever place of
// whatever reply, does not bring it into an error or a log; nor does a text that is
// cut in the middle of it.
func TestSecrets_AreHiddenHoweverTheyAreRepeated(t *testing.T) {
	// The padding moves the secret over the places where texts are cut, by less than
	// its length.
	steps := map[string]int{"page/html": 7, "page/rest": 7, "page/key": 7, "status/text": 7, "network": 7}
	for form, repeat := range repeats {
		said := repeat(canary)
		for name, reply := range map[string]func(pad string) (*http.Response, error){
			"status/text": func(pad string) (*http.Response, error) { return answerWith(500, pad+said) },
			"status/json": func(pad string) (*http.Response, error) {
				return answerWith(400, `{"error":{"message":"`+pad+inJSON(said)+`"}}`)
			},
			"status/id": func(pad string) (*http.Response, error) {
				return answerWith(500, pad+" request id: "+said)
			},
			"header/id":   func(string) (*http.Response, error) { return answerWith(500, "", "X-Request-Id", said) },
			"header/wait": func(string) (*http.Response, error) { return answerWith(429, "", "Retry-After", said) },
			"header/coded": func(string) (*http.Response, error) {
				return answerWith(200, "<", "Content-Encoding", said)
			},
			"redirect": func(string) (*http.Response, error) {
				return answerWith(302, "", "Location", "https://"+url.PathEscape(said)+".test/"+url.PathEscape(said)+
					"?x="+url.QueryEscape(said))
			},
			"page/html": func(pad string) (*http.Response, error) { return answerWith(200, "<p>"+pad+said) },
			"page/key": func(pad string) (*http.Response, error) {
				return answerWith(200, `{"`+pad+inJSON(said)+`":1,"`+pad+inJSON(said)+`":2}`)
			},
			"page/rest": func(pad string) (*http.Response, error) { return answerWith(200, "{}"+said) },
			"page/twice": func(string) (*http.Response, error) {
				return answerWith(200, pageOf(twice(inJSON(said)), placed(1, 3, 2, 1)))
			},
			"page/unknown": func(string) (*http.Response, error) {
				return answerWith(200, pageOf([]string{`{"` + inJSON(said) + `":1}`}, placed(1, 3, 1, 1)))
			},
			"network": func(pad string) (*http.Response, error) { return nil, fmt.Errorf("dial %s%s", pad, said) },
		} {
			for pad := 0; pad <= 320; pad += cmp.Or(steps[name], 321) {
				synctest.Test(t, func(t *testing.T) {
					c, log := canaryClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
						return reply(strings.Repeat("x", pad))
					}))
					pages, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
					where := fmt.Sprintf("%s, %s, after %d bytes", name, form, pad)
					for _, p := range pages {
						wantNoCanary(t, where, fmt.Sprint(p.Unknown))
					}
					wantNoCanary(t, where, fmt.Sprint(err)+log.String())
				})
			}
		}
	}
}

// twice are two rows with one key, that holds a text.
func twice(text string) []string {
	row := strings.Replace(line(1), `"S1"`, `"`+text+`"`, 1)
	return []string{row, row}
}

// The password alone, the user alone: only one of them is a secret.
func TestSecrets_TheUserIsNone(t *testing.T) {
	c, _ := canaryClient(t, roundTrip(status(400, "no account of ann, not even with "+canary)))
	_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
	wantError(t, err, ErrContract, "no account of ann, not even with [redacted]")
}

// The headers that tell of the key's end may repeat it.
func TestSecrets_AreHiddenInTheWarningOfTheKey(t *testing.T) {
	for pad := range maxWarning + 1 {
		c, _ := canaryClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return answerWith(200, `{}`, "Service-Api-Key-Expiry-Warning", strings.Repeat("x", pad)+canary)
		}))
		if _, err := c.Limits(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, warning, _ := c.KeyNotice()
		wantNoCanary(t, "warning", warning)
	}
}

func TestServiceTime_IsThatOfTheFurthestReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var date, age string
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return answerWith(200, `{}`, "Date", date, "Age", age)
		}))
		if _, ok := c.ServiceTime(); ok {
			t.Error("a time before any reply")
		}
		ask := func(want time.Duration) {
			t.Helper()
			if _, err := c.Limits(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // the clock runs on between the replies
			now, ok := c.ServiceTime()
			check(t, "told", ok, true)
			check(t, "behind", time.Since(now), want)
		}
		for _, step := range []struct {
			behind time.Duration // the service's clock, as the reply tells it
			age    string
			want   time.Duration
		}{
			{2 * time.Hour, "", 2 * time.Hour},
			{3 * time.Hour, "", 2 * time.Hour},         // from a proxy that says no age
			{2 * time.Hour, "3600", time.Hour},         // from one that does
			{time.Hour, "soon", time.Hour},             // an age that is none
			{-10 * time.Minute, "", -10 * time.Minute}, // ours is behind
		} {
			date, age = time.Now().Add(-step.behind).UTC().Format(http.TimeFormat), step.age
			ask(step.want)
		}
		date = "yesterday"
		ask(-10 * time.Minute)
	})
}

// A page that comes again and again ends a walk, whatever is stated of the pages to come.
func TestSpend_RefusesPagesWithoutEnd(t *testing.T) {
	for name, page := range map[string]string{
		"many-pages": pageOf(lines(1), placed(1, 1, 100_001, 100_001)),
		"many-rows":  pageOf(lines(3), placed(1, 3, 100_000_001, 33_333_334)),
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, roundTrip(status(200, page)))
			_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
			if _, ok := errors.AsType[*UnprovenError](err); !ok {
				t.Errorf("error %v", err)
			}
			check(t, "few requests", c.Stats().Requests <= 3, true)
		})
	}
}

// The pages, the keys and the entities that a client hands on hold no secret; it counts the
// replies that did.
func TestClient_HandsOnNoSecret(t *testing.T) {
	rows := lines(3)
	for i := range rows {
		rows[i] = strings.TrimSuffix(rows[i], "}") + `,"debug":"` + inJSON(canary) + `"}`
	}
	page := `{"` + inJSON(canary) + `":1,"notice":{"message":"no"},` +
		strings.TrimPrefix(pageOf(rows, placed(1, 3, 3, 1)), "{")
	c, _ := canaryClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "ads/spend-report") {
			return answerWith(200, page)
		}
		return answerWith(200, `{"data":{"id":"C1000001","name":"`+inJSON(canary)+`","clicks":17}}`)
	}))
	pages, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	wantNoCanary(t, "raw", string(pages[0].Raw))
	wantNoCanary(t, "unknown keys", fmt.Sprint(pages[0].Unknown))
	check(t, "rows", len(pages[0].Items), 3)
	check(t, "spend", string(pages[0].Items[2].TotalSpend), "1.25")
	e, err := c.Campaign(t.Context(), "C1000001")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "entity", string(e.Raw), `{"id":"C1000001","name":"[redacted]","clicks":17}`)
	check(t, "replies that repeated", c.Stats().Repeated, 3) // the page behind the full one, too
}

// TestSpend_HidesCredentialsOfKeptReplies: a reply that was kept may show what the service
// repeated before it became the secret of now.
func TestSpend_HidesCredentialsOfKeptReplies(t *testing.T) {
	odd := func(i int) string { return strings.Replace(line(i), "C1000001", "open-sesame", 1) }
	first := pageOf(lines(3), placed(1, 3, 4, 2))
	for name, kept := range map[string]string{
		"twice":   pageOf([]string{odd(1), odd(2), odd(1)}, placed(1, 3, 4, 2)),
		"unknown": strings.Replace(first, `"data":`, `"open-sesame":1,"data":`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, scripted(first, pageOf(lines(4)[3:], placed(2, 3, 4, 2))))
			pages, err := walk(t, c.Spend(t.Context(), testDay, 3, &Known{
				Fingerprints: []string{Fingerprint(nil, []byte(first)), "other"},
				Body:         func(int) ([]byte, error) { return []byte(kept), nil },
			}, nil))
			if name == "twice" {
				if err == nil || !strings.Contains(err.Error(), "row 3 is there twice") {
					t.Errorf("error %v", err)
				}
			} else if err != nil || len(pages) != 2 || len(pages[0].Unknown) != 1 {
				t.Fatalf("pages %v, error %v", pages, err)
			}
			shown := fmt.Sprint(err)
			for _, p := range pages {
				shown += fmt.Sprint(p.Unknown)
			}
			if strings.Contains(shown, "open-sesame") {
				t.Errorf("the password is shown: %s", shown)
			}
		})
	}
}
