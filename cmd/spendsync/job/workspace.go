package job

import (
	"context"

	"golang.org/x/sync/semaphore"

	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// maxRowsInFlight is how many rows all days together may hold that are being read. Of
// large days fewer are read at the same time then, though always two: the memory of a
// run does not follow the size of the account.
const maxRowsInFlight = 400_000

// workspace is the memory that a day is read with.
type workspace struct {
	intern *transform.Interner
	rows   schema.SpendRows
}

// lease is one day's workspace, acquired when the day's size is known.
type lease struct {
	inFlight *semaphore.Weighted
	*workspace
	replies *load.Replies     // of the day
	rows    int64             // acquired
	oddIDs  []transform.OddID // of all reads: the interner names each form once
	// isEmptied: a read had none of the stored rows, nor others.
	isEmptied bool
}

// acquire waits until a day of that many rows may be read. A second read of the day keeps
// what the first acquired.
func (l *lease) acquire(ctx context.Context, rows int64) error {
	if l.rows == 0 {
		rows = min(rows, maxRowsInFlight/2)
		if err := l.inFlight.Acquire(ctx, rows); err != nil {
			return err
		}
		l.rows = rows
	}
	if l.workspace == nil {
		l.workspace = &workspace{intern: transform.NewInterner()}
	}
	return nil
}

// release gives back the acquired workspace, if any.
func (l *lease) release() {
	if l.workspace != nil {
		l.inFlight.Release(l.rows)
		l.rows, l.workspace = 0, nil
	}
}
