package job

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// Parts of the query of a request for the control totals, and of a request for a page of a day.
const (
	ofTotals = "columns=date,total_spend,clicks"
	ofPages  = "include_creatives=true"
)

// TestControl_NoTotalIsNotATotalOfZero: if the pages of a day are empty and the service gives no total of the day, for
// whatever reason, the missing total does not prove the day. Nothing new is stored of the day, and its stored rows
// stay.
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

// TestControl_AnEmptiedDayIsBelieved: if the service empties a day, and its totals agree, the stored day is emptied.
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

// TestControl_ALossThatNoReadConfirmsIsDoubted: a read that lost most of a stored day waits for a second read. If the
// day leaves the reach before, every run ends with exit 4 until a person accepts the stored day.
func TestControl_ALossThatNoReadConfirmsIsDoubted(t *testing.T) {
	w := newWorld(t)
	w.first()
	w.rereadAll()
	day := w.today() - schema.ReachDays
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Rows: 5, Query: ofPages, Day: day.String()})
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 400, Query: ofTotals})
	w.sync(exit.DayAtRisk, "spend "+day.String(), "less than half", "accept "+day.String())
	w.service.SetNow(worldNow.AddDate(0, 0, 1))
	for range 2 {
		w.sync(exit.Partial, "partial or doubtful: "+day.String(), "accept "+day.String())
	}
	if got := w.ask("SELECT doubt FROM ops.day_coverage WHERE report_date = '%s'", day); got != schema.Doubtful {
		t.Errorf("the day is %s", got)
	}
	if _, err := w.next().Accept(t.Context(), day.String(), false, nil); err != nil {
		t.Fatal(err)
	}
	w.sync(exit.OK, "1 accepted difference ("+day.String()+")")
}

// TestControl_TodayMayLoseMost: if a read of today lost most of it, the last proven read of today stays. That is exit 4
// only if it is older than six hours.
func TestControl_TodayMayLoseMost(t *testing.T) {
	w := newWorld(t)
	w.first()
	rows := w.ask("SELECT count(*) FROM spend_daily WHERE report_date = '%s'", w.today())
	for _, c := range []struct {
		after      time.Duration
		left, code int
	}{{2 * time.Hour, 1, exit.OK}, {5 * time.Hour, 2, exit.Partial}} {
		w.service.ClearFaults()
		w.service.SetNow(w.service.Now().Add(c.after))
		w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Rows: c.left, Query: ofPages,
			Day: w.today().String()})
		w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 400, Query: ofTotals})
		w.sync(c.code, "less than half")
		if got := w.ask("SELECT count(*) FROM spend_daily WHERE report_date = '%s'", w.today()); got != rows {
			t.Errorf("%s rows of today are stored, want %s", got, rows)
		}
	}
}

// countless answers like the service, but removes one count from each row of a day.
type countless struct {
	next   http.RoundTripper
	day    string
	column string
	isNull bool // the count is null; otherwise its key is absent
}

func (c *countless) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	q := r.URL.Query()
	if err != nil || q.Get("start_date") != c.day || !strings.Contains(r.URL.RawQuery, ofPages) {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	member, to := regexp.MustCompile(`,\s*`+valueOf(c.column).String()), ""
	if c.isNull {
		to = `,"` + c.column + `":null`
	}
	body = member.ReplaceAll(body, []byte(to))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// TestControl_CountsThatDoNotCome: an absent count is the same as null. If a read lacks the clicks that the service's
// own sum has, the stored day stays, and a new day is doubtful. If a read lacks other counts that are stored, these
// counts become NULL with a warning. A note holds their number until they come again.
func TestControl_CountsThatDoNotCome(t *testing.T) {
	for _, isNull := range []bool{true, false} {
		t.Run(map[bool]string{true: "null", false: "absent"}[isNull], func(t *testing.T) {
			w := newWorld(t)
			day := w.today() - 1
			lacks := func(column string) {
				w.transport = &countless{w.service.Transport(), day.String(), column, isNull}
			}
			known := func(column string) string {
				return w.ask("SELECT count(%s) FROM spend_daily WHERE report_date = '%s' AND source_id <> ''",
					column, day)
			}
			lacks("clicks")
			w.sync(exit.Partial, "report.day-total.clicks-above")
			w.transport = nil
			w.sync(exit.OK)
			w.wantTruth()

			lacks("clicks")
			w.sync(exit.Partial, "the service's own sum is that of the stored rows")
			w.wantTruth()
			for _, column := range []string{"impressions", "conversions"} {
				lacks(column)
				rows := known(column)
				w.sync(exit.OK)
				if got := known(column); got != "0" {
					t.Errorf("%s of %s rows are known", column, got)
				}
				if log := w.log.String(); !strings.Contains(log, "level=WARN") ||
					!strings.Contains(log, "day="+day.String()+" column="+column+" rows="+rows) {
					t.Errorf("no warning of %s in %s rows:\n%s", column, rows, log)
				}
				w.sync(exit.OK)
				note := "report.lost." + column + "|" + day.String() + ": " + column + " is unknown (NULL) in " + rows
				notes := func() string { return w.ask("SELECT note, message FROM ops.note") }
				if got := notes(); !strings.HasPrefix(got, note+" of ") {
					t.Errorf("notes: %s, want %s", got, note)
				}
				w.transport = nil
				w.sync(exit.OK)
				w.wantTruth()
				if got := notes(); got != "" {
					t.Errorf("notes after the counts came again: %s", got)
				}
			}
		})
	}
}
