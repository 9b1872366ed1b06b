package queries_test

import (
	"regexp"
	"slices"
	"testing"

	"spendsync/queries"
	"spendsync/schema"
)

// TestMarts_NameTheTablesBehindThem: a table that is missing in Behind would leave a mart outdated.
func TestMarts_NameTheTablesBehindThem(t *testing.T) {
	views, err := queries.Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	sql := map[string]string{}
	for _, v := range views {
		sql[v.Schema+"."+v.Name] = v.SQL
	}
	days := []string{"main.spend_daily", "main.spend_change", "main.calendar", "mart.campaign_spend"}
	name := regexp.MustCompile(`\b(?:main|mart)\.[a-z_0-9]+`)
	for _, m := range schema.Marts {
		seen := map[string]bool{}
		var tables []string
		var follow func(of string)
		follow = func(of string) {
			if seen[of] {
				return
			}
			seen[of] = true
			if sql[of] == "" && !slices.Contains(days, of) {
				tables = append(tables, of[len("main."):])
			}
			for _, asked := range name.FindAllString(sql[of], -1) {
				follow(asked)
			}
		}
		follow("mart." + m.View)
		slices.Sort(tables)
		if want := slices.Sorted(slices.Values(m.Behind)); !slices.Equal(tables, want) {
			t.Errorf("%s asks %q, and Behind names %q", m.View, tables, want)
		}
	}
}
