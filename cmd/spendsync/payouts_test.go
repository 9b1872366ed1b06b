package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestPayouts_BecomeATableWithHistory: the operator's file is read by a sync, changes of
// it make versions, and revenue follows. A file with a bad line costs nothing of the sync: it
// ends with 4, names the line, and the payouts that are stored stand.
func TestPayouts_BecomeATableWithHistory(t *testing.T) {
	w := newWorld(t, small)
	path := filepath.Join(t.TempDir(), "payouts.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("from,to,campaign,creative,source,payout\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sync := func(code int, says string) {
		t.Helper()
		w.service.Advance(time.Minute)
		w.wantRun(code, says, "sync")
	}
	sync(exit.OK, "")
	w.wantAnswer("0", "SELECT count(*) FROM payout_history")
	w.wantAnswer("true", "SELECT count(*) > 0 AND count(revenue) = 0 FROM mart.campaign_performance WHERE spend > 0")

	w.env["PAYOUTS"] = path
	write("2026-01-01,,,,,10.5\n")
	w.wantPayoutsChecked(exit.OK, path+": 1 line")
	sync(exit.OK, "")
	w.wantAnswer("true", "SELECT round(sum(revenue) - 10.5 * sum(conversions), 6) = 0 AND "+
		"sum(conversions) > 0 AND round(sum(profit) - sum(revenue) + sum(spend), 6) = 0 FROM (SELECT "+
		"conversions_value AS revenue, conversions, spend, conversions_value - spend::DOUBLE AS profit "+
		"FROM mart.campaign_report)")
	for key, cells := range pageCells(t, w.report())["a1-campaigns-1"] {
		if strings.HasSuffix(key, " campaigns") {
			continue // the sums
		}
		w.wantAnswer(cells["Profit"], "SELECT profit FROM mart.campaign_performance WHERE campaign_id = '"+key+"'")
	}
	sync(exit.OK, "")
	w.wantAnswer("1", "SELECT count(*) FROM payout_history")

	write("2026-01-01,,,,,10.5\n2026-13-01,,,,S1,1\n2026-01-01,,,,S2,ten\n")
	w.wantPayoutsChecked(exit.Usage,
		path+`: line 3: from "2026-13-01" is not a day, for example 2026-11-20; line 4: payout "ten"`)
	sync(exit.Partial, `line 3: from "2026-13-01" is not a day, for example 2026-11-20; line 4: payout "ten"`)
	w.wantAnswer("10.500000", "SELECT payout FROM payout")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	sync(exit.Partial, path)
	w.wantAnswer("10.500000", "SELECT payout FROM payout")

	write("2026-01-01,,,,,12\n")
	sync(exit.OK, "")
	w.wantAnswer("1|10.500000|first_seen\n2|12.000000|changed",
		"SELECT version_no, payout, change_type FROM payout_history ORDER BY 1")
	write("")
	sync(exit.Partial, "a file without payouts ends none")
	w.wantAnswer("12.000000", "SELECT payout FROM payout")
	write("2026-01-01,,C999,,,9\n")
	sync(exit.Partial, "the account has no campaign C999")
	w.wantAnswer("1|C999", "SELECT count(*), any_value(campaign_id) FROM payout")
	w.wantAnswer("deleted", "SELECT change_type FROM payout_history WHERE is_current AND campaign_id = ''")
	w.must("verify")
	before := w.ask("FROM payout_history ORDER BY ALL")
	w.must("rebuild")
	w.wantAnswer(before, "FROM payout_history ORDER BY ALL")
}

// wantPayoutsChecked wants check to read the file as a sync would.
func (w *world) wantPayoutsChecked(code int, says string) {
	w.t.Helper()
	if got, lines, _ := w.check(); got != code || !strings.Contains(lines["payouts"].Found, says) {
		w.t.Errorf("check: exit %d, want %d: %+v\ndoes not say %s", got, code, lines["payouts"], says)
	}
}

// wantRun wants an exit code of a command and a text in its last line.
func (w *world) wantRun(code int, says string, args ...string) {
	w.t.Helper()
	if got, _, last := w.run(args...); got != code || !strings.Contains(last, says) {
		w.t.Errorf("%v: exit %d, want %d: %s\ndoes not say %s", args, got, code, last, says)
	}
}

func (w *world) wantAnswer(want, question string) {
	w.t.Helper()
	if got := w.ask(question); got != want {
		w.t.Errorf("%s\ngives %s\nwant  %s", question, got, want)
	}
}

// exportWorld is a world with a file of a tracker's export, and campaigns and a source of the account.
type exportWorld struct {
	*world
	path                    string
	campaign, other, source string
}

func newExportWorld(t *testing.T, withMarts bool) *exportWorld {
	w := &exportWorld{world: newWorld(t, func(c *adsim.Config) { c.Campaigns, c.RowsPerDay = 4, 40 }),
		path: filepath.Join(t.TempDir(), "tracker.csv")}
	if !withMarts {
		w.withoutMarts()
	}
	w.service.SetNow(time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC))
	w.must("sync")
	ids := strings.Split(w.ask("SELECT DISTINCT campaign_id FROM spend_daily ORDER BY 1"), "\n")
	w.campaign, w.other = ids[0], ids[1]
	w.source = w.ask("SELECT min(source_id) FROM spend_daily WHERE source_id <> ''")
	w.env["PAYOUTS"] = w.path
	return w
}

// write writes the export. C, D and S stand for campaigns and the source of the account.
func (w *exportWorld) write(text string) {
	w.t.Helper()
	text = strings.NewReplacer("{C}", w.campaign, "{D}", w.other, "{S}", w.source).Replace(text)
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// sync runs a sync later, with the export.
func (w *exportWorld) sync(later time.Duration, code int, says string) {
	w.t.Helper()
	w.service.Advance(later)
	w.wantRun(code, says, "sync")
}

// stored returns the stored days with their rows and revenue.
func (w *exportWorld) stored() string {
	w.t.Helper()
	return w.ask("SELECT report_date, count(*), sum(clicks), sum(revenue) FROM tracker_daily GROUP BY ALL ORDER BY ALL")
}

// TestPayouts_ExportReplacesItsDays: a tracker's export beside the payouts becomes rows; a newer one replaces the days
// that it has, and the same one changes nothing. A bad line is set aside and named.
func TestPayouts_ExportReplacesItsDays(t *testing.T) {
	w := newExportWorld(t, false)
	payouts := filepath.Join(t.TempDir(), "payouts.csv")
	if err := os.WriteFile(payouts, []byte("from,payout\n2026-01-01,10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all = "SELECT report_date, clicks, conversions, approved, held, refused, revenue FROM tracker_daily " +
		"ORDER BY ALL"
	w.env["PAYOUTS"] = payouts + "," + w.path
	w.env["TRACKER_COLUMNS"] = "day=Date,campaign=Custom 1,source=Site,state=Status,conversions=Conv,revenue=Rev"
	w.write("Date;Custom 1;Site;Status;Conv;Rev;ROI\n2026-11-18;{C};{S};approved;2;19.5;1\n" +
		"2026-11-18;{C};{S};hold;1;9.75;1\n2026-11-19;{C};{S};rejected;1;9.75;1\n")
	w.wantPayoutsChecked(exit.OK, "1 line of payouts; a tracker's export of 3 rows from 2026-11-18 to 2026-11-19")
	w.sync(time.Minute, exit.OK, "")
	first := "2026-11-18|NULL|3|2|1|0|19.500000\n"
	w.wantAnswer(first+"2026-11-19|NULL|1|0|0|1|0.000000", all)
	w.wantAnswer("10.000000", "SELECT payout FROM payout")

	w.write("Date;Custom 1;Site;Status;Conv;Rev;ROI\n2026-11-19;{C};{S};approved;1;9.75;1\n2026-11-32;;;;;;\n" +
		"Total;;;;4;29.25;1\n")
	w.sync(time.Minute, exit.Partial, `tracker.csv: line 3: column Date: "2026-11-32" is not a day`)
	w.wantAnswer(first+"2026-11-19|NULL|1|1|0|0|9.750000", all)
	w.wantAnswer("tracker|3|day\ntracker|4|", "SELECT stream, row_number, field FROM ops.refused_row ORDER BY ALL")
	runs := w.ask("SELECT report_date, _run_id FROM tracker_daily ORDER BY ALL")
	w.wantAnswer("2", "SELECT count(DISTINCT _run_id) FROM tracker_daily")

	w.write("Date;Custom 1;Site;Status;Conv;Rev;ROI\n2026-11-19;{C};{S};approved;1;9.75;1\n" +
		"2026-11-18;{C};{S};approved;2;19.5;1\n2026-11-18;{C};{S};hold;1;9.75;1\n")
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer(runs, "SELECT report_date, _run_id FROM tracker_daily ORDER BY ALL")
	w.must("verify")
	w.must("rebuild")
	w.wantAnswer(first+"2026-11-19|NULL|1|1|0|0|9.750000", all)
}

// TestPayouts_ShrunkDaysAreHeld: the end of a file is not believed. A stored day that would lose rows or revenue stands
// and ends the sync in 4; it is replaced when another day's export has the same, or by accept.
func TestPayouts_ShrunkDaysAreHeld(t *testing.T) {
	w := newExportWorld(t, false)
	const head, day18 = "date,campaign,source,clicks,revenue\n", "2026-11-18,{C},{S},9,20\n2026-11-18,{D},{S},5,10.50\n"
	w.write(head + day18 + "2026-11-19,{C},{S},7,7105.00\n")
	w.sync(time.Minute, exit.OK, "")
	whole := "2026-11-18|2|14|30.500000\n2026-11-19|1|7|7105.000000"
	w.wantAnswer(whole, "SELECT report_date, count(*), sum(clicks), sum(revenue) FROM tracker_daily GROUP BY ALL "+
		"ORDER BY ALL")

	cut := head + day18 + "2026-11-19,{C},{S},7,71" // cut in its last number
	w.write(cut)
	w.sync(time.Hour, exit.Partial, "the tracker's day 2026-11-19 would lose 7034.00 of its revenue of 7105.00, "+
		"at the "+
		"edge of the export: it is held")
	if got := w.stored(); got != whole {
		t.Errorf("a cut file is stored: %s", got)
	}
	w.sync(24*time.Hour, exit.Partial, "2026-11-19 would lose") // the same file on another day proves nothing
	w.write(head + "2026-11-18,{C},{S},9,20\n2026-11-19,{C},{S},7,7105.00\n")
	w.sync(time.Hour, exit.Partial, "2026-11-18 would lose 1 of its 2 rows and 10.50 of its revenue")
	if got := w.stored(); got != whole {
		t.Errorf("a capped export is stored: %s", got)
	}
	w.write(head + "2026-11-18,{C},{S},9,20\n2026-11-19,{C},{S},7,7105.00\n2026-11-20,{C},{S},1,1\n")
	w.sync(time.Hour, exit.Partial, "2026-11-18 would lose") // another file, and the same day
	w.sync(24*time.Hour, exit.OK, "")
	if got := w.stored(); !strings.HasPrefix(got, "2026-11-18|1|9|20.000000\n2026-11-19|1|7|"+
		"7105.000000\n2026-11-20|1") {
		t.Errorf("what two days' exports have is not stored: %s", got)
	}

	w.write(head + "2026-11-19,{C},{S},7,6000\n2026-11-20,{C},{S},1,1\n")
	w.sync(time.Hour, exit.Partial, "2026-11-19 would lose 1105.00")
	note := w.ask("SELECT max_by(note, last_seen_at) FROM ops.note WHERE note LIKE 'tracker.held.2026-11-19.%'")
	w.must("accept", note)
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer("6000.000000", "SELECT sum(revenue) FROM tracker_daily WHERE report_date = '2026-11-19'")
	// What was replaced is kept, growth and losses alike.
	w.wantAnswer("2026-11-18|5|NULL|10.500000|NULL|delete|tracker.csv\n"+
		"2026-11-19|7|7|7105.000000|6000.000000|update|tracker.csv",
		"SELECT report_date, old_clicks, new_clicks, old_revenue, new_revenue, op, file FROM tracker_change "+
			"ORDER BY ALL")
	w.write(head + "2026-11-20,{C},{S},3,2\n2026-11-20,{D},{S},4,5\n")
	w.sync(time.Hour, exit.OK, "")
	w.wantAnswer("1|3|update\nNULL|4|insert", "SELECT old_clicks, new_clicks, op FROM tracker_change "+
		"WHERE report_date = '2026-11-20' ORDER BY ALL")
	w.sync(time.Hour, exit.OK, "")
	w.wantAnswer("4", "SELECT count(*) FROM tracker_change")
	w.must("verify")
}

// TestPayouts_OtherIDsAreRefused: of an export with the tracker's own IDs nothing is stored, and the message names the
// column that fits.
func TestPayouts_OtherIDsAreRefused(t *testing.T) {
	w := newExportWorld(t, true)
	before := w.ask("FROM mart.revenue")
	text := "Day,Campaign ID,Custom variable 1,Custom variable 2,Visits,Revenue\n" +
		"2026-11-18,0b6f1d2c-3d51-4d7e-9d3f-6b1f2a7c9e10,{S},{C},1500,240.5\n"
	w.env["TRACKER_COLUMNS"] = "day=Day,campaign=Campaign ID,source=Custom variable 1,clicks=Visits,revenue=Revenue"
	w.write(text)
	const says = "0 of 1 rows are of campaigns of this account, 0 of 1 campaigns match"
	w.wantPayoutsChecked(exit.Usage, says)
	w.wantPayoutsChecked(exit.Usage, "column Custom variable 2 fits: SPENDSYNC_TRACKER_COLUMNS with "+
		"campaign=Custom variable 2")
	w.sync(time.Minute, exit.Partial, says)
	w.wantAnswer("0", "SELECT count(*) FROM tracker_daily")
	w.wantAnswer(before, "FROM mart.revenue")
	w.env["TRACKER_COLUMNS"] = "day=Day,campaign=Custom variable 2,source=Campaign ID,clicks=Visits,revenue=Revenue"
	w.sync(time.Minute, exit.Partial, "0 of 1 sources match")
	w.wantAnswer("0", "SELECT count(*) FROM tracker_daily")
	w.env["TRACKER_COLUMNS"] = "day=Day,campaign=Custom variable 2,source=Custom variable 1,clicks=Visits," +
		"revenue=Revenue"
	w.wantPayoutsChecked(exit.OK, "1 of 1 rows are of campaigns of this account, 1 of 1 campaigns match")
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer("240.500000", "SELECT sum(revenue) FROM tracker_daily")
}

// TestPayouts_WhatStaysWrongIsPublishedOnce: a file that stays wrong ends every sync in 4, and costs no generation and
// no refused line but the first. ops.run has the exit code of each run, and a mended file ends it.
func TestPayouts_WhatStaysWrongIsPublishedOnce(t *testing.T) {
	w := newExportWorld(t, false)
	const head, good = "date,campaign,source,clicks,revenue\n", "2026-11-18,{C},{S},9,20\n2026-11-19,{C},{S},7,7105\n"
	const state = "SELECT max(generation), (SELECT count(*) FROM ops.refused_row), arg_max(exit_code, started_at) " +
		"FROM ops.run"
	w.write(head + good)
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer("3|0|0", state)
	w.write(head + good + "2026-11-32,{C},{S},1,1\nTotal,,,17,7126\n")
	w.sync(time.Hour, exit.Partial, `"2026-11-32" is not a day`)
	w.wantAnswer("5|2|4", state)
	for i := range 5 {
		w.sync(time.Hour, exit.Partial, `"2026-11-32" is not a day`)
		w.wantAnswer([]string{"6|2|4", "7|2|4", "8|2|4", "9|2|4", "10|2|4"}[i], state)
	}
	w.must("verify")
	w.write(head + good + "2026-11-33,{C},{S},1,1\nTotal,,,17,7126\n")
	w.sync(time.Hour, exit.Partial, `"2026-11-33" is not a day`)
	w.wantAnswer("12|4|4", state)

	// A day that is held is no other: it stays held until the export of another day has the same.
	w.write(head + "2026-11-18,{C},{S},9,20\n2026-11-19,{C},{S},7,71\n")
	w.sync(time.Hour, exit.Partial, "2026-11-19 would lose 7034.00")
	w.wantAnswer("14|4|4", state)
	w.sync(24*time.Hour, exit.Partial, "2026-11-19 would lose 7034.00")
	w.sync(24*time.Hour, exit.Partial, "2026-11-19 would lose 7034.00")
	w.wantAnswer("16|4|4", state)
	w.wantAnswer("3", "SELECT runs FROM ops.note WHERE note LIKE 'tracker.held.2026-11-19.%'")
	w.write(head + good)
	w.sync(time.Hour, exit.OK, "")
	w.wantAnswer("18|4|0", state)
	w.sync(time.Hour, exit.OK, "")
	w.wantAnswer("19|4|0", state)
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.sync(time.Hour, exit.Partial, "tracker.csv")
	w.sync(time.Hour, exit.Partial, "tracker.csv")
	w.wantAnswer("22|4|4", state)
	delete(w.env, "PAYOUTS")
	w.sync(time.Hour, exit.OK, "")
	w.wantAnswer("23|4|0", state)
	w.must("verify")
}
