package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"spendsync/load/durable"
)

// lockPoll is the pause between attempts to take a lock that another process holds.
const lockPoll = 50 * time.Millisecond

// lockStore waits for the store's lock, which covers building the DuckDB file and the commit.
func lockStore(d durable.Disk, ctx context.Context, dir string, wait time.Duration) (unlock func() error, err error) {
	return waitForLock(d, ctx, dir, "store.lock", wait)
}

// waitForLock waits for the lock with a file name below locks/.
func waitForLock(d durable.Disk, ctx context.Context, dir, name string, wait time.Duration) (unlock func() error,
	err error) {
	path := filepath.Join(dir, "locks", name)
	for end := time.Now().Add(wait); ; {
		l, err := d.Lock(path)
		if errors.Is(err, fs.ErrNotExist) { // the store was copied without its locks
			if err := d.MakeDirs(filepath.Join(dir, "locks")); err != nil {
				return nil, err
			}
			l, err = d.Lock(path)
		}
		if err != nil {
			return nil, durable.Storage(err)
		}
		if l != nil {
			return func() error { return durable.Storage(l.Close()) }, nil
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, fmt.Errorf("%s in %s was not free for %v: %w", name, dir, wait, d.LockedBy(path))
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s in %s: %w", name, dir, ctx.Err())
		case <-time.After(min(left, lockPoll)):
		}
	}
}
