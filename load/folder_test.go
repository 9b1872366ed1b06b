package load

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spendsync/load/duck/ducktest"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema/schematest"
)

// TestStore_InAFolderOfAnyName: characters with a meaning in SQL, in globs or in data source names are allowed in the
// path of the data directory.
func TestStore_InAFolderOfAnyName(t *testing.T) {
	schematest.Long(t)
	for _, name := range []string{"a*b", "a[b]", "it's", "50%", "a\\b"} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, filepath.Join(t.TempDir(), name))
			for range 2 { // build the DuckDB file, then carry it forward
				r.mustSync(twoDays())
				r.at = r.at.Add(time.Hour)
			}
			if got, err := ducktest.Query(t.Context(), r.dir, "SELECT count(*) FROM spend_daily"); err != nil ||
				got.Rows[0][0].V != "4" {
				t.Errorf("%v rows are stored, want 4: %v", got.Rows, err)
			}
		})
	}
}

// TestOpen_RefusesAFolderThatDuckDBCannotWriteIn: with a question mark in its path, DuckDB would look for its log in
// another folder. Open refuses such a folder before it creates any file.
func TestOpen_RefusesAFolderThatDuckDBCannotWriteIn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a?b", "data")
	s, err := Open(t.Context(), dir, "acme", Options{})
	if s != nil || !errors.Is(err, durable.ErrStorage) || !strings.Contains(err.Error(), "SPENDSYNC_DATA_DIR") {
		t.Errorf("Open = %v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is made: %v", err)
	}
}

// TestOpen_IsNotHeldUpByAPipe: if the lock file is not a regular file, Open refuses the file and does not block.
func TestOpen_IsNotHeldUpByAPipe(t *testing.T) {
	dir := t.TempDir()
	newRun(t, dir).mustSync(twoDays())
	for _, name := range []string{"store.lock", "account=acme.lock"} {
		path := filepath.Join(dir, "locks", name)
		if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := Verify(t.Context(), dir, Options{}, nil)
			if name != "store.lock" {
				var s *Store
				if s, err = Open(t.Context(), dir, "acme", Options{}); err == nil {
					err = s.Close()
				}
			}
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, durable.ErrStorage) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want that it is not a file", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s holds up the command", name)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpen_LocksThroughNoLink: Open refuses a link in place of a lock file or of the folder of lock files, and creates
// and locks nothing at its target.
func TestOpen_LocksThroughNoLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	newRun(t, dir).mustSync(twoDays())
	locks := filepath.Join(dir, "locks")
	for name, put := range map[string]func() error{
		"a file": func() error {
			path := filepath.Join(locks, "account=acme.lock")
			return errors.Join(os.Remove(path), os.Symlink(filepath.Join(elsewhere, "victim"), path))
		},
		"the folder": func() error { return errors.Join(os.RemoveAll(locks), os.Symlink(elsewhere, locks)) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), dir, "acme", Options{})
		if s != nil || !errors.Is(err, durable.ErrStorage) || !strings.Contains(err.Error(), "locks") {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is made elsewhere, %v", name, left, err)
		}
		if err := errors.Join(os.RemoveAll(locks), os.Mkdir(locks, 0o755),
			os.WriteFile(filepath.Join(locks, "account=acme.lock"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStore_OddFilesHoldNothingUp replaces each kind of file by a pipe, a device and a huge file. Verify names the
// file, and a run neither blocks nor fills its memory.
func TestStore_OddFilesHoldNothingUp(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "data")
	if err := sceneSecond().do(t.Context(), whole, sceneOptions(durable.OS)); err != nil {
		t.Fatal(err)
	}
	for kind, pattern := range map[string]string{
		"manifest": manifest.FileName, "account": "manifest/account=acme/*.json",
		"ledger": "ledger/account=acme/*.jsonl",
		"table":  "parquet/campaign_history/*/data.parquet", "day": "parquet/spend_daily/*/*/data.parquet",
		"raw":        "raw/spend_report/*/*/0001.json.zst",
		"quarantine": "quarantine/*/*/about.json", "commit record": manifest.CommitName,
	} {
		for how, put := range map[string]func(path string) error{
			"pipe":   func(path string) error { return unix.Mkfifo(path, 0o644) },
			"device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"large": func(path string) error {
				return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40))
			},
		} {
			if !schematest.Drawn(kind+how, 3) {
				continue
			}
			dir := filepath.Join(t.TempDir(), "data")
			copyStore(t, whole, dir)
			path := filepath.Join(dir, pattern)
			if kind != "commit record" {
				found, err := filepath.Glob(path)
				if err != nil || len(found) == 0 {
					t.Fatalf("%s: nothing at %s: %v", kind, pattern, err)
				}
				path = found[0]
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := put(path); err != nil {
				t.Skipf("%s: %v", how, err)
			}
			report, err := Verify(t.Context(), dir, sceneOptions(durable.OS), nil)
			rel := strings.TrimPrefix(path, dir+"/")
			named := errors.Is(err, durable.ErrDamaged) && strings.Contains(err.Error(), rel)
			if err == nil {
				named = slices.ContainsFunc(report.Damages, func(d *durable.Damage) bool {
					return d.Path == rel
				})
			}
			if named == (kind == "quarantine") {
				t.Errorf("%s, %s: verify names it: %t (%v)", kind, how, named, err)
			}
			s, err := Open(t.Context(), dir, "acme", sceneOptions(durable.OS))
			if err == nil {
				var left int
				left, err = s.Quarantine().Prune(now.Add(24 * time.Hour))
				if kind == "quarantine" && left > 0 {
					t.Errorf("%s, %s: %d days are left in quarantine", kind, how, left)
				}
				err = errors.Join(err, s.Close())
			}
			if err != nil && !(errors.Is(err, durable.ErrDamaged) && strings.Contains(err.Error(), rel)) {
				t.Errorf("%s, %s: a run ends with %v", kind, how, err)
			}
		}
	}
}
