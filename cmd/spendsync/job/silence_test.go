package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// TestSilence checks when days without delivery are proven.
func TestSilence(t *testing.T) {
	days, cents := []schema.Date{20000, 20001}, func(n schema.Money) schema.Null[schema.Money] {
		return schema.Some(n * schema.Dollar / 100)
	}
	for name, c := range map[string]struct {
		of   emptyDays
		says string
	}{
		"no such day":               {emptyDays{isStored: true}, ""},
		"a first load":              {emptyDays{days: days}, "'spendsync repair accept report.empty' says so"},
		"a first load, accepted":    {emptyDays{days: days, rests: true}, ""},
		"a first load of creatives": {emptyDays{days: days, isListed: true}, ""},
		"creatives, where some are stored": {emptyDays{days: days, isStored: true, isListed: true},
			"no other day has delivery"},
		"creatives of an account that spends": {emptyDays{days: days, isListed: true, week: cents(0),
			average: cents(100)}, "while the account's own average daily spend is 1.00"},
		"no row, where some are stored":  {emptyDays{days: days, isStored: true}, "no other day has delivery"},
		"accepted before there were any": {emptyDays{days: days, isStored: true, rests: true}, "no other day has"},
		"beside rows of other days":      {emptyDays{days: days, isStored: true, hasRows: true}, ""},
		"after empty days":               {emptyDays{days: days, isStored: true, rested: true}, ""},
		"beside a day that was emptied":  {emptyDays{days: days, hasRows: true, emptied: days[:1]}, "of 2024-10-04"},
		"an emptied day":                 {emptyDays{emptied: days[:1]}, "rows are stored of 2024-10-04"},
		"an emptied day, beside rows":    {emptyDays{hasRows: true, emptied: days[:1]}, ""},
		"less than half of the average": {emptyDays{days: days, hasRows: true, week: cents(349), average: cents(100)},
			"have 3.49 US dollars, while the account's own average daily spend is 1.00"},
		"less than the average, of a first load": {emptyDays{days: days, week: cents(0), average: cents(100)},
			"spend is 1.00; if the account rests, 'spendsync repair accept report.empty'"},
		"less than the average, accepted": {emptyDays{days: days, rests: true, week: cents(0),
			average: cents(100)}, ""},
		"accepted, and rows have come": {emptyDays{days: days, rests: true, hasRows: true, week: cents(0),
			average: cents(100)}, "average daily spend"},
		"half of the average": {emptyDays{days: days, hasRows: true, week: cents(350), average: cents(100)}, ""},
		"an unknown week":     {emptyDays{days: days, hasRows: true, average: cents(100)}, ""},
	} {
		if got := c.of.silence(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}

// silent makes the service answer every request for the report with no rows, the control totals included.
func (w *world) silent() *world {
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: ofPages})
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Query: ofTotals})
	return w
}

// TestSilence_ProvesNoDay: an empty report proves nothing: not in a first load of an account with spend, and not later,
// when days are stored. The correct report after it makes no restatements.
func TestSilence_ProvesNoDay(t *testing.T) {
	w := newWorld(t).silent()
	w.sync(exit.Partial, "the report is silent")
	if n := len(w.account().Days); n > 0 {
		t.Errorf("%d days are known to be empty", n)
	}
	w.service.ClearFaults()
	w.sync(exit.OK)
	w.wantTruth()
	w.service.Advance(24 * time.Hour)
	w.silent().sync(exit.Partial, "the report is silent", "rows are stored of")
	w.wantTruth(w.today()-2, w.today()-1, w.today())
	w.service.ClearFaults()
	w.sync(exit.OK)
	w.wantTruth()
	if got := w.ask("SELECT count(*) FROM spend_change WHERE op = 'insert'"); got != "0" {
		t.Errorf("%s false restatements", got)
	}
}

// muted is a service that has lost its numbers: the report lists the creatives without delivery, and the control totals
// are empty.
type muted struct{ next http.RoundTripper }

func (m muted) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.next.RoundTrip(req)
	columns := req.URL.Query().Get("columns")
	if err != nil || columns == "" || strings.Contains(columns, "campaign_name") {
		return resp, err
	}
	var reply map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	rows, listed := []any{}, map[any]bool{}
	for _, r := range reply["data"].([]any) {
		row := r.(map[string]any)
		if id := row["creative_id"]; id != nil && !listed[id] {
			listed[id] = true
			rows = append(rows, map[string]any{"date": nil, "campaign_id": row["campaign_id"], "creative_id": id,
				"source_id": nil, "total_spend": 0, "clicks": 0, "impressions": 0, "conversions": 0})
		}
	}
	reply["data"] = rows
	reply["pagination"].(map[string]any)["total_rows"] = len(rows)
	text, err := json.Marshal(reply)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestSilence_OfCreativesWithoutDelivery: a report that lists the creatives but has lost their numbers proves as little
// as a report without rows, however often it is read.
func TestSilence_OfCreativesWithoutDelivery(t *testing.T) {
	w := newWorld(t)
	w.first()
	before := len(w.account().Days)
	w.rereadAll()
	w.transport = muted{w.service.Transport()}
	for range 3 {
		w.sync(exit.Partial, "the report is silent")
		w.service.Advance(time.Minute)
	}
	w.wantTruth(w.today())
	if got := len(w.account().Days); got != before {
		t.Errorf("%d days are stored, want %d", got, before)
	}
	w.transport = nil
	w.sync(exit.OK)
	w.wantTruth()
}

// TestSilence_OfAnAccountThatRests: a person accepts that the account rests, even if the balance states an average
// spend. From then on, empty days are proven. They stay proven after the acceptance is withdrawn, if the balance states
// no spend.
func TestSilence_OfAnAccountThatRests(t *testing.T) {
	w := newWorld(t).silent()
	w.sync(exit.Partial, "average daily spend", "repair accept "+emptyReport)
	for _, undo := range []bool{false, true} {
		none := func(known []string) error { return fmt.Errorf("it is none of %q", known) }
		if _, err := w.next().Accept(t.Context(), emptyReport, undo, none); err != nil {
			t.Fatal(err)
		}
		w.sync(exit.OK)
		if n := len(w.account().Days); n != schema.ReachDays+1 {
			t.Errorf("%d days are known to be empty, want %d", n, schema.ReachDays+1)
		}
		w.rereadAll()
		w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Path: "/v1/balance", Column: "average_daily_spend",
			Value: "0"})
	}
}
