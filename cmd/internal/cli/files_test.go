package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"spendsync/cmd/internal/exit"
)

// oddFiles returns files that no variable may name, by their kind. Code under test must not read such a file to its end
// or wait for it: a test that hangs fails.
func oddFiles(t *testing.T, limit int64) map[string]string {
	t.Helper()
	dir := t.TempDir()
	odd := map[string]string{"pipe": filepath.Join(dir, "pipe"), "large": filepath.Join(dir, "large"), "folder": dir,
		"device": "/dev/zero", "link to a device": filepath.Join(dir, "link")}
	if err := syscall.Mkfifo(odd["pipe"], 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	if err := os.WriteFile(odd["large"], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(odd["large"], limit+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", odd["link to a device"]); err != nil {
		t.Fatal(err)
	}
	return odd
}

func TestReadFile_RefusesOddFiles(t *testing.T) {
	for kind, path := range oddFiles(t, 100) {
		if b, err := ReadFile(path, 100); err == nil || len(b) > 0 || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %d bytes, %v", kind, len(b), err)
		}
	}
	good := filepath.Join(t.TempDir(), "good")
	if err := os.WriteFile(good, []byte("content"), 0o400); err != nil {
		t.Fatal(err)
	}
	link := good + "-link" // as Kubernetes mounts a secret
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{good, link} {
		if b, err := ReadFile(path, 7); string(b) != "content" || err != nil {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
}

func TestCheckMetrics_ReplacesNothingElse(t *testing.T) {
	dir := t.TempDir()
	key, link := filepath.Join(dir, "key"), filepath.Join(dir, "link")
	if err := os.WriteFile(key, []byte("k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(key, link); err != nil {
		t.Fatal(err)
	}
	soft := filepath.Join(dir, "soft")
	if err := os.Symlink(key, soft); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "data")
	if err := os.WriteFile(filepath.Join(dir, "old.prom"), []byte("# HELP x y\nx 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for metrics, ok := range map[string]bool{key: false, link: false, soft: false, dir + "/./key": false,
		store + "/manifest.json": false, dir + "/nul\x00": false, dir + strings.Repeat("/x", 3000): false,
		dir + "/metrics.prom": true,
		dir + "/old.prom":     true} {
		err := CheckMetrics("METRICS_FILE", metrics, store)
		if (err == nil) != ok || err != nil && exit.Of(err) != exit.Usage {
			t.Errorf("%q: %v", metrics, err)
		}
	}
}

// TestWriteFile_FollowsNoLink: if a link has the name of the draft, the file behind the link stays unchanged.
func TestWriteFile_FollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "answer")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, draftOf(path)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{victim: "kept", path: "new"} {
		if b, err := os.ReadFile(name); string(b) != want || err != nil {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
}
