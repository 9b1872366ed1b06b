package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
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

// TestVerify_AdvisesWhatRepairs: if the rows of a day and a reply of the day are damaged, verify advises a sync of the
// day while the service has it, and then a backup. The advised command runs as printed, and no command advises itself.
func TestVerify_AdvisesWhatRepairs(t *testing.T) {
	w := newWorld(t, small).synced()
	day := w.today() - 20
	more := func(b []byte) []byte { return append(b, 'x') }
	damage := func(patterns ...string) {
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join(w.dir, fmt.Sprintf(pattern, day)))
			if err != nil || len(files) == 0 {
				t.Fatal(pattern, err)
			}
			rel, _ := filepath.Rel(w.dir, files[0])
			w.spoil(rel, more)
		}
	}
	const reply, rows = "raw/spend_report/*/day=%s/*", "parquet/spend_daily/*/day=%s/*"
	advises := func(want string, args ...string) {
		t.Helper()
		if code, _, last := w.run(args...); code != exit.Damaged || !strings.Contains(last, want) {
			t.Errorf("%v: exit %d: %s\nwant %s", args, code, last, want)
		}
	}
	args := []string{"sync", "--from", day.String(), "--to", day.String()}
	command := "run 'spendsync " + strings.Join(args, " ") + "'"
	for _, damages := range [][]string{{reply}, {reply, rows}} {
		damage(damages...)
		advises(command, "verify")
		advises("run 'spendsync verify'", "repair", "replay")
		w.must(args...)
		if len(damages) == 2 { // the sync has replaced the reply
			advises("run 'spendsync repair replay'", "verify")
			w.must("repair", "replay")
		}
		w.must("verify")
	}
	w.service.Advance(15 * 24 * time.Hour)
	damage(reply, rows)
	advises("'spendsync pull --all'", "verify")
	advises("run 'spendsync verify'", "repair", "replay")
}

// TestStatus_ShowsAnUnfinishedCommit leaves a commit whose last file has not been renamed into place. The commands
// status and check report this, and the next run completes the commit.
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
