package job

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// ofPaid, as the row of a fault, stands for a row with spend; ofPaid-1 stands for the row before it.
const ofPaid = 1000

// pageFaults affect the second of three pages of a stored day, in each read. The run refuses the page with the given
// exit code and cause, and the stored day stays; exit.OK: the fault has no effect. Faults of values in a row are in
// rowDamages.
var pageFaults = []struct {
	name  string
	fault adsim.Fault
	code  int
	says  string
}{
	{"cut/length", adsim.Fault{Kind: adsim.Cut}, exit.Unreachable, "the reply was cut off"},
	{"cut/chunked", adsim.Fault{Kind: adsim.Cut, Chunked: true, After: 100}, exit.Unreachable, "the reply was cut off"},
	{"cut/reset", adsim.Fault{Kind: adsim.Reset, After: 300}, exit.Unreachable, "connection reset"},
	{"body/second object", adsim.Fault{Kind: adsim.Trailing}, exit.Contract, "after the end of the reply"},
	{"body/html", adsim.Fault{Kind: adsim.HTML}, exit.Contract, "Be right back"},
	{"body/html 502", adsim.Fault{Kind: adsim.HTML, Status: 502}, exit.Unreachable, "status 502"},
	{"body/null", adsim.Fault{Kind: adsim.Body, Value: "null"}, exit.Contract, "the reply is null"},
	{"body/empty", adsim.Fault{Kind: adsim.Body}, exit.Unreachable, "the reply is empty"},
	{"body/empty object", adsim.Fault{Kind: adsim.Body, Value: "{}"}, exit.Contract, "no columns"},
	{"body/array", adsim.Fault{Kind: adsim.Body, Value: "[1]"}, exit.Contract, "type array, not an object"},
	{"body/no data", adsim.Fault{Kind: adsim.Top, Column: "data", Value: "null"}, exit.Contract,
		"data is of type null"},
	{"body/other case", adsim.Fault{Kind: adsim.Body, Value: `{"Columns":[],"Data":[],"Pagination":{}}`}, exit.Contract,
		"no columns"},
	{"rows/one came before", adsim.Fault{Kind: adsim.Shift, Rows: 1}, exit.OK, ""},
	{"rows/one went before", adsim.Fault{Kind: adsim.Shift, Rows: -1}, exit.OK, ""},
	{"rows/one left out", adsim.Fault{Kind: adsim.Drop, Row: 3}, exit.OK, ""},
	{"rows/one twice, one left out", adsim.Fault{Kind: adsim.Duplicate, Row: ofPaid - 1, InPlace: true}, exit.OK, ""},
	{"rows/one twice, of other measures", adsim.Fault{Kind: adsim.Duplicate, Row: 3, InPlace: true, Other: true},
		exit.OK, ""},
	{"rows/none", adsim.Fault{Kind: adsim.Top, Column: "data", Value: "[]"}, exit.OK, ""},
	{"rows/another day", adsim.Fault{Kind: adsim.OtherDay, Row: ofPaid}, exit.Contract, "not the day asked for"},
	{"columns/one missing", adsim.Fault{Kind: adsim.Top, Column: "columns", Value: `["date","campaign_id"]`},
		exit.Contract, "the columns lack creative_id"},
	{"columns/one twice", adsim.Fault{Kind: adsim.Top, Column: "columns", Value: `["date","date"]`}, exit.Contract,
		`column "date" is there twice`},
	{"rows/another total", adsim.Fault{Kind: adsim.Total}, exit.Contract, "total changed from"},
	{"rows/another page", adsim.Fault{Kind: adsim.Top, Column: "page", Value: "7"}, exit.Contract,
		"pagination.page is 7"},
	{"rows/beside an error", adsim.Fault{Kind: adsim.Top, Column: "error", Value: `"shard 3 failed"`},
		exit.Contract, "shard 3 failed"},
	{"rows/not all", adsim.Fault{Kind: adsim.Top, Column: "incomplete_results", Value: "true"}, exit.Contract,
		"incomplete_results"},
	{"currency/of all rows", adsim.Fault{Kind: adsim.Top, Column: "currency", Value: `"EUR"`}, exit.Contract, "EUR"},
	{"currency/of a row", adsim.Fault{Kind: adsim.ExtraKey, Column: "currency", Value: `"EUR"`}, exit.Contract, "EUR"},
	{"status/401 after 200", adsim.Fault{Kind: adsim.Status, Status: 401}, exit.Auth, "status 401"},
	{"status/403 after 200", adsim.Fault{Kind: adsim.Status, Status: 403}, exit.Auth, "status 403"},
	{"status/429", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "40"}, exit.Unreachable, "status 429"},
	{"status/500", adsim.Fault{Kind: adsim.Status, Status: 500}, exit.Unreachable, "request ID: req_"},
	{"status/redirect", adsim.Fault{Kind: adsim.Status, Status: 302, Location: "https://evil.test/"}, exit.Contract,
		`leads to host "evil.test"`},
	{"status/no form", adsim.Fault{Kind: adsim.Body, Status: 500, Value: "\x00\x1b[31m\xff{]"}, exit.Unreachable,
		"status 500"},
	{"status/a long text", adsim.Fault{Kind: adsim.Body, Status: 418, Value: strings.Repeat("teapot ", 1<<18)},
		exit.Contract, "status 418"},
}

// TestFault_OnAPageOfTheReport: as long as a fault lasts, the stored days do not change. After the fault, one sync
// stores the service's rows.
func TestFault_OnAPageOfTheReport(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 60 })
	w.job.Plan.PageSize = 20
	w.first()
	day := schema.NewDate(2026, 3, 8)
	paid, n := 0, 0
	for l := range w.service.Truth(day.String()) {
		if n++; n > 20 && n <= 40 && l.Spend > 0 && l.Clicks > 0 {
			paid = n - 21
		}
	}
	if n <= 40 || n > 60 {
		t.Fatalf("%d rows do not make three pages", n)
	}
	was := w.account().Days[day].ContentHash
	for _, c := range pageFaults {
		f := c.fault
		f.Day, f.Page, f.Query = day.String(), 2, "include_creatives=true"
		if f.Row >= ofPaid-1 {
			f.Row = paid + f.Row - ofPaid
		}
		w.service.ClearFaults()
		w.service.Fail(f)
		res, err := w.next().Backfill(t.Context(), day, day)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		says := res.Run.Message.V
		if res.Run.ExitCode != int64(c.code) || !strings.Contains(says, c.says) {
			t.Errorf("%s: exit %d, want %d and %q: %.400s", c.name, res.Run.ExitCode, c.code, c.says, says)
		}
		if len(says) > 3000 || strings.ContainsAny(says, "\x00\x1b") {
			t.Errorf("%s: no sentence for people: %.200q", c.name, says)
		}
		if is := w.account().Days[day]; is.ContentHash != was || is.Refused > 0 {
			t.Fatalf("%s: the stored day is another", c.name)
		}
	}
	w.service.ClearFaults()
	w.rereadAll()
	w.sync(exit.OK)
	w.wantTruth()
}

// TestSync_RefusedUserIsSaidOnce: a refused user is reported once. The days that were canceled because of the refusal
// are not reported.
func TestSync_RefusedUserIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	const says = "User account not confirmed."
	w.service.Fail(adsim.Fault{Kind: adsim.Body, Status: 403, Path: "/ads/spend-report",
		Value: `{"error":"` + says + `"}`})
	m := w.sync(exit.Auth, says).Run.Message.V
	if strings.Contains(m, "canceled") || strings.Contains(m, " more:") || strings.Count(m, "403") != 1 {
		t.Errorf("the run says %s", m)
	}
}

// TestSync_CredentialsRefusedInMidRun: a run whose key or user is refused after answers ends with the exit code for
// credentials, and publishes what it has read. It sends its other requests only if the refusal is about a single
// question.
func TestSync_CredentialsRefusedInMidRun(t *testing.T) {
	const refusal = `{"error":{"code":"unauthorized","message":"the key has expired"}}`
	w, e := missingWorld(t, func(c *adsim.Config) { c.Campaigns = 30 })
	w.rereadAll()
	var asked, refused atomic.Int64
	one := ""
	e.edit = func(path, body string) (int, string) {
		if asked.Add(1) > 10 {
			refused.Add(1)
			return 401, refusal
		}
		return 0, body
	}
	res := w.sync(exit.Auth, "days of 33 planned proven", "status 401", "the key has expired")
	if !res.Run.Published || !errors.Is(res.Cause, extract.ErrAuth) || refused.Load() > 40 {
		t.Errorf("published %t, %d refusals, because %v", res.Run.Published, refused.Load(), res.Cause)
	}
	w.wantTruth()
	e.edit = func(path, body string) (int, string) {
		if strings.HasPrefix(path, "campaigns/"+one) {
			return 403, refusal
		}
		return 0, body
	}
	one = w.ask("SELECT max(campaign_id) FROM campaign_history WHERE is_current AND status <> 'archived'")
	w.sync(exit.Auth, "campaign "+one)
	if got := w.ask("SELECT string_agg(DISTINCT entity_id) FROM ops.entity_read"); got != one {
		t.Errorf("unread: %s, want only the refused %s", got, one)
	}
	e.edit = nil
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 403, Day: (w.today() - 9).String(),
		Query: "include_creatives=true"})
	w.sync(exit.Auth, "32 days of 33 planned proven", "status 403")
	w.service.ClearFaults()
	w.wantWell(e, 0)
}
