package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
