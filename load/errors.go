package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrLocked says that another run holds a lock that this one needs.
	ErrLocked = errors.New("another run holds the lock")
	// ErrStorage says that the file system refused: full, read-only, I/O error.
	ErrStorage = errors.New("storage error")
	// ErrDamaged says that stored data is not what it was when it was stored.
	ErrDamaged = errors.New("stored data fails verification")
	// ErrNewer says that a newer version of spendsync wrote the store.
	ErrNewer = errors.New("the store was written by a newer version")
	// ErrEmpty says that nothing has been published yet.
	ErrEmpty = errors.New("nothing is stored yet")
)

// Damage is one stored thing that is not as it was published.
type Damage struct {
	Path string `json:"path"`           // the file, below the data directory
	What string `json:"what"`           // what is wrong with it
	Mend string `json:"mend,omitempty"` // the command that mends it, where one does
}

func (d *Damage) Error() string { return d.Path + ": " + d.What }

// Unwrap makes every damage an [ErrDamaged].
func (d *Damage) Unwrap() error { return ErrDamaged }

func damaged(path, mend, format string, args ...any) *Damage {
	return &Damage{Path: path, What: fmt.Sprintf(format, args...), Mend: mend}
}

// The commands that mend a damage.
const (
	mendRebuild = "spendsync rebuild"
	mendReplay  = "spendsync replay"
	mendBackup  = "restore it from a backup"
)

// storage marks an error of the file system as one. Paths in it are our own
// names; no secret is ever part of a path.
func storage(err error) error {
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
