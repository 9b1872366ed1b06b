package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestFault_OnceOnEveryDay lets each fault that passes strike one day of a sync,
// here on its first page, there on its second, once or twice, while one day has an
// unknown key on every row and another its columns in another order (A13, A14). Nothing of it shows
// in what is published.
func TestFault_OnceOnEveryDay(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	w := later(t)
	w.env["RETRY_BUDGET"], w.env["HTTP_TIMEOUT"] = "5s", "1s"
	var passing []pageFault
	for _, f := range pageFaults {
		if f.passes && (f.fault.RetryAfter == "" || f.fault.RetryAfter == "3") {
			passing = append(passing, f)
		}
	}
	for i := range 31 {
		row := passing[i%len(passing)]
		f := row.fault
		f.Day, f.Query, f.Page = w.dayAfter(2+i), "include_creatives=true", max(row.from, 1+i%2)
		f.RetryAfter, f.Times = "", 1+i%2
		if f.Row == paid {
			f.Row = w.paidRow(date(f.Day), f.Page, 20)
		}
		w.service.Fail(f)
	}
	w.service.Fail(adsim.Fault{Kind: adsim.ExtraKey, Row: -1, Column: "brand_new", Value: `{"x":1}`, Day: w.dayAfter(0),
		Query: "include_creatives=true"})
	w.service.Fail(adsim.Fault{
		Kind: adsim.Top, Column: "columns", Day: w.dayAfter(1), Query: "include_creatives=true",
		Value: `["clicks","conversions","impressions","total_spend","source_id","creative_id","campaign_name",` +
			`"campaign_id","date"]`,
	})
	w.must("sync", "--full") // what was archived 32 days ago has other creatives now
	struck := map[string]bool{}
	for _, r := range w.service.Requests() {
		if _, query, ok := strings.Cut(r.Query, "start_date="); ok && r.Fault != "" {
			struck[query[:10]] = true
		}
	}
	if len(struck) != 33 {
		t.Errorf("faults struck %d days, want all 33", len(struck))
	}
	w.service.ClearFaults()
	w.checkTruth()
	w.checkSettings()
	if got := w.ask("SELECT path, sample_type FROM ops.unknown_field WHERE path LIKE " +
		"'%brand_new%'"); got != "data[].brand_new|object" {
		t.Errorf("ops.unknown_field = %s", got)
	}
	if got := w.ask("SELECT max(attempts) > 1 AND sum(CASE WHEN outcome = 'stored' THEN 1 END) = 33 FROM ops.step " +
		"WHERE _run_id = (SELECT max(_run_id) FROM ops.run)"); got != "true" {
		t.Errorf("ops.step does not tell of the attempts: %s", got)
	}
}

// dayAfter is n days after the first of the reach.
func (w *world) dayAfter(n int) string { return fmt.Sprint(w.today() - 32 + schema.Date(n)) }

// TestFault_OnTheControlTotal: without its total a day that is stored is not
// replaced, and one that is not is stored and the run reports it.
func TestFault_OnTheControlTotal(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	const totals = "columns=date,total_spend,clicks"
	w := later(t)
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Query: totals})
	days := []string{"backfill", "--from", "2026-03-14", "--to", w.service.Today()}
	if code, _, last := w.runLogged(days...); code != exit.Partial && code != exit.DayAtRisk ||
		!strings.Contains(last, "32 days of 32 planned proven") || !strings.Contains(last, "control total") {
		t.Errorf("first sync: exit %d: %s", code, last)
	}
	if got := w.ask("SELECT control_total_state, count(*) FROM ops.day_coverage WHERE report_date > '2026-03-13' " +
		"GROUP BY 1 ORDER BY 1"); got != "open|1\nunknown|31" {
		t.Errorf("control totals: %s", got)
	}
	was := w.published()
	for _, tc := range []struct {
		id    string
		fault adsim.Fault
		code  int
		says  string
	}{
		{"A1", adsim.Fault{Kind: adsim.Cut}, exit.Unreachable, "cut off"},
		{"A2", adsim.Fault{Kind: adsim.Trailing}, exit.Contract, "after the end"},
		{"A3", adsim.Fault{Kind: adsim.HTML}, exit.Unreachable, "Be right back"},
		{"A4", adsim.Fault{Kind: adsim.Null}, exit.Contract, "the reply is null"},
		{"A15", adsim.Fault{Kind: adsim.RepeatKey, Column: "total_spend", Value: "1"}, exit.Contract,
			",1]: not a number"},
		{"A17", adsim.Fault{Kind: adsim.WrongType, Row: -1, Column: "clicks", Value: "-3"}, exit.Contract, "clicks -3"},
		{"A18", adsim.Fault{Kind: adsim.WrongType, Row: -1, Column: "total_spend", Value: "1e400"}, exit.Contract,
			"total_spend"},
		{"A25", adsim.Fault{Kind: adsim.Status, Status: 401}, exit.Unreachable, "Incorrect username or password"},
		{"A26", adsim.Fault{Kind: adsim.Status, Status: 403}, exit.Unreachable, "status 403"}, // its rows came
		{"A28", adsim.Fault{Kind: adsim.Status, Status: 503}, exit.Unreachable, "status 503"},
		{"A30", adsim.Fault{Kind: adsim.Stall}, exit.Unreachable, "no complete reply within"},
		{"A31", adsim.Fault{Kind: adsim.Status, Status: 301, Location: "//evil.test"}, exit.Contract,
			"redirects are not followed"},
		{"A36", adsim.Fault{Kind: adsim.OtherDay, Row: -1, Value: "2026-01-01"}, exit.Contract,
			"outside of what was asked"},
	} {
		w.service.ClearFaults()
		tc.fault.Query = totals
		w.service.Fail(tc.fault)
		if tc.id == "A30" {
			w.env["HTTP_TIMEOUT"] = "200ms"
		}
		code, _, last := w.runLogged("backfill", "--from", "2026-03-20", "--to", "2026-03-20")
		if code != tc.code || !strings.Contains(last, tc.says) || !strings.Contains(last, "control total") {
			t.Errorf("%s: exit %d, want %d and %q: %s", tc.id, code, tc.code, tc.says, last)
		}
		w.wantUnchanged(tc.id, was, w.published())
	}
}

// TestFault_ATotalThatDiffers: a total that differs in the same way twice informs; it
// keeps no day from being stored, and vouches for what is stored.
func TestFault_ATotalThatDiffers(t *testing.T) { // A6
	t.Parallel()
	w := later(t)
	w.must("sync")
	day := w.dayAfter(20)
	read := []string{"backfill", "--from", day, "--to", day}
	rows := w.ask("SELECT * EXCLUDE (_run_id, _changed_at) FROM spend_daily ORDER BY ALL")
	w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Row: -1, Column: "clicks", Value: "3",
		Query: "columns=date,total_spend,clicks"})
	for range 2 {
		if code, _, last := w.runLogged(read...); code != exit.Partial ||
			!strings.Contains(last, "the service's own total differs on 1 day, such as "+day) {
			t.Errorf("exit %d: %s", code, last)
		}
		if got := w.ask("SELECT control_total_state, control_clicks, clicks > 3 FROM ops.day_coverage WHERE " +
			"report_date = '" + day + "'"); got != "differs|3|true" {
			t.Errorf("coverage: %s", got)
		}
	}
	if w.ask("SELECT * EXCLUDE (_run_id, _changed_at) FROM spend_daily ORDER BY ALL") != rows {
		t.Error("other rows are stored")
	}
	// The day keeps following its rows.
	if _, err := w.service.Restate(day, adsim.Restatement{Kind: "multiply", Percent: 104}); err != nil {
		t.Fatal(err)
	}
	if code, _, last := w.runLogged(read...); code != exit.OK || !strings.Contains(last, "1 changed") ||
		!strings.Contains(last, "1 standing note") {
		t.Errorf("restated: exit %d: %s", code, last)
	}
	w.service.ClearFaults()
	w.must(read...)
	w.checkTruth()
	// Rows that go missing while the total stays are not believed, however often.
	rows = w.ask("SELECT * EXCLUDE (_run_id, _changed_at) FROM spend_daily ORDER BY ALL")
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Rows: 40, Query: "include_creatives=true", Day: day})
	for range 2 {
		if code, _, last := w.runLogged(read...); code == exit.OK ||
			!strings.Contains(last, "the service's own sum is") {
			t.Errorf("rows missing: exit %d: %s", code, last)
		}
	}
	if w.ask("SELECT * EXCLUDE (_run_id, _changed_at) FROM spend_daily ORDER BY ALL") != rows {
		t.Error("rows that went missing were taken away")
	}
}

// cell is a fault of one question about the settings.
type cell struct {
	id    string
	path  string // below the API's prefix; %s is the campaign
	fault adsim.Fault
	says  string // in ops.entity_read
}

// TestFault_OnTheSettings lets many faults strike the settings of a stored account in
// one run, each another part: what fails is named, and everything keeps its version.
func TestFault_OnTheSettings(t *testing.T) {
	schematest.Long(t)
	from := syncedStore(t)
	const campaign, creatives, sources = "/v1/campaigns/%s", "/v1/campaigns/%s/creatives", "/v1/campaigns/%s/sources"
	for name, tc := range map[string]struct {
		code  int
		cells []cell
	}{
		"forms": {exit.Partial, []cell{
			{"A3", campaign, adsim.Fault{Kind: adsim.HTML}, "the reply is not JSON"},
			{"A4", creatives, adsim.Fault{Kind: adsim.Body, Value: "{}"}, "no list of creatives"},
			{"A4", sources, adsim.Fault{Kind: adsim.Null}, "the reply is null"},
			{"A2", campaign, adsim.Fault{Kind: adsim.Trailing}, "after the end of the reply"},
			{"A4", creatives, adsim.Fault{Kind: adsim.Empty}, "the reply is empty"},
			{"A15", sources, adsim.Fault{Kind: adsim.Body, Value: `{"mode":1,"mode":2}`}, "is there twice"},
			{"A22", campaign, adsim.Fault{Kind: adsim.Body, Value: "{\"id\":\"\xff\"}"}, "is no campaign ID"},
			{"A41", creatives, adsim.Fault{Kind: adsim.WrongType, Column: "id", Value: `"../../x"`},
				"is no creative ID"},
			{"A31", sources, adsim.Fault{Kind: adsim.Status, Status: 308, Location: "https://evil.test"},
				"redirects are not followed"},
			{"A36", campaign, adsim.Fault{Kind: adsim.Body, Value: `{"id":"C7777777"}`},
				"the reply is about campaign C7777777"},
			{"A29", creatives, adsim.Fault{Kind: adsim.Status, Status: 400}, "status 400"},
			{"A44", sources, adsim.Fault{Kind: adsim.Body, Status: 404, Value: "\x00\xff"}, "status 404"},
			{"A3", "/v1/limits", adsim.Fault{Kind: adsim.HTML}, "the reply is not JSON"},
			{"A20", "/v1/balance", adsim.Fault{Kind: adsim.Body, Value: `"12.50"`}, "type string"},
		}},
		"values": {exit.Partial, []cell{
			{"A20", campaign, adsim.Fault{Kind: adsim.WrongType, Column: "default_bid", Value: `"0,25"`},
				"default_bid"},
			{"A1", sources, adsim.Fault{Kind: adsim.Cut}, "cut off"},
			{"A18", campaign, adsim.Fault{Kind: adsim.WrongType, Column: "daily_spend_limit", Value: "1e400"},
				"daily_spend_limit"},
			{"A30", sources, adsim.Fault{Kind: adsim.Stall}, "no complete reply"},
			{"A22", campaign, adsim.Fault{Kind: adsim.WrongType, Column: "name", Value: `["x"]`}, "name"},
			{"A28", "/v1/balance", adsim.Fault{Kind: adsim.Status, Status: 500}, "status 500"},
			{"A17", campaign, adsim.Fault{Kind: adsim.WrongType, Column: "default_bid", Value: "-1"}, "default_bid"},
			{"A28", "/v1/limits", adsim.Fault{Kind: adsim.Status, Status: 500}, "status 500"},
		}},
		"list that lies": {exit.Partial, []cell{{"A6", "/v1/campaigns", adsim.Fault{Kind: adsim.Drop},
			"that the service tells of"}}},
		"me/odd": {exit.Partial, []cell{{"A4", "/v1/me", adsim.Fault{Kind: adsim.Body, Value: "{}"},
			"account"}}},
		"key refused": {exit.Auth, []cell{{"A25", "/v1/me", adsim.Fault{Kind: adsim.Status, Status: 401}, ""}}},
		"part refused": {exit.Partial, []cell{{"A26", sources, adsim.Fault{Kind: adsim.Status, Status: 403},
			"status 403"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inProcess(t, from)
			w.env["HTTP_TIMEOUT"] = "1s"
			was, versions := w.proven(), w.versions()
			const snapshots = "SELECT * FROM account_snapshot WHERE advertiser_id IS NOT NULL"
			named := w.ask(snapshots)
			var due []string
			for _, id := range w.service.CampaignIDs() {
				if s, _ := w.service.Settings(id); s.Status != "archived" {
					due = append(due, id)
				}
			}
			for i, c := range tc.cells {
				f := c.fault
				if f.Path = c.path; strings.Contains(c.path, "%s") {
					f.Path = fmt.Sprintf(c.path, due[i/max(1, len(tc.cells)/len(due))%len(due)])
				}
				w.service.Fail(f)
			}
			code, _, last := w.runLogged("sync")
			if code != tc.code || !strings.Contains(last, "3 days of 3 planned proven") {
				t.Errorf("exit %d, want %d: %s", code, tc.code, last)
			}
			read := w.ask("SELECT entity_type || ' ' || entity_id || ': ' || coalesce(message, '') FROM " +
				"ops.entity_read WHERE read_state IN ('failed', 'incomplete', 'unreadable')")
			for _, c := range tc.cells {
				if c.says != "" && !strings.Contains(read, c.says) {
					t.Errorf("%s: ops.entity_read lacks %q: %s", c.id, c.says, read)
				}
			}
			w.wantNoCanary(name, read)
			is := w.proven()
			if name == "me/odd" { // the balance and the limits are read all the same, beside no name
				isSnapshot := func(path, _ string) bool { return strings.Contains(path, "/account_snapshot/") }
				maps.DeleteFunc(was, isSnapshot)
				maps.DeleteFunc(is, isSnapshot)
			}
			if got := w.ask(snapshots); got != named {
				t.Errorf("snapshots of a named account:\n%s\nand were\n%s", got, named)
			}
			w.wantUnchanged(name, was, is)
			if got := w.versions(); got != versions {
				t.Errorf("versions = %s, were %s", got, versions)
			}
			if name == "list that lies" {
				w.run("sync") // absent twice, and yet not deleted: the listing was not whole
				if got := w.versions(); got != versions {
					t.Errorf("after a second run: versions = %s, were %s", got, versions)
				}
			}
			if name == "forms" {
				w.service.ClearFaults()
				w.must("sync")
				w.checkSettings()
				w.wantUnchanged(name, was, w.proven())
			}
		})
	}
}
