package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/load/durable"
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
	world := newWorld(t).synced()
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
			for _, command := range [][]string{{"sync"}, {"sync", "--full"}, {"repair", "rebuild"},
				{"repair", "replay"},
				{"sync", "--from", day, "--to", day}} {
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

// TestStatus_ShowsAnUnfinishedCommit leaves a commit whose last file is not in its place:
// status and check say so, and the next run ends it.
func TestStatus_ShowsAnUnfinishedCommit(t *testing.T) {
	w := newWorld(t, small).synced()
	by := w.ask("SELECT identity_proof FROM ops.run")
	if got := w.must("status"); !strings.HasPrefix(by, "/v1/me names account ") || !strings.Contains(got, by) {
		t.Errorf("status does not show what proved the account, %q:\n%s", by, got)
	}
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
	w.must("sync")
	if out := w.must("status"); strings.Contains(out, "UNFINISHED") {
		t.Errorf("status:\n%s", out)
	}
	w.must("verify")
}

// wantUnchanged requires that files are unchanged.
func (w *world) wantUnchanged(what string, was, is map[string]string) {
	w.t.Helper()
	if !maps.Equal(was, is) || len(was) < 70 {
		w.t.Errorf("%s: the files are not as they were: %q\n%q", what, slices.Sorted(maps.Keys(was)),
			slices.Sorted(maps.Keys(is)))
	}
}
