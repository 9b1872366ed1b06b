package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// TestPayouts_BecomeATableWithHistory: a sync reads the operator's file, changes to the file make versions, and the
// revenue is computed again. If the file has a bad line, the rest of the sync is not affected: the sync ends with 4 and
// names the line, and the stored payouts stay.
func TestPayouts_BecomeATableWithHistory(t *testing.T) {
	w := newWorld(t, small).synced()
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
	w.wantAnswer("0", "SELECT count(*) FROM payout_history")
	w.wantAnswer("0", "SELECT count(revenue) FROM spend")

	w.env["PAYOUTS"] = path
	write("2026-01-01,,,,,10.5\n")
	w.wantPayoutsChecked(exit.OK, "stored as 2026-01-01|||||10.50; of 1 row fit 1")
	sync(exit.OK, "")
	w.wantAnswer("true", "SELECT round(sum(revenue) - 10.5 * sum(conversions), 6) = 0 AND sum(conversions) > 0 "+
		"FROM spend")
	sync(exit.OK, "")
	w.wantAnswer("1", "SELECT count(*) FROM payout_history")

	write("2026-01-01,,,,,10.5\n2026-13-01,,,,S1,1\n2026-01-01,,,,S2,ten\n")
	const says = `line 3: column "from": "2026-13-01" is not a day, for example 2026-11-20; ` +
		`line 4: column "payout": "ten"`
	w.wantPayoutsChecked(exit.Usage, path+": "+says)
	sync(exit.Partial, says)
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
	sync(exit.Partial, `the account has no campaign "C999"`)
	w.wantAnswer("1|C999", "SELECT count(*), any_value(campaign_id) FROM payout")
	w.wantAnswer("deleted", "SELECT change_type FROM payout_history WHERE is_current AND campaign_id = ''")
	w.must("verify")
	before := w.ask("FROM payout_history ORDER BY ALL")
	w.must("repair", "rebuild")
	w.wantAnswer(before, "FROM payout_history ORDER BY ALL")
}

// wantPayoutsChecked checks that the command check reads the file as a sync would.
func (w *world) wantPayoutsChecked(code int, says string) {
	w.t.Helper()
	got, lines, _ := w.check()
	text := ""
	for name, l := range lines {
		if strings.HasPrefix(name, "payouts") {
			text += l.Found + "\n"
		}
	}
	if got != code || !strings.Contains(text, says) {
		w.t.Errorf("check: exit %d, want %d: %s\ndoes not say %s", got, code, text, says)
	}
}

// wantRun runs a command, and checks its exit code and a text in its last line.
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

// exportWorld is a world with a tracker's export. It has IDs of campaigns and of a source of the account, for writing
// the export.
type exportWorld struct {
	*world
	path                    string
	campaign, other, source string
}

func newExportWorld(t *testing.T) *exportWorld {
	w := &exportWorld{world: newWorld(t, func(c *adsim.Config) { c.Campaigns, c.RowsPerDay = 4, 40 }),
		path: filepath.Join(t.TempDir(), "tracker.csv")}
	w.service.SetNow(time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC))
	w.synced()
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

// sync advances the clock and runs a sync with the export.
func (w *exportWorld) sync(later time.Duration, code int, says string) {
	w.t.Helper()
	w.service.Advance(later)
	w.wantRun(code, says, "sync")
}

// TestPayouts_ExportReplacesItsDays: with a tracker's export in addition to the payouts, a separate run stores the rows
// of the export. A newer export replaces the days that it contains. Reading the same export again changes nothing.
func TestPayouts_ExportReplacesItsDays(t *testing.T) {
	w := newExportWorld(t)
	payouts := filepath.Join(t.TempDir(), "payouts.csv")
	if err := os.WriteFile(payouts, []byte("from,payout\n2026-01-01,10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all = "SELECT report_date, clicks, conversions, approved, held, refused, revenue FROM tracker_daily " +
		"ORDER BY ALL"
	w.env["PAYOUTS"] = payouts + "," + w.path
	w.env["TRACKER_COLUMNS"] = "day=Date,campaign=Custom 1,source=Site,state=Status,conversions=Conv,revenue=Rev"
	const head = "Date;Custom 1;Site;Status;Conv;Rev;ROI\n"
	w.write(head + "2026-11-18;{C};{S};approved;2;19.5;1\n2026-11-18;{C};{S};hold;1;9.75;1\n" +
		"2026-11-19;{C};{S};rejected;1;9.75;1\n")
	w.wantPayoutsChecked(exit.OK, "of 3 rows fit 3, 0 do not, 0 are of other campaigns, 0 add others up")
	w.sync(time.Minute, exit.OK, "")
	first := "2026-11-18|NULL|3|2|1|0|19.500000\n"
	w.wantAnswer(first+"2026-11-19|NULL|1|0|0|1|0.000000", all)
	w.wantAnswer("10.000000", "SELECT payout FROM payout")
	w.wantAnswer("payouts|0|3", "SELECT command, exit_code, generation FROM ops.run ORDER BY started_at DESC LIMIT 1")

	w.write(head + "2026-11-19;{C};{S};approved;1;9.75;1\nTotal;;;;4;29.25;1\n")
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer(first+"2026-11-19|NULL|1|1|0|0|9.750000", all)
	runs := w.ask("SELECT report_date, _run_id FROM tracker_daily ORDER BY ALL")
	w.wantAnswer("2", "SELECT count(DISTINCT _run_id) FROM tracker_daily")

	w.write(head + "2026-11-19;{C};{S};approved;1;9.75;1\n" +
		"2026-11-18;{C};{S};approved;2;19.5;1\n2026-11-18;{C};{S};hold;1;9.75;1\n")
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer(runs, "SELECT report_date, _run_id FROM tracker_daily ORDER BY ALL")
	w.must("verify")
	w.must("repair", "rebuild")
	w.wantAnswer(first+"2026-11-19|NULL|1|1|0|0|9.750000", all)
}

// TestPayouts_TheNewestWordWins: a file replaces a stored day, even if the revenue of the day falls. If the day would
// lose rows or most of its revenue, it is not replaced until a person accepts this. The replaced rows are kept.
func TestPayouts_TheNewestWordWins(t *testing.T) {
	// The tests of package payouts cover the days that are not replaced, the tests of load the replaced rows.
	schematest.Long(t)
	w := newExportWorld(t)
	const head, day18 = "date,campaign,source,clicks,revenue\n", "2026-11-18,{C},{S},9,20\n2026-11-18,{D},{S},5,10.50\n"
	w.write(head + day18 + "2026-11-19,{C},{S},7,7105.00\n")
	w.sync(time.Minute, exit.OK, "")
	w.write(head + day18 + "2026-11-19,{C},{S},7,7076.50\n")
	w.sync(time.Hour, exit.OK, "")
	const whole = "2026-11-18|2|14|30.500000\n2026-11-19|1|7|7076.500000"
	w.wantStored(whole)

	w.write(head + day18 + "2026-11-19,{C},{S},7,70") // cut off in the last number
	w.sync(time.Hour, exit.Partial, "2026-11-19 would lose 7006.50 of its revenue of 7076.50 by tracker.csv")
	w.write(head + "2026-11-18,{C},{S},9,20\n2026-11-19,{C},{S},7,7076.50\n")
	for range 2 { // repeated runs do not change the result
		w.sync(24*time.Hour, exit.Partial, "2026-11-18 would lose 1 of its 2 rows")
	}
	w.wantStored(whole)
	w.must("repair", "accept", "tracker.held.2026-11-18")
	w.sync(time.Minute, exit.OK, "")
	w.wantStored("2026-11-18|1|9|20.000000\n2026-11-19|1|7|7076.500000")
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer("2026-11-18|5|NULL|10.500000|NULL|delete|tracker.csv\n"+
		"2026-11-19|7|7|7105.000000|7076.500000|update|tracker.csv",
		"SELECT report_date, old_clicks, new_clicks, old_revenue, new_revenue, op, file FROM tracker_change "+
			"ORDER BY ALL")
	w.must("verify")
}

// wantStored checks the stored days, with their rows, clicks and revenue.
func (w *exportWorld) wantStored(want string) {
	w.t.Helper()
	w.wantAnswer(want, "SELECT report_date, count(*), sum(clicks), sum(revenue) FROM tracker_daily GROUP BY ALL "+
		"ORDER BY ALL")
}

// TestPayouts_OtherIDsAreRefused: if an export has the tracker's own IDs, nothing is stored, and the message names the
// column that has the service's IDs.
func TestPayouts_OtherIDsAreRefused(t *testing.T) {
	schematest.Long(t) // the tests of package payouts cover the findings
	w := newExportWorld(t)
	w.write("Day,Campaign ID,Custom variable 1,Custom variable 2,Visits,Revenue\n" +
		"2026-11-18,0b6f1d2c-3d51-4d7e-9d3f-6b1f2a7c9e10,{S},{C},1500,240.5\n")
	for columns, says := range map[string]string{
		"campaign=Campaign ID,source=Custom variable 1": `column "Custom variable 2" has campaigns of this account, ` +
			`and "Campaign ID" has not: declare campaign=Custom variable 2`,
		"campaign=Custom variable 2,source=Campaign ID": `column "Custom variable 1" has sources of this account`,
	} {
		w.env["TRACKER_COLUMNS"] = "day=Day,clicks=Visits,revenue=Revenue," + columns
		w.wantPayoutsChecked(exit.Usage, says)
		w.sync(time.Minute, exit.Partial, says)
		w.wantAnswer("0", "SELECT count(*) FROM tracker_daily")
	}
	w.env["TRACKER_COLUMNS"] = "day=Day,campaign=Custom variable 2,source=Custom variable 1,clicks=Visits," +
		"revenue=Revenue"
	w.wantPayoutsChecked(exit.OK, "of 1 row fit 1")
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer("240.500000", "SELECT sum(revenue) FROM tracker_daily")
}

// TestPayouts_WhatStaysWrongIsPublishedOnce: while a file stays wrong, every sync ends with 4, but only the first sync
// publishes a generation and lists the refused lines. ops.run has the result of each run. After the file is corrected,
// a sync ends with 0.
func TestPayouts_WhatStaysWrongIsPublishedOnce(t *testing.T) {
	w := newExportWorld(t)
	good := "date,campaign,source,clicks,revenue\n"
	for day := range 25 {
		good += fmt.Sprintf("2026-10-%02d,{C},{S},9,20\n", day+1)
	}
	const state = "SELECT max(generation), (SELECT count(*) FROM ops.refused_row), arg_max(exit_code, started_at) " +
		"FROM ops.run"
	w.write(good)
	w.sync(time.Minute, exit.OK, "")
	w.wantAnswer("3|0|0", state)
	w.write(good + "2026-10-32,{C},{S},1,1\nTotal,,,17,7126\n")
	w.sync(time.Hour, exit.Partial, `line 27: column "date": "2026-10-32" is not a day`)
	w.wantAnswer("5|1|4", state)
	for i := range schematest.Times(1, 3, 3) {
		w.sync(time.Hour, exit.Partial, `"2026-10-32" is not a day`)
		w.wantAnswer([]string{"6|1|0", "7|1|0", "8|1|0"}[i], state)
	}
	w.must("verify")
	if !schematest.All() {
		return
	}
	w.must("repair", "accept", "tracker.set-aside")
	w.sync(time.Hour, exit.OK, "")
	w.write(good + "2026-10-33,{C},{S},1,1\n2026-10-34,{C},{S},1,1\n2026-10-35,{C},{S},1,1\n")
	w.sync(time.Hour, exit.Partial, `"2026-10-33" is not a day, for example 2026-11-20; 3 of 28 rows`)
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	w.sync(time.Hour, exit.Partial, "tracker.csv: it cannot be read")
	delete(w.env, "PAYOUTS")
	w.sync(time.Hour, exit.OK, "")
	w.must("verify")
}

// TestPayouts_NoFileHasNoNote: a problem with a file gives check and sync the same exit code, until the problem is
// accepted. After the variable is removed, the problem no longer affects the exit code.
func TestPayouts_NoFileHasNoNote(t *testing.T) {
	w := newExportWorld(t)
	const notes = "SELECT count(*) FROM ops.note WHERE note LIKE 'tracker.%'"
	w.write("date,campaign,source,clicks,revenue\n2026-11-18,{C},{S},9,20\n2026-11-18,{C},,9,20\n")
	w.wantPayoutsChecked(exit.Partial, "1 rows without a campaign or a source are set aside")
	w.sync(time.Minute, exit.Partial, "'spendsync repair accept tracker.no-source'")
	w.wantAnswer("1", notes)
	w.must("repair", "accept", "tracker.no-source")
	w.wantPayoutsChecked(exit.OK, "that is accepted")
	w.must("repair", "accept", "--undo", "tracker.no-source")
	delete(w.env, "PAYOUTS")
	w.sync(time.Hour, exit.OK, "")
	w.wantAnswer("0", notes)
	w.wantAnswer("20.000000", "SELECT sum(revenue) FROM tracker_daily")
	w.must("verify")
}
