package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
)

// TestPayouts_BecomeATableWithHistory: the operator's file is read by a sync, changes of
// it make versions, and revenue follows. A file with a bad line costs nothing of the sync: it
// ends with 4, names the line, and the payouts that are stored stand.
func TestPayouts_BecomeATableWithHistory(t *testing.T) {
	w := newWorld(t)
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
	w.wantAnswer("true", "SELECT sum(revenue) = 10.5 * sum(conversions) AND sum(conversions) > 0 AND "+
		"sum(profit) = sum(revenue) - sum(spend) FROM mart.campaign_profit")
	for key, cells := range reportTables(t, w.report())["campaigns"] {
		w.wantAnswer(cells[2], "SELECT profit FROM mart.campaign_performance WHERE campaign_id = '"+key+"'")
	}
	sync(exit.OK, "")
	w.wantAnswer("1", "SELECT count(*) FROM payout_history")

	write("2026-01-01,,,,,10.5\n2026-13-01,,,,S1,1\n2026-01-01,,,,S2,ten\n")
	w.wantPayoutsChecked(exit.Usage,
		path+`: line 3: from "2026-13-01" is not a day such as 2026-11-20; line 4: payout "ten"`)
	sync(exit.Partial, `line 3: from "2026-13-01" is not a day such as 2026-11-20; line 4: payout "ten"`)
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
	sync(exit.OK, "")
	w.wantAnswer("0", "SELECT count(*) FROM payout")
	w.wantAnswer("deleted", "SELECT change_type FROM payout_history WHERE is_current")
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

// TestPayouts_ExportReplacesItsDays: a tracker's export beside the payouts becomes rows; a newer one replaces the days
// that it has, and the same one changes nothing. One with a bad line changes nothing either, and names it.
func TestPayouts_ExportReplacesItsDays(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	payouts, export := filepath.Join(dir, "payouts.csv"), filepath.Join(dir, "tracker.csv")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const all = "SELECT report_date, campaign_id, source_id, clicks, conversions, approved, held, refused, revenue " +
		"FROM tracker_daily ORDER BY ALL"
	w.env["PAYOUTS"] = payouts + "," + export
	w.env["TRACKER_COLUMNS"] = "day=Date,campaign=Custom 1,source=Site,state=Status,conversions=Conv,revenue=Rev"
	write(payouts, "from,payout\n2026-01-01,10\n")
	write(export, "Date;Custom 1;Site;Status;Conv;Rev;ROI\n2026-11-18;C1;S1;approved;2;19.5;1\n"+
		"2026-11-18;C1;S1;hold;1;9.75;1\n2026-11-19;C1;S1;rejected;1;9.75;1\n")
	w.wantPayoutsChecked(exit.OK, "1 line of payouts, a tracker's export of 2 rows from 2026-11-18 to 2026-11-19")
	w.must("sync")
	first := "2026-11-18|C1|S1|NULL|3|2|1|0|19.500000\n"
	w.wantAnswer(first+"2026-11-19|C1|S1|NULL|1|0|0|1|0.000000", all)
	w.wantAnswer("10.000000", "SELECT payout FROM payout")

	write(export, "Date;Custom 1;Site;Status;Conv;Rev;ROI\n2026-11-19;C1;S2;approved;1;9.75;1\n2026-11-32;;;;;;\n")
	w.wantRun(exit.Partial, `tracker.csv: line 3: day "2026-11-32" is not a day`, "sync")
	w.wantAnswer(first+"2026-11-19|C1|S1|NULL|1|0|0|1|0.000000", all)

	write(export, "Date;Custom 1;Site;Status;Conv;Rev;ROI\n2026-11-19;C1;S2;approved;1;9.75;1\n"+
		"2026-11-18;C1;S1;approved;2;19.5;1\n2026-11-18;C1;S1;hold;1;9.75;1\n")
	w.must("sync")
	w.wantAnswer(first+"2026-11-19|C1|S2|NULL|1|1|0|0|9.750000", all)
	runs := w.ask("SELECT report_date, _run_id FROM tracker_daily ORDER BY ALL")
	w.wantAnswer("2", "SELECT count(DISTINCT _run_id) FROM tracker_daily")
	w.must("sync")
	w.wantAnswer(runs, "SELECT report_date, _run_id FROM tracker_daily ORDER BY ALL")
	w.must("verify")
	w.must("rebuild")
	w.wantAnswer(first+"2026-11-19|C1|S2|NULL|1|1|0|0|9.750000", all)
}
