package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
)

// statedBreaks break what the description states of a report, each in one way, in every answer to one day. says is what
// the message has of the cause or of its cure.
var statedBreaks = map[string]struct {
	says string
	edit func(q url.Values, parts map[string]any)
}{
	"no columns":           {"report_reply.columns", func(_ url.Values, p map[string]any) { delete(p, "columns") }},
	"no rows":              {"report_reply.rows", func(_ url.Values, p map[string]any) { delete(p, "data") }},
	"a column is missing":  {"report.columns", lackColumn},
	"total_rows is more":   {"total_rows", stated("total_rows", 1)},
	"total_rows is less":   {"total_rows", stated("total_rows", -1)},
	"total_pages is more":  {"total_pages", stated("total_pages", 1)},
	"page is another":      {"pagination.page", stated("page", 1)},
	"the total changes":    {"total changed", changingTotal},
	"a key comes twice":    {"a key comes twice", onRows(func(rows reportRows) { rows[1] = rows[0] })},
	"a row of another day": {"2026-01-01", onRows(setCell("date", "2026-01-01"))},
	"text in spend":        {"cannot be stored", onRows(setCell("total_spend", "n/a"))},
	"spend is null":        {"cannot be stored", onRows(setCell("total_spend", nil))},
	"an error beside rows": {"shard 3", func(_ url.Values, p map[string]any) { p["error"] = "shard 3 failed" }},
	"not all rows": {"incomplete_results", func(_ url.Values, p map[string]any) {
		p["incomplete_results"] = true
	}},
	"a row in euros": {"EUR", onRows(setCell("currency", "EUR"))},
	"euros":          {"EUR", func(_ url.Values, p map[string]any) { p["currency"] = "EUR" }},
}

func lackColumn(_ url.Values, parts map[string]any) {
	parts["columns"] = slices.DeleteFunc(slices.Clone(parts["columns"].([]string)), func(c string) bool {
		return c == "conversions"
	})
}

// stated adds to a number that the pagination states.
func stated(key string, add int) func(url.Values, map[string]any) {
	return func(_ url.Values, parts map[string]any) { parts["pagination"].(map[string]int)[key] += add }
}

// changingTotal states a row more from the second page on.
func changingTotal(q url.Values, parts map[string]any) {
	if q.Get("page") != "1" {
		stated("total_rows", 1)(q, parts)
	}
}

func onRows(edit func(reportRows)) func(url.Values, map[string]any) {
	return func(_ url.Values, parts map[string]any) {
		if rows := parts["data"].(reportRows); len(rows) > 1 {
			edit(rows)
		}
	}
}

func setCell(column string, value any) func(reportRows) {
	return func(rows reportRows) { rows[0] = withCell(rows[0], column, value) }
}

// TestFalse_WhatIsStatedIsRequired: each line of the description is broken for a finished day of its own, on a
// first load and on a store. The run ends in 4, and the step of each day says why; what was stored of it stands, and
// what came is kept; then the service mends itself, and one sync ends in 0 with the true rows.
func TestFalse_WhatIsStatedIsRequired(t *testing.T) {
	for _, isStored := range []bool{false, true} {
		w := newWorldInLine(t)
		w.env["PAGE_SIZE"], w.env["REREAD_AFTER"] = "7", "0s"
		// A changing total takes a creative of several pages, as the first of these days has one.
		names := slices.Sorted(maps.Keys(statedBreaks))
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Compare(strings.Index(b, "the total"), strings.Index(a, "the total"))
		})
		dayOf := func(i int) schema.Date { return w.today() - 5 - schema.Date(i) }
		rowsOf := func(i int) string {
			return w.ask(fmt.Sprintf("SELECT campaign_id, creative_id, source_id, spend, clicks FROM spend_daily "+
				"WHERE report_date = DATE '%s' ORDER BY ALL", dayOf(i)))
		}
		was := make([]string, len(names))
		if isStored {
			w.must("sync")
			for i := range names {
				was[i] = rowsOf(i)
			}
			w.service.Advance(time.Hour)
		}
		w.answers(&theReport{
			rows: func(_ int, _ url.Values, all reportRows) reportRows { return all },
			edit: func(q url.Values, parts map[string]any) {
				for i, name := range names {
					if isOf(dayOf(i), q) {
						statedBreaks[name].edit(q, parts)
					}
				}
			},
		})
		if code, _, last := w.run("sync"); code != exit.Partial {
			t.Errorf("stored %t: exit %d, want 4: %s", isStored, code, last)
		}
		for i, name := range names {
			is := rowsOf(i)
			state := w.ask(fmt.Sprintf("SELECT state FROM ops.day_coverage WHERE report_date = DATE '%s'", dayOf(i)))
			step := w.ask(fmt.Sprintf("SELECT outcome, message FROM ops.step WHERE unit = '%s' "+
				"ORDER BY started_at DESC LIMIT 1", dayOf(i)))
			if !strings.Contains(step, statedBreaks[name].says) {
				t.Errorf("%s, stored %t: %s, want %q", name, isStored, step, statedBreaks[name].says)
			}
			if isStored && (is != was[i] || state != "complete") {
				t.Errorf("%s: the stored day is %s and was\n%s\nand is\n%s", name, state, was[i], is)
			}
			if !isStored && (state == "complete" || state == "final") {
				t.Errorf("%s: the day is %s with %s", name, state, is)
			}
			kept, _ := filepath.Glob(w.dir + "/quarantine/account=acme/day=" + dayOf(i).String() + "*")
			if len(kept) == 0 != (state == "partial") {
				t.Errorf("%s, stored %t: state %s, kept are %v: %s", name, isStored, state, kept, step)
			}
		}
		w.service.Advance(time.Hour)
		w.mends()
	}
}
