package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"

	"spendsync/load/durable"
)

// maxDepth is deeper than the folders of a store are; it ends a walk through links that
// lead back.
const maxDepth = 8

// tryRenames renames an empty file from the staging area into every folder of the store and back,
// as a commit does. Device numbers do not prove that this works: a folder mounted from the same
// file system has the same number, but refuses the rename. The folders keep their modification
// times. It also reports whether the file system can clone a file.
func tryRenames(dir string) (folders int, clones bool, err error) {
	staging := filepath.Join(dir, "staging")
	if !isThere(staging) {
		return 0, false, nil // no run has been here
	}
	defer keepTimes(staging)()
	aside := filepath.Join(staging, "check-"+ulid.Make().String())
	if err := os.Mkdir(aside, 0o700); err != nil {
		return 0, false, err
	}
	defer os.RemoveAll(aside)
	probe := filepath.Join(aside, "probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return 0, false, err
	}
	for _, name := range []string{"parquet", "raw", "ledger"} {
		n, err := tryBelow(filepath.Join(dir, name), probe, 0)
		folders += n
		if err != nil {
			return folders, false, err
		}
	}
	clones = durable.System{}.Clone(probe, filepath.Join(aside, "clone")) == nil
	return folders + 1, clones, tryRename(dir, probe)
}

// tryBelow tries a folder and all below it. Links to folders are followed, as a commit
// follows them.
func tryBelow(dir, probe string, depth int) (folders int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || depth > maxDepth {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := tryRename(dir, probe); err != nil {
		return 0, err
	}
	folders = 1
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		n, err := tryBelow(path, probe, depth+1)
		folders += n
		if err != nil {
			return folders, err
		}
	}
	return folders, nil
}

func tryRename(dir, probe string) error {
	defer keepTimes(dir)()
	// No reader mistakes a name that starts with a point for a file of the store.
	there := filepath.Join(dir, ".spendsync-"+filepath.Base(filepath.Dir(probe)))
	err := os.Rename(probe, there)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a run that has started meanwhile cleans the staging area
	}
	if err != nil {
		return err
	}
	if err := os.Rename(there, probe); err != nil {
		return errors.Join(err, os.Remove(there))
	}
	return nil
}

// keepTimes gives a folder its times back, as far as its owner lets us.
func keepTimes(dir string) (restore func()) {
	info, err := os.Stat(dir)
	if err != nil {
		return func() {}
	}
	return func() { _ = os.Chtimes(dir, time.Time{}, info.ModTime()) }
}
