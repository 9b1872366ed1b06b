package load

import (
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

var (
	// ErrLocked says that another run holds a lock that this one needs.
	ErrLocked = durable.ErrLocked
	// ErrStorage says that the file system refused: full, read-only, I/O error.
	ErrStorage = durable.ErrStorage
	// ErrDamaged says that stored data is not what it was when it was stored.
	ErrDamaged = durable.ErrDamaged
	// ErrEmpty says that nothing has been published yet.
	ErrEmpty = durable.ErrEmpty
	// ErrNewer says that a newer version of spendsync wrote the store.
	ErrNewer = manifest.ErrNewer
)

// Damage is one stored file that is not as it was published.
type Damage = durable.Damage
