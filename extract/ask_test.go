package extract

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"spendsync/extract/service"
)

// asks is a report that answers a question unless why gives a status and a text for its columns and page size, and
// notes what is asked.
type asks struct {
	why   func(columns []string, size int) (status int, text string)
	asked []string
	last  string // columns of the latest answer
}

func (a *asks) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("page_size"))
	columns := strings.Split(q.Get("columns"), ",")
	a.asked = append(a.asked, fmt.Sprintf("%d by %d", len(columns), size))
	if status, text := a.why(columns, size); status != 0 {
		return answerWith(status, fmt.Sprintf(`{"error":%q}`, text))
	}
	a.last = q.Get("columns")
	return answerWith(200, pageOf(lines(2), placed(1, 500, 2, 1)))
}

// TestAsk_LeavesOutWhatARefusalNames, and no more: of any other refusal the same is asked again, and what lasts is an
// error that names the line which leaves a column out.
func TestAsk_LeavesOutWhatARefusalNames(t *testing.T) {
	refuses := func(text string, names ...string) func([]string, int) (int, string) {
		return func(columns []string, _ int) (int, string) {
			for _, name := range names {
				if slices.Contains(columns, name) {
					return 400, strings.ReplaceAll(text, "%", name)
				}
			}
			return 0, ""
		}
	}
	first := func(n int, status int, text string) func([]string, int) (int, string) {
		return func([]string, int) (int, string) {
			if n--; n >= 0 {
				return status, text
			}
			return 0, ""
		}
	}
	above := func(most, status int, text string) func([]string, int) (int, string) {
		return func(_ []string, size int) (int, string) {
			if size > most {
				return status, text
			}
			return 0, ""
		}
	}
	for name, tc := range map[string]struct {
		why     func([]string, int) (int, string)
		asked   string // columns and size of each question of a day
		kept    string // what the next day is asked for; empty: the error
		service string
	}{
		"a column": {refuses("Unknown column: %", "impressions"), "9 by 10000, 8 by 10000", "{[impressions] 0}", ""},
		"a column by the operator's name": {refuses("Unknown column: %", "taps"), "9 by 10000, 8 by 10000",
			"{[clicks] 0}", "report.clicks: taps"},
		"two columns, one after the other": {refuses("% is not known", "conversions", "clicks"),
			"9 by 10000, 8 by 10000, 7 by 10000", "{[clicks conversions] 0}", ""},
		"two columns at once": {refuses("clicks and impressions go without creatives", "clicks"),
			"9 by 10000, 7 by 10000", "{[clicks impressions] 0}", ""},
		"a key":             {refuses("Unknown column: %", "source_id"), "9 by 10000", "", ""},
		"nothing, once":     {first(1, 400, "Bad Request"), "9 by 10000", "{[] 0}", ""},
		"nothing, twice":    {first(2, 400, "Invalid parameter"), "9 by 10000", "{[] 0}", ""},
		"nothing, for ever": {first(99, 400, "Bad Request"), "9 by 10000", "", ""},
		"a date":            {first(99, 400, "Invalid date format"), "9 by 10000", "", ""},
		"large pages": {above(2500, 400, "page_size is too large"), "9 by 10000, 9 by 5000, 9 by 2500",
			"{[] 2500}", ""},
		"large pages by a 500": {above(2500, 500, "clicks: out of memory"), "9 by 10000, 9 by 5000, 9 by 2500",
			"{[] 2500}", ""},
		"what the operator leaves out": {refuses("Bad Request", "clicks"), "8 by 10000", "{[] 0}",
			"report_query.without: [clicks]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := service.Default().With([]byte(tc.service))
				if err != nil {
					t.Fatal(err)
				}
				a := &asks{why: tc.why}
				c := newTestClient(t, roundTrip(a.RoundTrip), func(o *Options) { o.RetryBudget, o.Service = 1, s })
				_, err = walk(t, c.Spend(t.Context(), testDay, 0, nil, new(Evidence)))
				check(t, "asked", strings.Join(slices.Compact(a.asked), ", "),
					strings.Join(slices.Compact(strings.Split(tc.asked, ", ")), ", "))
				if tc.kept == "" {
					wantError(t, err, ErrContract, "report_query.without")
					check(t, "questions", len(a.asked), 3)
					tc.kept = "{[] 0}"
				} else if err != nil {
					t.Fatal(err)
				}
				check(t, "kept", fmt.Sprint(c.Asked()), tc.kept)
			})
		})
	}
}

// TestAsk_GivesUpOnce: if no smaller page is answered either, the next day asks for no less.
func TestAsk_GivesUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asks{why: func([]string, int) (int, string) { return 400, "page_size is too large" }}
		c := newTestClient(t, roundTrip(a.RoundTrip), func(o *Options) { o.RetryBudget = 1 })
		c.AskLess(Ask{PageSize: 1000})
		for range 2 {
			_, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil))
			wantError(t, err, ErrContract, "page_size")
		}
		check(t, "kept", fmt.Sprint(c.Asked()), "{[] 1000}")
		check(t, "sizes", strings.Join(slices.Compact(a.asked), ", "), "9 by 1000, 9 by 500, 9 by 1000")
	})
}

// TestAsk_TheKeysAreAlwaysAskedFor, whatever an earlier run has found to be left out.
func TestAsk_TheKeysAreAlwaysAskedFor(t *testing.T) {
	a := &asks{why: func([]string, int) (int, string) { return 0, "" }}
	c := newTestClient(t, roundTrip(a.RoundTrip))
	c.AskLess(Ask{Without: []string{"clicks", "creative_id", "source_id", "campaign_id", "total_spend"}})
	if _, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil)); err != nil {
		t.Fatal(err)
	}
	check(t, "asked for", a.last,
		"date,campaign_id,campaign_name,creative_id,source_id,total_spend,impressions,conversions")
}

// TestAsk_ARefusalOfOneDayTakesNothingFromAnother: it is that request's alone, also while others are answered.
func TestAsk_ARefusalOfOneDayTakesNothingFromAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		a := &asks{why: func([]string, int) (int, string) {
			if n++; n%2 == 1 {
				return 400, "Bad Request"
			}
			return 0, ""
		}}
		c := newTestClient(t, roundTrip(a.RoundTrip), func(o *Options) { o.RetryBudget = 1 })
		for range 5 {
			if _, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil)); err != nil {
				t.Fatal(err)
			}
		}
		check(t, "kept", fmt.Sprint(c.Asked()), "{[] 0}")
	})
}

// countAnswers answers the first questions with bodies, and refuses the others.
func countAnswers(n *int, bodies ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		if *n++; *n > len(bodies) {
			return answerWith(400, `{"error":"no such page"}`)
		}
		return answerWith(200, bodies[*n-1])
	}
}
