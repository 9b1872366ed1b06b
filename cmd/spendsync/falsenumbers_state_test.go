package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/schema/schematest"
)

// The exit code is the state of the store: the same store gives the same code however often a run looks, and no
// difference stands by itself. Each case looks several times at an unchanged service, then the service mends itself.

// stays wants the code and the words of several runs at an unchanged service.
func (w *world) stays(code int, says string) {
	w.t.Helper()
	for n := range schematest.Times(2, 5, 5) {
		if n > 0 {
			w.service.Advance(time.Minute)
		}
		if got, _, last := w.run("sync"); got != code || !strings.Contains(last, says) {
			w.t.Errorf("run %d: exit %d, want %d and %q: %s", n+1, got, code, says, last)
		}
	}
}

// mends wants one sync of the true service to end in 0 with the true rows and no restatement that is none.
func (w *world) mends() {
	w.t.Helper()
	w.transport, w.env["REREAD_AFTER"] = nil, "0s"
	w.must("sync")
	w.checkTruth()
}

// withCell returns a row with another value in a column.
func withCell(row json.RawMessage, column string, value any) json.RawMessage {
	is := map[string]any{}
	if err := json.Unmarshal(row, &is); err != nil {
		panic(err)
	}
	is[column] = value
	out, err := json.Marshal(is)
	if err != nil {
		panic(err)
	}
	return out
}

// TestFalseState_ADayBelowItsSumIsPartial: two finished days come with fewer rows than their own sum needs, on every
// read. They are partial in every run, named with their sum, and left out of nothing else.
func TestFalseState_ADayBelowItsSumIsPartial(t *testing.T) {
	w := newWorld(t, smallAccount)
	first, second := w.today()-9, w.today()-8
	w.answers(&theReport{rows: func(_ int, q url.Values, all reportRows) reportRows {
		if isOf(first, q) || isOf(second, q) {
			return all[:len(all)/3]
		}
		return all
	}})
	w.stays(exit.Partial, "partial")
	const partial = "SELECT report_date, state, partial_why IS NOT NULL FROM ops.day_coverage WHERE state = 'partial'"
	if got, want := w.ask(partial), fmt.Sprintf("%s|partial|true\n%s|partial|true", first, second); got != want {
		t.Errorf("coverage:\n%s\nwant\n%s", got, want)
	}
	w.must("repair", "accept", first.String())
	w.stays(exit.Partial, second.String())
	w.must("repair", "accept", second.String())
	w.stays(exit.OK, "")
	if text := w.must("status"); !strings.Contains(text, "accepted") || !strings.Contains(text, first.String()) {
		t.Errorf("status names no accepted day: %s", text)
	}
	w.must("repair", "accept", "--undo", first.String())
	w.stays(exit.Partial, first.String())
	w.mends()
	if got := w.ask(partial); got != "" {
		t.Errorf("still partial: %s", got)
	}
}

// TestFalseState_ARefusedRowIsSaidInEveryRun: a row without a spend that can be stored leaves its day partial, also in
// the runs that have no other reason to read that day.
func TestFalseState_ARefusedRowIsSaidInEveryRun(t *testing.T) {
	w := newWorld(t, smallAccount)
	day := w.today() - 9
	w.answers(&theReport{rows: func(_ int, q url.Values, all reportRows) reportRows {
		if isOf(day, q) {
			all = append(reportRows{withCell(all[0], "total_spend", "twelve")}, all[1:]...)
		}
		return all
	}})
	w.stays(exit.Partial, day.String())
	if got := w.ask("SELECT partial_why FROM ops.day_coverage WHERE state = 'partial'"); !strings.Contains(got,
		"1 of its rows") {
		t.Errorf("partial_why: %s", got)
	}
	w.must("repair", "accept", day.String())
	w.stays(exit.OK, "")
	w.mends()
}

// TestFalseState_AnAcceptedFormHoldsItsSize: the service's own sums are 10 % above the rows. It is doubtful in every
// run until a person accepts the form; sums 20 % above the rows are new then.
func TestFalseState_AnAcceptedFormHoldsItsSize(t *testing.T) {
	w := newWorld(t, smallAccount)
	w.env["REREAD_AFTER"] = "0s"
	factor := 1.1
	r := &theReport{rows: func(_ int, q url.Values, all reportRows) (rows reportRows) {
		if isDay(q) || q.Get("include_creatives") == "true" {
			return all
		}
		for _, row := range all {
			var is struct {
				Spend float64 `json:"total_spend"`
			}
			if err := json.Unmarshal(row, &is); err != nil {
				t.Error(err)
			}
			rows = append(rows, withCell(row, "total_spend", is.Spend*factor))
		}
		return rows
	}}
	w.answers(r)
	const form = "report.day-total.above"
	w.stays(exit.Partial, form)
	if got := w.ask("SELECT count(*) > 30, count(DISTINCT doubt) FROM ops.day_coverage " +
		"WHERE doubt = 'doubtful'"); got !=
		"true|1" {
		t.Errorf("doubtful days: %s", got)
	}
	w.must("repair", "accept", form)
	w.stays(exit.OK, "")
	if got := w.ask("SELECT count(*) FROM ops.day_coverage WHERE doubt = 'doubtful'"); got != "0" {
		t.Errorf("%s days are doubtful still", got)
	}
	factor = 1.2
	w.stays(exit.Partial, form)
	factor = 1.1
	w.stays(exit.OK, "")
	w.must("repair", "accept", "--undo", form)
	w.stays(exit.Partial, form)
	w.mends()
}

// TestFalseState_AValueThatIsRefused stays exit 4 in every run until its column and form are accepted.
func TestFalseState_AValueThatIsRefused(t *testing.T) {
	schematest.Long(t) // TestFalseState_ARefusedRowIsSaidInEveryRun is the same story of a row
	w := newWorld(t, smallAccount)
	day := w.today() - 9
	w.answers(&theReport{rows: func(_ int, q url.Values, all reportRows) reportRows {
		if isOf(day, q) {
			all = append(reportRows{withCell(all[0], "clicks", "7 clicks")}, all[1:]...)
		}
		return all
	}})
	w.stays(exit.Partial, "report.unread.clicks.string")
	w.must("repair", "accept", "report.unread.clicks.string")
	w.stays(exit.OK, "")
	w.mends()
}

// TestFalseState_AFirstLoadWithoutARowKnowsNothing: whatever the account states of itself. A person may accept that it
// rests.
func TestFalseState_AFirstLoadWithoutARowKnowsNothing(t *testing.T) {
	w := newWorld(t, smallAccount)
	w.answers(&theReport{rows: emptyFrom(0), average: "0"})
	w.stays(exit.Partial, "report.empty")
	if got := w.ask(falseZeros); got != "0" {
		t.Errorf("%s days are known to be empty", got)
	}
	accepted := w.copied(t)
	accepted.transport = w.transport
	accepted.must("repair", "accept", "report.empty")
	accepted.stays(exit.OK, "")
	if got := accepted.ask(falseZeros); got != "33" {
		t.Errorf("%s days are known to be empty, want 33", got)
	}
	w.mends()
}
