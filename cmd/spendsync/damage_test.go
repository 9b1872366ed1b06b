package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/spendsync/exit"
)

// spoil damages a file of the store.
func (w *world) spoil(path string, edit func([]byte) []byte) {
	w.t.Helper()
	full := filepath.Join(w.dir, path)
	b, err := os.ReadFile(full)
	if err == nil {
		err = os.Remove(full)
	}
	if err == nil {
		err = os.WriteFile(full, edit(b), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func flipped(b []byte) []byte { b[len(b)/2] ^= 1; return b }
func cut(b []byte) []byte     { return b[:len(b)-1] }

// TestDamage_IsFoundNamedAndMended damages a file of every kind as a user may find
// it, and follows what verify says.
func TestDamage_IsFoundNamedAndMended(t *testing.T) {
	w := newWorld(t)
	w.must("sync")
	ledger, err := filepath.Glob(w.dir + "/ledger/*/*")
	if err != nil || len(ledger) != 1 {
		t.Fatal(ledger, err)
	}
	day := (w.today() - 3).String()
	for _, c := range []struct{ path, mend string }{
		{"parquet/calendar/account=acme/data.parquet", "rebuild"},
		{"parquet/campaign_history/account=acme/data.parquet", "rebuild"},
		{"parquet/account_snapshot/account=acme/data.parquet", "rebuild"},
		{"parquet/spend_daily/account=acme/day=" + day + "/data.parquet", "rebuild"},
		{strings.TrimPrefix(ledger[0], w.dir+"/"), "rebuild"},
		{"warehouse.duckdb", "rebuild"},
	} {
		w.spoil(c.path, flipped)
		code, out, last := w.run("verify")
		if code != exit.Damaged || !strings.Contains(out, c.path) || !strings.Contains(last, c.path) ||
			!strings.Contains(out, "[spendsync "+c.mend+"]") {
			t.Errorf("%s: verify: exit %d: %s%s", c.path, code, out, last)
		}
		w.must(c.mend)
		w.checkTruth()
	}
}

// TestDamage_OfSeveralFiles has a damaged day, a damaged calendar and no DuckDB file:
// each command mends what it can and names what it cannot.
func TestDamage_OfSeveralFiles(t *testing.T) {
	w := newWorld(t)
	w.must("sync")
	calendar := "parquet/calendar/account=acme/data.parquet"
	day := "parquet/spend_daily/account=acme/day=" + (w.today() - 3).String() + "/data.parquet"
	good, err := os.ReadFile(filepath.Join(w.dir, calendar))
	if err != nil {
		t.Fatal(err)
	}
	w.spoil(calendar, cut)
	w.spoil(day, cut)
	w.spoil("warehouse.duckdb", cut)
	code, out, _ := w.run("verify")
	for path, mend := range map[string]string{calendar: "restore it from a backup", day: "spendsync replay",
		"warehouse.duckdb": "spendsync rebuild"} {
		if code != exit.Damaged || !strings.Contains(out, path) || !strings.Contains(out, "["+mend+"]") {
			t.Errorf("verify: exit %d, want %s and %s in\n%s", code, path, mend, out)
		}
	}
	if code, _, last := w.run("rebuild"); code != exit.Damaged || !strings.Contains(last, calendar) ||
		!strings.Contains(last, day) {
		t.Errorf("rebuild: exit %d: %s", code, last)
	}
	if code, _, last := w.run("replay"); code != exit.Damaged || !strings.Contains(last, calendar) ||
		strings.Contains(last, day) {
		t.Errorf("replay: exit %d: %s", code, last)
	}
	w.spoil(calendar, func([]byte) []byte { return good })
	w.must("replay")
	w.checkTruth()
}

// TestDamage_OfTheManifest is refused by every command that needs it.
func TestDamage_OfTheManifest(t *testing.T) {
	w := newWorld(t)
	w.must("sync")
	before := w.hashes("parquet", "raw")
	w.spoil("manifest.json", flipped)
	for _, command := range []string{"sync", "verify", "rebuild", "replay", "status", "plan"} {
		if code, _, last := w.run(command); code != exit.Damaged || !strings.Contains(last, "manifest.json") {
			t.Errorf("%s: exit %d: %s", command, code, last)
		}
	}
	for path, h := range w.hashes("parquet", "raw") {
		if before[path] != h {
			t.Errorf("%s changed", path)
		}
	}
}

// TestReplay_SaysWhatItCannot has a damaged reply behind a damaged day.
func TestReplay_SaysWhatItCannot(t *testing.T) {
	w := newWorld(t)
	w.must("sync")
	day := (w.today() - 3).String()
	reply := "raw/spend_report/account=acme/day=" + day + "/0001.json.zst"
	w.spoil("parquet/spend_daily/account=acme/day="+day+"/data.parquet", cut)
	w.spoil("warehouse.duckdb", cut)
	w.spoil(reply, flipped)
	if code, _, last := w.run("replay"); code != exit.Damaged || !strings.Contains(last, day) {
		t.Errorf("replay: exit %d: %s", code, last)
	}
	if code, out, _ := w.run("verify"); code != exit.Damaged || !strings.Contains(out, reply) {
		t.Errorf("verify: exit %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "commit.json")); err == nil {
		t.Error("a commit is left")
	}
}

// TestRebuild_MakesNoAccount has an account that the warehouse does not know: it
// would be there afterwards, with a reach of missing days.
func TestRebuild_MakesNoAccount(t *testing.T) {
	w := newWorld(t)
	w.must("sync")
	w.env["ACCOUNT"] = "another"
	for _, command := range []string{"rebuild", "replay"} {
		if code, _, last := w.run(command); code != exit.Usage ||
			!strings.Contains(last, `no account "another"; set SPENDSYNC_ACCOUNT to acme`) {
			t.Errorf("%s: exit %d: %s", command, code, last)
		}
	}
}
