package check

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"spendsync/load/durable"
)

// scratch begins the names of the temporary folders.
const scratch = "spendsync-check-"

// leftAfter is the least age of a temporary folder that is removed because its lock is free: a younger one may be about
// to be locked.
const leftAfter = time.Minute

// scratchFolder makes a temporary folder and returns the function that removes it. A lock in the folder shows other
// checks that it is in use. Folders of killed checks, whose locks are free, are removed first.
func scratchFolder() (dir string, release func(), err error) {
	removeLeft()
	if dir, err = os.MkdirTemp("", scratch); err != nil {
		return "", nil, err
	}
	held, err := lockOf(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		_ = held.Close()
	}, nil
}

// lockOf takes the lock of a temporary folder; nil without an error: somebody else has it.
func lockOf(dir string) (io.Closer, error) { return durable.OS.Lock(filepath.Join(dir, "lock")) }

// removeLeft removes the folders of checks that were killed. What cannot be removed, such as another user's, stays.
func removeLeft() {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), scratch+"*"))
	for _, dir := range all {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || time.Since(info.ModTime()) < leftAfter {
			continue
		}
		if held, err := lockOf(dir); err == nil && held != nil {
			_ = os.RemoveAll(dir)
			_ = held.Close()
		}
	}
}
