package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Lock is [FS.Lock]. While the lock is held, the lock file contains a line that describes the holder, for
// [Disk.LockedBy]. Only messages use the line, so failures to write it are ignored.
func (System) Lock(path string) (io.Closer, error) {
	// Opening a pipe could block, and a link could point to a file elsewhere.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "lock", Path: path, Err: errors.New("it is not a regular file; remove it")}
	}
	folder := filepath.Dir(path)
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "lock", Path: folder, Err: errors.New("it is not a folder; remove it")}
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK))
	locked, err := l.TryLock()
	if err != nil || !locked {
		return nil, err
	}
	host, _ := os.Hostname()
	writeHolder(path, fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host,
		time.Now().UTC().Format(time.RFC3339)))
	return held{l}, nil
}

// held is a lock that this process holds.
type held struct{ *flock.Flock }

func (h held) Close() error {
	if h.Locked() { // a second Close must not remove the line of the next holder
		writeHolder(h.Path(), "")
	}
	return h.Flock.Close()
}

// writeHolder replaces the content of a lock file that this process has locked.
func writeHolder(path, text string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return // for example because another user owns the lock file
	}
	_, _ = f.WriteString(text)
	_ = f.Close()
}

var holderForm = regexp.MustCompile(`^process \d+ on [\w.-]+ since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$`)

// lockPoll is the pause between attempts to take a lock that another process holds.
const lockPoll = 50 * time.Millisecond

// WaitForLock takes the lock of a lock file. If another process holds the lock, WaitForLock waits, at most for the
// given duration, and then returns the error of [Disk.LockedBy].
func (d Disk) WaitForLock(ctx context.Context, path string, wait time.Duration) (io.Closer, error) {
	for end := time.Now().Add(wait); ; {
		l, err := d.Lock(path)
		if l != nil || err != nil {
			return l, Storage(err)
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, d.LockedBy(path)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s in %s: %w", filepath.Base(path), filepath.Dir(path), ctx.Err())
		case <-time.After(min(left, lockPoll)):
		}
	}
}

// holderDelay is a pause before the line in a lock file is read. The line may be of a killed process, and a process
// that has just taken the lock needs this time to replace the line.
const holderDelay = 10 * time.Millisecond

// LockedBy returns the [ErrLocked] for a lock file that another process has locked. If the file has a line that
// describes the holder, the error contains the line.
func (d Disk) LockedBy(path string) error {
	time.Sleep(holderDelay)
	line, err := d.ReadFile(path, 1<<10)
	if err != nil || !holderForm.Match(line) {
		return ErrLocked
	}
	return fmt.Errorf("%w: %s", ErrLocked, strings.TrimSpace(string(line)))
}
