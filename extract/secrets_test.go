package extract

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// canary is a password that looks different in each kind of escaping.
const canary = `cAn4ry"ä<&>/+ %s\x`

// inJSON returns a text in its JSON spelling, without the quotes.
func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return strings.Trim(string(b), `"`)
}

// canaryParts must not occur in any output. They are the beginnings of the secret and of its base64, so that a test
// also finds a secret that was cut off.
var canaryParts = []string{"cAn4ry", base64.StdEncoding.EncodeToString([]byte("ann:" + canary))[:12]}

// canaryClient returns a client whose password is the canary, and the client's log.
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

// TestSecrets_AreHiddenInTheWarningOfTheKey: the headers about the expiry of the API key may repeat the key.
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

// TestSecrets_OfDigitsAreHiddenInErrors: a password of digits may be a number in the report, so replies keep it. Texts
// for people do not.
func TestSecrets_OfDigitsAreHiddenInErrors(t *testing.T) {
	for name, page := range map[string]string{
		"a place":    pageOf(lines(1), placed(81234, 1, 1, 1)),
		"the number": pageOf(lines(1), placed(1, 1, 1, 81234)),
	} {
		c := newTestClient(t, roundTrip(status(200, page)), func(o *Options) {
			o.Authorize = func(r *http.Request) { r.SetBasicAuth("ann", "81234") }
		})
		var seen Evidence
		var text string
		for _, err := range c.Spend(t.Context(), SpendQuestion{Day: testDay, PageSize: 1}, &seen) {
			if err != nil {
				text = err.Error()
			}
		}
		if text += seen.Against; !strings.Contains(text, "[redacted]") || strings.Contains(text, "81234") {
			t.Errorf("%s: %q", name, text)
		}
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
			time.Sleep(time.Hour) // time passes between the replies
			now, ok := c.ServiceTime()
			check(t, "told", ok, true)
			check(t, "behind", time.Since(now), want)
		}
		for _, step := range []struct {
			behind time.Duration // how far the date in the reply is behind
			age    string
			want   time.Duration
		}{
			{2 * time.Hour, "", 2 * time.Hour},
			{3 * time.Hour, "", 2 * time.Hour},         // from a proxy that sends no Age
			{2 * time.Hour, "3600", time.Hour},         // from a proxy that sends an Age
			{time.Hour, "soon", time.Hour},             // an invalid Age
			{-10 * time.Minute, "", -10 * time.Minute}, // our clock is behind
		} {
			date, age = time.Now().Add(-step.behind).UTC().Format(http.TimeFormat), step.age
			ask(step.want)
		}
		date = "yesterday"
		ask(-10 * time.Minute)
	})
}

// TestSpend_RefusesPagesWithoutEnd: a walk ends if the same page comes again and again, whatever number of pages is
// stated.
func TestSpend_RefusesPagesWithoutEnd(t *testing.T) {
	for name, page := range map[string]string{
		"many-pages": pageOf(lines(1), placed(1, 1, 100_001, 100_001)),
		"many-rows":  pageOf(lines(3), placed(1, 3, 100_000_001, 33_333_334)),
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, roundTrip(status(200, page)))
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			wantError(t, err, ErrContract, "pagination.page is 1, not 2")
			check(t, "few requests", c.Stats().Requests <= 3, true)
		})
	}
}

// TestClient_HandsOnNoSecret: the pages, keys and entities that a client returns contain no secret.
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
	pages, err := walk(t, dayOf(t.Context(), c, testDay, 3))
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
}
