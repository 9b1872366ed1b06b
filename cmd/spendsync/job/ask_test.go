package job

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
)

// refuser is a report that refuses a column beside the creatives.
type refuser struct {
	http.RoundTripper
	column  string       // empty: it refuses none
	refused atomic.Int64 // since the last run
}

func (r *refuser) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if q.Get("include_creatives") == "" || !slices.Contains(strings.Split(q.Get("columns"), ","), r.column) {
		return r.RoundTripper.RoundTrip(req)
	}
	r.refused.Add(1)
	return &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		ContentLength: -1, Body: io.NopCloser(strings.NewReader(`{"error":"Unknown column: ` + r.column + `"}`))}, nil
}

// TestAsk_WhatIsRefusedIsAskedForOnceADay: a column that the report refuses is said once, asked for no more by
// later runs, tried again on the next day, and stored as soon as it is given again.
func TestAsk_WhatIsRefusedIsAskedForOnceADay(t *testing.T) {
	w := newWorld(t)
	r := &refuser{RoundTripper: w.service.Transport(), column: "clicks"}
	w.transport = r
	w.rereadAll()
	const known = "SELECT count(clicks) > 0 FROM spend_daily"
	for _, run := range []struct {
		after   time.Duration
		code    int
		says    string
		refused bool // it asked for clicks
		column  string
	}{
		{0, exit.Partial, "the report gives no clicks; stored as unknown (NULL)", true, "clicks"},
		{time.Hour, exit.OK, "the report still gives no clicks", false, "clicks"},
		{time.Hour, exit.OK, "the report still gives no clicks", false, "clicks"},
		{24 * time.Hour, exit.OK, "the report still gives no clicks", true, "clicks"},
		{time.Hour, exit.OK, "the report still gives no clicks", false, "clicks"},
		{time.Hour, exit.OK, "the report still gives no clicks", false, ""}, // nobody asks before the next day
		{24 * time.Hour, exit.OK, "the report gives clicks again", false, ""},
		{time.Hour, exit.OK, "", false, ""},
	} {
		w.service.Advance(run.after)
		r.column = run.column
		r.refused.Store(0)
		res := w.sync(run.code, run.says)
		if got := r.refused.Load() > 0; got != run.refused {
			t.Errorf("asked for what is refused: %v, want %v", got, run.refused)
		}
		gone := strings.Contains(run.says, "no clicks")
		if got := w.ask(known); got != map[bool]string{true: "false", false: "true"}[gone] {
			t.Errorf("clicks are known: %s, though the run says %q", got, res.Run.Message.V)
		}
		if ask := w.account().Ask; gone != slices.Equal(ask.Unknown(), []string{"clicks"}) {
			t.Errorf("kept for the next run: %+v", ask)
		}
		if !gone && strings.Contains(res.Run.Message.V, "gives no") {
			t.Errorf("it says %q", res.Run.Message.V)
		}
	}
	w.wantTruth()
	w.wantVerified()
}

// TestAsk_LeftOutIsSaidOnce: a column that the report leaves out is said once, though the days that go on bring new
// replies without it every time, and the replies of the others are those that are known.
func TestAsk_LeftOutIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	w.rereadAll()
	if err := w.service.SetQuirks("columns-lack-clicks"); err != nil {
		t.Fatal(err)
	}
	w.sync(exit.Partial, "the report gives no clicks")
	for _, after := range []time.Duration{time.Hour, time.Hour, 24 * time.Hour, time.Hour} {
		w.service.Advance(after)
		w.sync(exit.OK, "the report still gives no clicks")
	}
	if err := w.service.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	w.service.Advance(24 * time.Hour)
	w.sync(exit.OK, "the report gives clicks again")
	w.wantTruth()
}

// TestAsk_NothingLearntWithoutAnAnswer: a run that proves no day neither forgets what the report refuses, nor counts
// as the day's trial.
func TestAsk_NothingLearntWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	r := &refuser{RoundTripper: w.service.Transport(), column: "impressions"}
	w.transport = r
	w.rereadAll()
	w.sync(exit.Partial, "the report gives no impressions")
	before := *w.account().Ask
	w.service.Advance(24 * time.Hour)
	r.column = "total_spend"
	w.sync(exit.Contract)
	if after := w.account().Ask; after == nil || after.TriedAt != before.TriedAt ||
		!slices.Equal(after.Without, before.Without) {
		t.Errorf("kept %+v, was %+v", after, before)
	}
	r.column = "impressions"
	w.sync(exit.OK, "the report still gives no impressions")
	if after := w.account().Ask; after.TriedAt <= before.TriedAt {
		t.Errorf("the trial of the next day is not kept: %+v", after)
	}
}

// TestAsk_WhatIsKnownStaysKnown: a column that the report gives no more is unknown in new rows, and no known value of a
// stored row is lost, whatever else of the row changes. When the column is given again, that restates nothing.
func TestAsk_WhatIsKnownStaysKnown(t *testing.T) {
	w := newWorld(t)
	r := &refuser{RoundTripper: w.service.Transport()}
	w.transport = r
	w.rereadAll()
	w.sync(exit.OK)
	clicks := w.ask("SELECT sum(clicks) FROM spend_daily")
	w.service.Advance(24 * time.Hour)
	r.column = "clicks"
	w.sync(exit.Partial, "the report gives no clicks")
	const unknown = "SELECT string_agg(DISTINCT report_date::VARCHAR, ' ') FROM spend_daily WHERE clicks IS NULL"
	if got, want := w.ask(unknown), (w.today()-1).String()+" "+w.today().String(); got != want {
		t.Errorf("clicks are unknown on %s, want those of the days that have new rows, %s", got, want)
	}
	if got := w.ask("SELECT sum(clicks) FROM spend_daily"); got != clicks {
		t.Errorf("%s clicks are known, and %s were", got, clicks)
	}
	w.wantVerified()
	r.column = ""
	w.service.Advance(24 * time.Hour)
	w.sync(exit.OK, "the report gives clicks again")
	if got := w.ask("SELECT count(*) FROM spend_change WHERE old_clicks IS NULL AND op = 'update'"); got != "0" {
		t.Errorf("%s restatements of what was not asked", got)
	}
	w.wantTruth()
	w.wantVerified()
}
