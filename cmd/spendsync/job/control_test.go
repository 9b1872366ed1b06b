package job

import (
	"fmt"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// Requests of the control totals, and of the pages of a day.
const (
	ofTotals = "columns=date,total_spend,clicks"
	ofPages  = "include_creatives=true"
)

// TestControl_NoTotalIsNotATotalOfZero: pages that come back empty are not believed
// because the service then gives no total of the day, for whatever reason. Nothing is
// stored of the day, and what was stored of it stays.
func TestControl_NoTotalIsNotATotalOfZero(t *testing.T) {
	for name, fault := range map[string]adsim.Fault{
		"400":       {Kind: adsim.Status, Status: 400},
		"truncated": {Kind: adsim.Truncate},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			day := w.today() - 6
			w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: ofPages, Day: day.String()})
			fault.Query, fault.Day = ofTotals, day.String()
			w.service.Fail(fault)
			w.sync(exit.Partial, "spend "+day.String(), "gives none")
			if w.account().Days[day] != nil {
				t.Error("an empty day is stored against the service's own sum")
			}
			w.wantTruth(day)
			w.service.ClearFaults()
			w.sync(exit.OK)
			w.wantTruth()

			w.rereadAll()
			w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: ofPages, Day: day.String()})
			w.service.Fail(fault)
			w.sync(exit.Partial, "spend "+day.String())
			w.wantTruth()
		})
	}
}

// TestControl_NoTotalErasesNoDay: pages of every day that come back empty erase nothing where
// the service gives no total of that day, for whatever reason, with and without a total of
// the range.
func TestControl_NoTotalErasesNoDay(t *testing.T) {
	schematest.Long(t)
	for name, fault := range map[string]adsim.Fault{
		"refused":         {Kind: adsim.Status, Status: 400},
		"without columns": {Kind: adsim.Top, Column: "columns", Value: `["date"]`},
		"empty":           {Kind: adsim.Truncate},
		"two rows":        {Kind: adsim.Duplicate},
	} {
		for _, ofRange := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/range %t", name, ofRange), func(t *testing.T) {
				w, total := newWorld(t), fault
				w.first()
				const stored = "SELECT report_date, count(*), sum(spend) FROM spend_daily GROUP BY ALL ORDER BY 1"
				was := w.ask(stored)
				w.rereadAll()
				if total.Query = ofTotals; ofRange {
					w.service.Fail(total)
				}
				for n := range schema.Date(schema.ReachDays + 1) {
					day := (w.today() - n).String()
					total.Day = day
					w.service.Fail(total)
					w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: ofPages, Day: day})
				}
				if res, err := w.next().Sync(t.Context()); err != nil || res.Run.ExitCode == exit.OK {
					t.Errorf("%v, exit %d: %s", err, res.Run.ExitCode, res.Run.Message.V)
				}
				if got := w.ask(stored); got != was {
					t.Errorf("stored days were replaced:\n%s\nwas\n%s", got, was)
				}
				w.service.ClearFaults()
				w.sync(exit.OK)
				w.wantTruth()
			})
		}
	}
}

// TestControl_WithoutAnyTotalADayIsNotEmptied: where the service has given totals before
// and now gives none, two empty answers in a row do not take a day away.
func TestControl_WithoutAnyTotalADayIsNotEmptied(t *testing.T) {
	w := newWorld(t)
	w.first()
	w.rereadAll()
	day := w.today() - schema.ReachDays // its last chance
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 400, Query: ofTotals})
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: ofPages, Day: day.String()})
	w.sync(exit.Partial, "spend "+day.String())
	w.wantTruth()
}

// TestControl_AnEmptiedDayIsBelieved: a day that the service empties, and says so by its
// totals, is emptied.
func TestControl_AnEmptiedDayIsBelieved(t *testing.T) {
	w := newWorld(t)
	w.first()
	w.rereadAll()
	day := w.today() - 4
	if _, err := w.service.Restate(day.String(), adsim.Restatement{Kind: "empty"}); err != nil {
		t.Fatal(err)
	}
	w.sync(exit.OK)
	w.wantTruth()
	if got := w.ask("SELECT count(*) > 0 AND bool_and(op = 'delete') FROM spend_change WHERE report_date = '%s'",
		day); got != "true" {
		t.Errorf("every row that is gone is a line of spend_change: %s", got)
	}
}
