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

// canary is a password that each of the escapes writes differently.
const canary = `cAn4ry"ä<&>/+ %s\x`

// inJSON is a text as JSON spells it, without the quotes.
func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return strings.Trim(string(b), `"`)
}

// canaryParts must not occur in any output in any form; they include the beginning, because a text must not be cut
// within the secret.
var canaryParts = []string{"cAn4ry", base64.StdEncoding.EncodeToString([]byte("ann:" + canary))[:12]}

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

// A password of digits may be a number of the report, so that replies keep it; what a person reads does not.
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
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			wantError(t, err, ErrContract, "pagination.page is 1, not 2")
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
