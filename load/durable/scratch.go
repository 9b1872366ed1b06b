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

// Scratch is a private folder for temporary files. It contains a lock file that is locked while the process is alive,
// so that [MakeScratch] can remove the folders of killed processes.
type Scratch struct {
	Dir  string
	lock io.Closer
}

// scratchPrefix begins the name of every scratch folder, so that old scratch folders can be found.
const scratchPrefix = "spendsync-scratch-"

// lockless is the age from which a scratch folder without a lock file is removed. In a younger folder, the lock file
// may not have been created yet.
const lockless = time.Minute

// MakeScratch creates a folder below the folder parent, or below [os.TempDir] if parent is empty. The caller must
// remove the new folder. Errors are [ErrTempDir].
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
		// Try again: another process has removed this folder before the lock was taken, because the folder looked like
		// one that a dead process had left.
	}
}

// Remove removes the folder with its files. It tries several times, because a process that removes old folders may
// create a lock file in this folder meanwhile.
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
