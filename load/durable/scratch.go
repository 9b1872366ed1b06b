package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Scratch is a private folder for temporary files. A lock in it shows that its process is alive, so the folder of a
// killed process is removed by the next one that makes a folder beside it.
type Scratch struct {
	Dir  string
	lock io.Closer
}

// scratchPrefix begins the names of the folders.
const scratchPrefix = "spendsync-scratch-"

// lockless is the least age at which a folder without a lock file is removed: a younger one may be about to get it.
const lockless = time.Minute

// MakeScratch makes a folder below a parent, or below [os.TempDir] if the parent is empty. It must be removed. An error
// is an [ErrTempDir].
func MakeScratch(parent string) (*Scratch, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweepScratch(parent)
	for {
		dir, err := os.MkdirTemp(parent, scratchPrefix)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTempDir, Storage(err))
		}
		file := filepath.Join(dir, "lock")
		lock, err := OS.Lock(file)
		if lock != nil && Exists(file) {
			return &Scratch{dir, lock}, nil
		}
		if lock != nil {
			_ = lock.Close()
		}
		_ = os.RemoveAll(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w", ErrTempDir, Storage(err))
		}
		// Another process took the folder for that of a dead one before this one had its lock, and may have removed it.
	}
}

// Remove removes the folder with all files in it. Another process that sweeps may put a lock file into it meanwhile.
func (s *Scratch) Remove() error {
	err := os.RemoveAll(s.Dir)
	for tries := 0; err != nil && tries < 5; tries++ {
		err = os.RemoveAll(s.Dir)
	}
	return errors.Join(Storage(err), s.lock.Close())
}

// sweepScratch removes the folders of dead processes. A folder that cannot be removed, for example another user's,
// stays.
func sweepScratch(parent string) {
	all, _ := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	for _, dir := range all {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		file := filepath.Join(dir, "lock")
		if !Exists(file) && time.Since(info.ModTime()) < lockless {
			continue
		}
		if lock, err := OS.Lock(file); err == nil && lock != nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}
