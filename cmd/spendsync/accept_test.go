package main

import (
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// TestAccept_ADifferenceThatStays: a difference whose data is stored ends three runs, stands from the third on, and is
// shown; by hand it stands at once, or ends runs again. It hides nothing else: not a day that fails beside it, nor a
// difference in the other direction.
func TestAccept_ADifferenceThatStays(t *testing.T) {
	schematest.Long(t) // package job has the rules
	w := newWorld(t)
	w.env["REREAD_AFTER"] = "0s"
	totals := func(value string) {
		w.service.ClearFaults()
		w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Row: -1, Column: "total_spend", Value: value,
			Query: "columns=date,total_spend,clicks"})
	}
	runs := func(code int, says string) {
		t.Helper()
		w.service.Advance(time.Hour)
		if got, _, last := w.runLogged("sync"); got != code || !strings.Contains(last, says) {
			t.Errorf("exit %d, want %d and %q: %s", got, code, says, last)
		}
	}
	const note = "report.day-total.above"
	totals("99999")
	for range 4 { // it is so far above the rows that no number of runs makes it stand
		runs(exit.Partial, "the service's own total differs")
	}
	w.must("accept", note)
	runs(exit.OK, "1 standing note ("+note+")")
	w.must("accept", "--withdraw", note)
	runs(exit.Partial, "the service's own total differs")
	w.must("accept", note)
	if got := w.ask("SELECT note, is_standing, decision, runs FROM ops.note"); got != note+"|true|accepted|6" {
		t.Errorf("ops.note: %s", got)
	}
	if got := w.ask("SELECT value FROM mart.data_quality WHERE check_name = 'notes_standing'"); got != "1.0" {
		t.Errorf("data_quality: %s", got)
	}
	if got := w.ask("SELECT value FROM mart.data_quality WHERE check_name = 'last_run_succeeded'"); got != "4.0" {
		t.Errorf("to accept a note is no run that succeeded: %s", got)
	}
	if text := w.must("status"); !strings.Contains(text, note+", accepted: the service's own total differs") {
		t.Errorf("status: %s", text)
	}

	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Query: "include_creatives=true",
		Day: (w.today() - 9).String()})
	runs(exit.Partial, (w.today() - 9).String())
	totals("0")
	runs(exit.Partial, "the service's own total differs")
	runs(exit.Partial, "the service's own total differs")
	runs(exit.OK, "1 standing note (report.day-total.below)")
	w.must("verify")

	for _, args := range [][]string{{"accept"}, {"accept", "report.day-total"}, {"accept", "--withdraw", "x"}} {
		if code, _, _ := w.runLogged(args...); code != exit.Usage {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}
