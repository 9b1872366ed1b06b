package duck

import (
	"errors"
	"strings"
	"testing"

	"spendsync/load/durable"
)

// TestAsk_TakesConditionsThatOnlyCompute puts conditions into a query, and others that reach for more than
// the columns they may use.
func TestAsk_TakesConditionsThatOnlyCompute(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	ask := func(text string) (string, error) {
		r, err := Ask(t.Context(), dir, Query{
			SQL:        "SELECT $rule AS holds FROM (SELECT 7::DOUBLE AS spend, NULL::DOUBLE AS cpa, 1 AS secret)",
			Conditions: []Condition{{"rule", text, []string{"spend", "cpa"}}},
		}, Options{Threads: 1, Memory: "256MiB", Disk: durable.OS})
		if err != nil {
			return "", err
		}
		var holds string
		for row, err := range r.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if holds = row[0].V; !row[0].Valid {
				holds = "NULL"
			}
		}
		return holds, r.Close()
	}
	for text, want := range map[string]string{
		"spend > 3": "true", "SPEND > 3 AND cpa > 1": "NULL", "NOT (spend > 3) OR false": "false",
		"CASE WHEN cpa IS NULL THEN spend BETWEEN 6 AND 8.5 ELSE true END": "true",
		"coalesce(cpa, -spend) < 0 AND spend IN (7, 9)":                    "true",
		"greatest(spend, 2) * 2 - 1 = 13 -- a comment ) OR true":           "true",
		"spend = 8 OR /* ) */ spend / 2 = 3.5":                             "true", "NULL": "",
	} {
		if got, err := ask(text); got != want && (want != "" || err == nil) {
			t.Errorf("%s: %q, %v, want %s", text, got, err, want)
		}
	}
	for text, cause := range map[string]string{
		"secret = 1":                           "there is no column secret; there are spend, cpa",
		"t.spend > 1":                          "there is no column t.spend",
		"spend > (SELECT 1)":                   "a subquery is not allowed",
		"EXISTS (FROM main.spend_daily)":       "a subquery is not allowed",
		"sum(spend) > 1":                       "sum is not allowed; the functions are abs",
		"getenv('HOME') IS NULL":               "getenv is not allowed",
		"main.abs(spend) > 1":                  "a function with a schema",
		"row_number() OVER () > 1":             "a window function is not allowed",
		"spend > $days":                        "parameter is not allowed",
		"spend::INTEGER > 1":                   "a cast is not allowed",
		"spend > 'x'":                          "the constant x is not a number",
		"spend":                                "it must be true or false, and it is a DOUBLE",
		"":                                     "rule: ",
		"spend >":                              "syntax error",
		"spend > 1) OR (true":                  "syntax error",
		"spend > 1, true":                      "it must be one condition, and nothing after it",
		"spend > 1; DROP TABLE x":              "it must be one condition, and nothing after it",
		"spend > 1 FROM main.spend_daily":      "it must be one condition, and nothing after it",
		"spend > 1 ORDER BY 1":                 "it must be one condition, and nothing after it",
		"spend > 1 LIMIT 1":                    "it must be one condition, and nothing after it",
		"spend > 1 UNION SELECT true":          "it must be one condition, and nothing after it",
		"spend > 1 WHERE true":                 "it must be one condition, and nothing after it",
		"* > 1":                                "",
		"[spend][1] > 1":                       "is not allowed",
		"list_filter([1], x -> x > 1) IS NULL": "is not allowed",
	} {
		got, err := ask(text)
		var q *QueryError
		if !errors.As(err, &q) || !strings.Contains(q.Message, cause) {
			t.Errorf("%s: %q, %v, want %s", text, got, err, cause)
		}
	}
}
