package main

import (
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestAccept has two differences: a day with fewer rows than its sum shows, and one kind of difference on all days.
// Every run ends with 4 until a person has accepted both, and again after one acceptance is taken back.
func TestAccept(t *testing.T) {
	w := newWorld(t, small, func(c *adsim.Config) { c.Quirks = []string{"totals-lack-source"} })
	day := (w.today() - 9).String()
	const form = "report.day-total.below"
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Rows: 4, Query: "include_creatives=true", Day: day})
	sync := func(code int, says ...string) {
		t.Helper()
		got, _, last := w.run("sync")
		for _, part := range says {
			if got != code || !strings.Contains(last, part) {
				t.Errorf("exit %d, want %d and %q: %s", got, code, part, last)
			}
		}
	}
	sync(exit.Partial, "partial", form)
	w.must("repair", "accept", day)
	sync(exit.Partial, form)
	w.must("repair", "accept", form)
	sync(exit.OK, "")
	if text := w.must("status"); !strings.Contains(text, "accepted") || !strings.Contains(text, day) {
		t.Errorf("status names no accepted day: %s", text)
	}
	w.must("repair", "accept", "--undo", day)
	sync(exit.Partial, day)
	w.service.ClearFaults()
	w.env["REREAD_AFTER"] = "0s"
	sync(exit.OK, "")
}
