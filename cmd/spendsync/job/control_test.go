package job

import (
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
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
		if name == "truncated" && !schematest.All() {
			continue
		}
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

// TestControl_AnEmptiedDayIsBelieved: a day that the service empties, and says so by its
// totals, is emptied.
func TestControl_AnEmptiedDayIsBelieved(t *testing.T) {
	w := newWorld(t)
	w.first()
	w.rereadAll()
	day := w.today() - 4
	if err := w.service.Restate(day.String(), adsim.Restatement{Kind: "empty"}); err != nil {
		t.Fatal(err)
	}
	w.sync(exit.OK)
	w.wantTruth()
	if got := w.ask("SELECT count(*) > 0 AND bool_and(op = 'delete') FROM spend_change WHERE report_date = '%s'",
		day); got != "true" {
		t.Errorf("every row that is gone is a line of spend_change: %s", got)
	}
}
