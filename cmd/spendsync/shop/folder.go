package shop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/durable"
)

// Folder is the data directory of the demo. A marker file distinguishes it from other folders. The marker file is
// locked while a demo runs.
type Folder struct {
	dir    string
	marker *flock.Flock
}

// markerName is the name of the marker file. The file begins with "complete" once the demo has run to its end.
const markerName = ".spendsync-demo"

// Owns reports whether a folder has the demo's marker file.
func Owns(dir string) bool { return durable.Exists(filepath.Join(dir, markerName)) }

// OpenFolder opens and locks a folder for the demo. The folder must be new, empty, or already the demo's.
func OpenFolder(dir string) (*Folder, error) {
	path := filepath.Join(dir, markerName)
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, durable.Storage(err)
		}
	case err != nil:
		return nil, durable.Storage(err)
	case len(entries) > 0 && !Owns(dir):
		return nil, exit.Advise(exit.Usagef("--data-dir %s: the folder is not empty, and not the demo's", dir),
			"name another folder with --data-dir; nothing in this one was touched")
	}
	f := &Folder{dir, flock.New(path)}
	locked, err := f.marker.TryLock()
	if err != nil {
		return nil, durable.Storage(err)
	}
	if !locked {
		return nil, fmt.Errorf("another demo runs in %s: %w", dir, durable.ErrLocked)
	}
	return f, nil
}

// Close unlocks the folder, so that another demo can use it.
func (f *Folder) Close() { _ = f.marker.Close() }

// IsComplete reports whether a demo in this folder has run to its end.
func (f *Folder) IsComplete() bool {
	text, err := cli.ReadFile(filepath.Join(f.dir, markerName), cli.MaxSecret)
	return err == nil && strings.HasPrefix(string(text), "complete")
}

// Clear deletes everything except the marker file. The marker then no longer says that the demo is complete.
func (f *Folder) Clear() error {
	if err := os.WriteFile(filepath.Join(f.dir, markerName), []byte("begun\n"), 0o644); err != nil {
		return durable.Storage(err)
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return durable.Storage(err)
	}
	for _, e := range entries {
		if e.Name() == markerName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.dir, e.Name())); err != nil {
			return durable.Storage(err)
		}
	}
	return nil
}

// Finish records that the demo has run to its end.
func (f *Folder) Finish() error {
	return durable.Storage(os.WriteFile(filepath.Join(f.dir, markerName), []byte("complete\n"), 0o644))
}
