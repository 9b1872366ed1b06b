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
