package job

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"spendsync/schema"
	"spendsync/transform"
)

// maxRowsInFlight is how many rows all days together may hold that are being read. Of
// large days fewer are read at the same time then, though always two: the memory of a
// run does not follow the size of the account.
const maxRowsInFlight = 400_000

// workspace is the memory that a day is read with. The next day uses it again, with
// the texts that both name: new memory costs more than filling it.
type workspace struct {
	intern *transform.Interner
	rows   schema.SpendRows
}

// workspaces is a pool of them, under a limit of rows.
type workspaces struct {
	rows *semaphore.Weighted
	mu   sync.Mutex
	free []*workspace
}

func newWorkspaces() *workspaces { return &workspaces{rows: semaphore.NewWeighted(maxRowsInFlight)} }

// drop forgets the free workspaces: their memory is wanted elsewhere.
func (p *workspaces) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = nil
}

// lease is one day's hold on a workspace, acquired when the day's size is known.
type lease struct {
	pool *workspaces
	*workspace
	rows int64 // acquired
}

// acquire waits until a day of that many rows may be read, and gets a workspace. A
// second read of the day keeps what the first acquired.
func (l *lease) acquire(ctx context.Context, rows int64) error {
	if l.rows == 0 {
		rows = min(rows, maxRowsInFlight/2)
		if err := l.pool.rows.Acquire(ctx, rows); err != nil {
			return err
		}
		l.rows = rows
	}
	if l.workspace != nil {
		return nil
	}
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		l.workspace = &workspace{intern: transform.NewInterner()}
		return nil
	}
	l.workspace, p.free = p.free[last], p.free[:last]
	return nil
}

// release gives back what was acquired, if anything was.
func (l *lease) release() {
	if l.workspace == nil {
		return
	}
	p := l.pool
	p.rows.Release(l.rows)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, l.workspace)
	*l = lease{pool: p}
}
