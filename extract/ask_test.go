package extract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestSpend_AsksForLessWhenRefused: a service that refuses a column, or large pages, is asked for less, and
// no more for what it refused. What nothing less mends is the error that it was.
func TestSpend_AsksForLessWhenRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		refuses func(columns []string, size string) string // the text of a 400; empty: it answers
		columns string                                     // that are asked for in the end
		size    string
	}{
		"by name": {func(columns []string, _ string) string {
			if slices.Contains(columns, "impressions") {
				return "Unknown column: impressions"
			}
			return ""
		}, "date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,conversions", "10000"},
		"clicks beside creatives": {func(columns []string, _ string) string {
			if slices.Contains(columns, "clicks") {
				return "Invalid request"
			}
			return ""
		}, "date,campaign_id,campaign_name,creative_id,source_id,total_spend,impressions,conversions", "10000"},
		"all but the necessary": {func(columns []string, _ string) string {
			if len(columns) > 4 {
				return "Bad Request"
			}
			return ""
		}, "campaign_id,creative_id,source_id,total_spend", "10000"},
		"large pages": {func(_ []string, size string) string {
			if len(size) > 4 || size > "2999" {
				return "page_size is too large"
			}
			return ""
		}, strings.Join(spendColumns, ","), "2500"},
		"everything": {func([]string, string) string { return "Bad Request" }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var last *http.Request
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				q := r.URL.Query()
				if why := tc.refuses(strings.Split(q.Get("columns"), ","), q.Get("page_size")); why != "" {
					return answerWith(400, fmt.Sprintf(`{"error":%q}`, why))
				}
				last = r // that is answered
				return answerWith(200, pageOf(lines(2), placed(1, 2500, 2, 1)))
			}))
			_, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil))
			if tc.columns == "" {
				wantError(t, err, ErrContract, "Bad Request")
				check(t, "nothing is given up", len(c.Asked().Without)+c.Asked().PageSize, 0)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, "columns", last.URL.Query().Get("columns"), tc.columns)
			check(t, "page_size", last.URL.Query().Get("page_size"), tc.size)
			before := c.Stats().Requests
			if _, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil)); err != nil {
				t.Fatal(err)
			}
			check(t, "requests of the next day", c.Stats().Requests-before, 1)
		})
	}
}

// TestSpend_AsksForAllAgainBeforeItLeavesOut: a refusal that names no column and passes costs no measure; one that
// stays is believed, and one that names its column at once.
func TestSpend_AsksForAllAgainBeforeItLeavesOut(t *testing.T) {
	const all, less = "all", "less"
	for name, tc := range map[string]struct {
		text    string
		times   int // that it refuses clicks
		asked   []string
		without []string
	}{
		"once":    {"Invalid request", 1, []string{all, less, all, all}, nil},
		"ever":    {"Invalid request", 99, []string{all, less, all, less}, []string{"clicks"}},
		"by name": {"Unknown column: clicks", 99, []string{all, less, less}, []string{"clicks"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			c := newTestClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				columns := strings.Split(r.URL.Query().Get("columns"), ",")
				if !slices.Contains(columns, "clicks") {
					asked = append(asked, less)
				} else if asked = append(asked, all); tc.times > 0 {
					tc.times--
					return answerWith(400, fmt.Sprintf(`{"error":%q}`, tc.text))
				}
				return answerWith(200, pageOf(lines(2), placed(1, 2500, 2, 1)))
			}))
			for range 2 {
				got, err := walk(t, c.Spend(t.Context(), testDay, 0, nil, nil))
				if err != nil || len(got) != 1 || len(got[0].Items) != 2 {
					t.Fatalf("%d pages, %v", len(got), err)
				}
			}
			check(t, "questions", strings.Join(asked, " "), strings.Join(tc.asked, " "))
			check(t, "without", strings.Join(c.Asked().Without, " "), strings.Join(tc.without, " "))
		})
	}
}
