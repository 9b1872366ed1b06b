package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrStorage says that the file system refused: full, read-only, I/O error.
	ErrStorage = errors.New("storage error")
	// ErrDamaged says that stored data is not what it was when it was stored.
	ErrDamaged = errors.New("stored data fails verification")
	// ErrLocked says that another process holds a lock that this one needs.
	ErrLocked = errors.New("another run holds the lock")
	// ErrEmpty says that nothing has been published yet.
	ErrEmpty = errors.New("nothing is stored yet")
)

// Damage is one stored file that is not as it was published.
type Damage struct {
	Path   string `json:"path"`           // the file, below the data directory
	What   string `json:"what"`           // what is wrong with it
	Repair string `json:"mend,omitempty"` // the command that repairs it, where one does
}

func (d *Damage) Error() string { return d.Path + ": " + d.What }

// Unwrap makes every damage an [ErrDamaged].
func (d *Damage) Unwrap() error { return ErrDamaged }

// Damaged is a damage: what is wrong with a file, and what repairs it.
func Damaged(path, repair, format string, args ...any) *Damage {
	return &Damage{Path: path, What: fmt.Sprintf(format, args...), Repair: repair}
}

// What repairs a damage.
const (
	RepairRebuild = "spendsync rebuild"
	RepairReplay  = "spendsync replay"
	RepairBackup  = "restore it from a backup"
)

// Storage marks an error of the file system as an [ErrStorage]; another error, or nil,
// stays as it is. Paths in it are our own names; no secret is ever part of a path.
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
