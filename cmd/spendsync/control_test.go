package main

import (
	"testing"

	"spendsync/cmd/spendsync/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// TestSync_NoTotalIsNotATotalOfZero: pages that come back empty erase nothing where the
// service gives no total of that day, for whatever reason and however often.
func TestSync_NoTotalIsNotATotalOfZero(t *testing.T) {
	const totals = "columns=date,total_spend,clicks"
	for name, total := range map[string]adsim.Fault{
		"refused":         {Kind: adsim.Status, Status: 400},
		"without columns": {Kind: adsim.Top, Column: "columns", Value: `["date"]`},
		"empty":           {Kind: adsim.Truncate},
		"two rows":        {Kind: adsim.Duplicate},
	} {
		for _, ofRange := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t)
				w.must("sync")
				const stored = "SELECT report_date, count(*), sum(spend) FROM spend_daily GROUP BY ALL ORDER BY 1"
				was := w.ask(stored)
				w.env["REREAD_AFTER"] = "0s"
				if total.Query = totals; ofRange {
					w.service.Fail(total)
				}
				for n := range 33 {
					day := (w.today() - schema.Date(n)).String()
					total.Day = day
					w.service.Fail(total)
					w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: "include_creatives=true", Day: day})
				}
				if code, _, last := w.run("sync"); code == exit.OK {
					t.Errorf("sync: exit %d: %s", code, last)
				}
				if got := w.ask(stored); got != was {
					t.Errorf("stored days were replaced:\n%s\nwas\n%s", got, was)
				}
				w.service.ClearFaults()
				w.must("sync")
				w.checkTruth()
			})
		}
	}
}
