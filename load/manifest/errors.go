package manifest

import (
	"errors"

	"spendsync/load/durable"
)

var (
	// ErrStorage says that the file system refused: full, read-only, I/O error.
	ErrStorage = durable.ErrStorage
	// ErrDamaged says that stored data is not what it was when it was stored.
	ErrDamaged = durable.ErrDamaged
	// ErrEmpty says that nothing has been published yet.
	ErrEmpty = durable.ErrEmpty
	// ErrNewer says that a newer version of spendsync wrote the store.
	ErrNewer = errors.New("the store was written by a newer version")
)

// Damage is one stored file that is not as it was published.
type Damage = durable.Damage
