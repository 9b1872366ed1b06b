package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"spendsync/load/durable"
)

// lockStore waits for the store's lock, which covers building the DuckDB file and the commit.
func lockStore(d durable.Disk, ctx context.Context, dir string, wait time.Duration) (io.Closer, error) {
	return waitForLock(d, ctx, dir, "store.lock", wait)
}

// waitForLock waits for the lock of the file called name in the folder locks/.
func waitForLock(d durable.Disk, ctx context.Context, dir, name string, wait time.Duration) (io.Closer, error) {
	path := filepath.Join(dir, "locks", name)
	lock, err := d.WaitForLock(ctx, path, wait)
	if errors.Is(err, fs.ErrNotExist) { // a copy of a store may have no folder locks/
		if err := d.MakeDirs(filepath.Dir(path)); err != nil {
			return nil, err
		}
		lock, err = d.WaitForLock(ctx, path, wait)
	}
	if errors.Is(err, durable.ErrLocked) {
		err = fmt.Errorf("%s in %s was not free for %v: %w", name, dir, wait, err)
	}
	return lock, err
}
