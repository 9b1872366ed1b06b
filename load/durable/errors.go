package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrStorage reports an error of the file system, for example that the file system is full or read-only.
	ErrStorage = errors.New("storage error")
	// ErrTempDir reports that the folder for temporary files, [os.TempDir], cannot be written to.
	ErrTempDir = errors.New("the folder for temporary files cannot be written to")
	// ErrDamaged reports that stored data has changed since it was stored.
	ErrDamaged = errors.New("stored data fails verification")
	// ErrLocked reports that another process holds a lock that this process needs.
	ErrLocked = errors.New("another run holds the lock")
	// ErrEmpty reports that nothing has been published yet.
	ErrEmpty = errors.New("nothing is stored yet")
	// ErrNewer reports that a newer version of spendsync wrote the store.
	ErrNewer = errors.New("the store was written by a newer version")
	// ErrOlder reports that the store was written by a version that is too old to be upgraded.
	ErrOlder = errors.New("the store was written by a version that was never released")
	// ErrIsCopy reports that a folder is a copy for readers, which lacks files of its generation: no command can
	// publish there.
	ErrIsCopy = errors.New("it is a copy for readers, kept by 'spendsync pull'")
	// ErrIsStore reports that a folder contains a store, which must not be replaced by a copy for readers.
	ErrIsStore = errors.New("it holds a store, not a copy for readers")
)

// Damage describes one stored file whose content or presence differs from what was published.
type Damage struct {
	Path   string `json:"path"`           // path of the file, below the data directory
	What   string `json:"what"`           // the defect
	Repair string `json:"mend,omitempty"` // how to repair it; may be empty
}

func (d *Damage) Error() string { return d.Path + ": " + d.What }

// Unwrap makes every damage an [ErrDamaged].
func (d *Damage) Unwrap() error { return ErrDamaged }

// Damaged returns a [Damage] of the file at path. The last two parameters describe the defect, as in [fmt.Sprintf].
func Damaged(path, repair, format string, args ...any) *Damage {
	return &Damage{Path: path, What: fmt.Sprintf(format, args...), Repair: repair}
}

// Values of [Damage.Repair]: a command, or advice if no command can repair the file.
const (
	RepairRebuild = "spendsync repair rebuild"
	RepairReplay  = "spendsync repair replay"
	RepairBackup  = "restore it from a backup"
)

// Storage marks an error of the file system as an [ErrStorage]; it returns any other error, or nil, unchanged. The
// error may contain paths, which never contain a secret.
func Storage(err error) error {
	if err == nil || errors.Is(err, ErrStorage) {
		return err
	}
	var path *fs.PathError
	var link *os.LinkError
	var errno syscall.Errno
	if errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &errno) {
		return fmt.Errorf("%w: %w", err, ErrStorage)
	}
	return err
}
