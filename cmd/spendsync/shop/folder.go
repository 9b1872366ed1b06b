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

// Folder is a folder that belongs to the demo. A marker file shows this, and is locked while a demo runs.
type Folder struct {
	dir    string
	marker *flock.Flock
}

// markerName is the name of the marker file. The file contains "complete" if the demo is complete.
const markerName = ".spendsync-demo"

// Owns reports whether a folder is the demo's.
func Owns(dir string) bool { return durable.Exists(filepath.Join(dir, markerName)) }

// OpenFolder opens a new or empty folder, or a folder that already belongs to the demo.
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

// IsComplete reports whether an earlier demo in this folder is complete.
func (f *Folder) IsComplete() bool {
	text, err := cli.ReadFile(filepath.Join(f.dir, markerName), cli.MaxSecret)
	return err == nil && strings.HasPrefix(string(text), "complete")
}

// Clear removes everything except the marker file, and marks the demo as incomplete.
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

// Finish marks the demo as complete.
func (f *Folder) Finish() error {
	return durable.Storage(os.WriteFile(filepath.Join(f.dir, markerName), []byte("complete\n"), 0o644))
}
