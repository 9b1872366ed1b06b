package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema/schematest"
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

// TestDamage_IsFoundNamedAndRepaired damages a file of every kind as a user may find
// it, and follows what verify says.
func TestDamage_IsFoundNamedAndRepaired(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	ledger, err := filepath.Glob(w.dir + "/ledger/*/*")
	if err != nil || len(ledger) != 1 {
		t.Fatal(ledger, err)
	}
	day := (w.today() - 3).String()
	for _, c := range []struct{ path, mend string }{
		{"parquet/calendar/account=acme/data.parquet", "rebuild"},
		{"parquet/campaign_history/account=acme/data.parquet", ""},
		{"parquet/account_snapshot/account=acme/data.parquet", ""},
		{"parquet/spend_daily/account=acme/day=" + day + "/data.parquet", "replay"},
		{strings.TrimPrefix(ledger[0], w.dir+"/"), ""},
		{"warehouse.duckdb", "rebuild"},
	} {
		good, err := os.ReadFile(filepath.Join(w.dir, c.path))
		if err != nil {
			t.Fatal(err)
		}
		w.spoil(c.path, flipped)
		code, out, last := w.run("verify")
		if code != exit.Damaged || !strings.Contains(out, c.path) || !strings.Contains(last, c.path) ||
			c.mend != "" && !strings.Contains(out, "[spendsync repair "+c.mend+"]") ||
			c.mend == "" && !strings.Contains(out, "pull --all") {
			t.Errorf("%s: verify: exit %d: %s%s", c.path, code, out, last)
		}
		if c.mend != "" {
			w.must(c.mend)
		} else {
			if code, _, last := w.run("rebuild"); code != exit.Damaged || !strings.Contains(last, c.path) {
				t.Errorf("%s: rebuild: exit %d: %s", c.path, code, last)
			}
			w.spoil(c.path, func([]byte) []byte { return good })
		}
		w.checkTruth()
	}
}

// TestDamage_OfSeveralFiles has a damaged day, damaged campaigns and no DuckDB file: each command names what it cannot
// mend.
func TestDamage_OfSeveralFiles(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withoutMarts().synced()
	campaigns := "parquet/campaign_history/account=acme/data.parquet"
	day := "parquet/spend_daily/account=acme/day=" + (w.today() - 3).String() + "/data.parquet"
	good, err := os.ReadFile(filepath.Join(w.dir, campaigns))
	if err != nil {
		t.Fatal(err)
	}
	w.spoil(campaigns, cut)
	w.spoil(day, cut)
	w.spoil("warehouse.duckdb", cut)
	code, out, _ := w.run("verify")
	for path, mend := range map[string]string{campaigns: manifest.RepairLost, day: "spendsync repair replay",
		"warehouse.duckdb": "spendsync repair rebuild"} {
		if code != exit.Damaged || !strings.Contains(out, path) || !strings.Contains(out, "["+mend+"]") {
			t.Errorf("verify: exit %d, want %s and %s in\n%s", code, path, mend, out)
		}
	}
	if code, _, last := w.run("rebuild"); code != exit.Damaged || !strings.Contains(last, campaigns) ||
		!strings.Contains(last, day) {
		t.Errorf("rebuild: exit %d: %s", code, last)
	}
	if code, _, last := w.run("replay"); code != exit.Damaged || !strings.Contains(last, campaigns) ||
		strings.Contains(last, day) {
		t.Errorf("replay: exit %d: %s", code, last)
	}
	w.spoil(campaigns, func([]byte) []byte { return good })
	w.must("replay")
	w.checkTruth()
}

// TestDamage_OfTheManifest is refused by every command that needs it.
func TestDamage_OfTheManifest(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
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
	w := newWorld(t).withoutMarts().synced()
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
	w := newWorld(t).withoutMarts().synced()
	w.env["ACCOUNT"] = "another"
	for _, command := range []string{"rebuild", "replay"} {
		if code, _, last := w.run(command); code != exit.Usage ||
			!strings.Contains(last, `no account "another"; set SPENDSYNC_ACCOUNT to acme`) {
			t.Errorf("%s: exit %d: %s", command, code, last)
		}
	}
}

// keep copies the store's files as they are now, but for its locks.
func (w *world) keep() (dir string) {
	w.t.Helper()
	dir = filepath.Join(w.t.TempDir(), "backup")
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// bringBack puts a part of a backup in the place of the store's.
func (w *world) bringBack(backup string, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		err := os.RemoveAll(filepath.Join(w.dir, part))
		if err == nil {
			err = os.Rename(filepath.Join(backup, part), filepath.Join(w.dir, part))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestSetBack_IsRefused restores parts of an older backup: every command that publishes refuses, and verify advises
// nothing that would forget what is newer.
func TestSetBack_IsRefused(t *testing.T) {
	world := newWorld(t).withoutMarts().synced()
	backup := world.keep()
	world.restate(world.today() - 5)
	world.env["REREAD_AFTER"] = "1ms"
	world.must("sync")
	for name, parts := range map[string][]string{ // package load tries every mixture
		"manifest and DuckDB": {"manifest.json", "manifest", "warehouse.duckdb"},
		"all but DuckDB":      {"manifest.json", "manifest", "parquet", "ledger", "raw"},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.copied(t)
			older := filepath.Join(t.TempDir(), "backup")
			if err := os.CopyFS(older, os.DirFS(backup)); err != nil {
				t.Fatal(err)
			}
			w.bringBack(older, parts...)
			before := w.hashes("parquet", "raw", "ledger")
			code, out, last := w.run("verify")
			if code != exit.Damaged || !strings.Contains(out+last, "was set back from ") ||
				!strings.Contains(out, "pull --all") || strings.Contains(out, "[spendsync re") {
				t.Errorf("verify: exit %d: %s%s", code, out, last)
			}
			// Only the size of the DuckDB file would show it, and check opens no such file.
			if _, lines, _ := w.check(); lines["store"].State != check.Failed && name != "all but DuckDB" {
				t.Errorf("check: %+v", lines["store"])
			}
			day := (w.today() - 5).String()
			for _, command := range [][]string{{"sync"}, {"sync", "--full"}, {"rebuild"}, {"replay"},
				{"backfill", "--from", day, "--to", day}} {
				code, _, last := w.run(command...)
				if code != exit.Damaged || !strings.Contains(last, "was set back from ") ||
					!strings.Contains(last, "pull --all") {
					t.Errorf("%s: exit %d: %s", command, code, last)
				}
			}
			w.wantUnchanged("the refused commands", before, w.hashes("parquet", "raw", "ledger"))
		})
	}
}

// TestSetBack_AWholeOlderBackupWorks: all parts are of one time.
func TestSetBack_AWholeOlderBackupWorks(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withoutMarts().synced()
	backup := w.keep()
	w.restate(w.today() - 5)
	w.env["REREAD_AFTER"] = "1ms"
	w.must("sync")
	w.bringBack(backup, "manifest.json", "manifest", "warehouse.duckdb", "parquet", "ledger", "raw")
	w.must("verify")
	w.must("sync")
	w.checkTruth()
}

// TestStrays_AreNamedAndLeft puts files of the user's into the published folders.
func TestStrays_AreNamedAndLeft(t *testing.T) {
	w := newWorld(t, small).withoutMarts().synced()
	day := (w.today() - 3).String()
	strays := []string{"ledger/account=acme/notes.txt", "parquet/spend_daily/account=acme/day=" + day + "/copy.parquet",
		"parquet/spend_daily/account=zz/day=" + day + "/data.parquet",
		"raw/spend_report/account=acme/day=" + day + "/0009.json.zst"}
	for _, path := range strays {
		full := filepath.Join(w.dir, path)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if err == nil {
			err = os.WriteFile(full, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.env["LOG_LEVEL"] = "warn"
	if code, text := w.stderr("sync"); code != exit.OK || !strings.Contains(text, strays[0]) ||
		!strings.Contains(text, "move them out") {
		t.Errorf("sync: exit %d: %s", code, text)
	}
	code, out, _ := w.run("verify")
	for _, path := range strays {
		if code != exit.Damaged || !strings.Contains(out, path+": the manifest does not name it  [move it out of") {
			t.Errorf("verify: exit %d, want %s in\n%s", code, path, out)
		}
		if err := os.Remove(filepath.Join(w.dir, path)); err != nil {
			t.Error(err)
		}
	}
	w.must("verify")
}

// TestReplies_LostAreStoredAgain follows what verify says of them.
func TestReplies_LostAreStoredAgain(t *testing.T) {
	w := newWorld(t, small).withoutMarts().synced()
	one, other := (w.today() - 9).String(), (w.today() - 8).String()
	path := func(day string) string { return "raw/spend_report/account=acme/day=" + day + "/0001.json.zst" }
	b, err := os.ReadFile(filepath.Join(w.dir, path(other)))
	if err != nil {
		t.Fatal(err)
	}
	w.spoil(path(one), func(was []byte) []byte { was, b = b, was; return was })
	w.spoil(path(other), func([]byte) []byte { return b })
	code, out, _ := w.run("verify")
	for _, day := range []string{one, other} {
		if code != exit.Damaged || !strings.Contains(out, "[spendsync sync --from "+day+" --to "+day) {
			t.Errorf("verify: exit %d: %s", code, out)
		}
	}
	w.must("backfill", "--from", one, "--to", one)
	w.env["REREAD_AFTER"] = "1ms"
	w.must("sync")
	w.must("verify")
	w.must("replay")
	w.checkTruth()
}

// TestStatus_ShowsAnUnfinishedCommit leaves a commit whose last file is not in its place:
// status and check say so, and the next run ends it.
func TestStatus_ShowsAnUnfinishedCommit(t *testing.T) {
	w := newWorld(t, small).withoutMarts().synced()
	manifest, err := os.ReadFile(filepath.Join(w.dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	record := []byte(`{"format":2,"checksum":"` + durable.Unsealed + `","run_id":"r","base_generation":1,` +
		`"generation":2,"staging":"staging/acme.r","moves":[{"from":"staging/acme.r/m","to":"manifest.json"}]}`)
	durable.Seal(record)
	for path, text := range map[string]string{"staging/acme.r/m": string(manifest), "commit.json": string(record)} {
		full := filepath.Join(w.dir, path)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if err == nil {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out := w.must("status"); !strings.Contains(out, "UNFINISHED COMMIT  generation 2") ||
		!strings.Contains(out, "1 file") {
		t.Errorf("status:\n%s", out)
	}
	if out := w.must("status", "--json"); !strings.Contains(out, `"unfinished_commit"`) {
		t.Errorf("status --json:\n%s", out)
	}
	_, lines, _ := w.check()
	if l := lines["store"]; l.State != check.Warning || !strings.Contains(l.Found, "generation 2") {
		t.Errorf("check: %+v", l)
	}
	w.must("sync")
	if out := w.must("status"); strings.Contains(out, "UNFINISHED") {
		t.Errorf("status:\n%s", out)
	}
	w.must("verify")
}
