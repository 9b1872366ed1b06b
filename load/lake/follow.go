package lake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// generationNote is the snapshot property that marks a snapshot written by spendsync.
const generationNote = "spendsync.generation"

// The retries of a commit that lost against another.
const (
	maxTries  = 12
	firstWait = 200 * time.Millisecond
)

// uploads is how many files are on their way at a time. Each takes up to 25 MiB of memory.
const uploads = 4

// FollowOptions are the permissions of a follower.
type FollowOptions struct {
	Dir         string // data directory of the store
	AllowShrink bool   // take from the lake what the store does not have
	Inbox       bool   // leave a description for [Lake.Commit] instead of committing

	Looked time.Time // when the caller's last [Lake.Follow] looked at every table; zero: unknown
}

// lookAfter is how old a look at every table may become while nothing is committed. What another program has
// changed is seen by each commit; without one it is looked for once a day.
const lookAfter = 24 * time.Hour

// Followed is the result of a follower's run.
type Followed struct {
	Generation int64          // the lake's now
	Behind     int64          // generations of the store that the lake had not, before
	Accounts   int            // of the store
	Tables     map[string]int // snapshots made, by table: files added and removed
	Added      int            // files
	Removed    int            // files
	Rows       int64          // of the files that were added
	Bytes      int64          // of the files that were added
	Described  bool           // a description is in the inbox now; nothing was committed
	Looked     bool           // at every table
	Changed    []string       // tables that another program has written to, which this run made ours again
	Foreign    []string       // columns that somebody has added to tables, as table.column
	Tries      int
	Requests   int64 // to the catalog
}

// IsNothing reports whether the lake already had the generation.
func (f *Followed) IsNothing() bool { return len(f.Tables) == 0 }

// follower is one commit of one generation, over its tries.
type follower struct {
	*Lake
	opts  FollowOptions
	token string
	sync.Mutex
	sent    map[string]iceberg.DataFile // by table and key: what tries before have uploaded
	merging sync.Mutex
	folds   bool // only files already in sent are available
	done    *Followed
	asked   *asked // the last commit that was sent
}

// asked is a commit that was sent: if its answer was lost, the lake's rows tell that it was done.
type asked struct {
	rows map[string]Marker
	done *Followed
}

// isDone reports whether the lake's rows are those of the commit.
func (a *asked) isDone(marks *markers) bool {
	if a == nil {
		return false
	}
	for account, row := range a.rows {
		if marks.rows[account].Snapshots != row.Snapshots {
			return false
		}
	}
	return true
}

// Follow makes the lake's part of every account of a store exactly equal to the published
// generation, in one transaction over all tables: from any generation to the newest in one step. If
// the lake is current, it does nothing. Whatever happens on the way, the lake is in its old state
// or its new one, and running again ends in the new one.
func (l *Lake) Follow(ctx context.Context, o FollowOptions) (*Followed, error) {
	l.requests.Store(0)
	f := &follower{Lake: l, opts: o, token: strings.ReplaceAll(uuid.NewString(), "-", "")[:8],
		sent: map[string]iceberg.DataFile{}}
	err := f.retry(ctx, func() error {
		m, err := manifest.OpenListing(o.Dir)
		if err != nil {
			return err
		}
		defer m.Close()
		if o.Inbox && len(m.Accounts) > 0 {
			return f.describe(ctx, m)
		}
		return f.once(ctx, m)
	})
	if err != nil {
		return nil, err
	}
	f.done.Requests = l.requests.Load()
	return f.done, nil
}

// retry tries a commit until it is done or can't be.
func (f *follower) retry(ctx context.Context, once func() error) error {
	for try := 1; ; try++ {
		f.done = &Followed{Tables: map[string]int{}, Tries: try}
		err := once()
		if err == nil {
			return nil
		}
		// The answer to a commit may be lost: then the next try finds it done, or does it. The
		// catalog takes only one of both.
		again := errors.Is(err, errMoved) || errors.Is(err, rest.ErrCommitFailed) ||
			errors.Is(err, rest.ErrCommitStateUnknown)
		if !again || try == maxTries || ctx.Err() != nil {
			return err
		}
		wait := firstWait << min(try-1, 5)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

// once tries to bring the lake to a generation.
func (f *follower) once(ctx context.Context, m *manifest.Listing) error {
	marker, marks, err := f.markers(ctx, m.Names())
	if err != nil {
		return err
	}
	w, err := wantChanged(m, f.specs, marks)
	if err != nil {
		return err
	}
	same, err := f.compare(w, marks)
	if err != nil {
		return err
	}
	if same && f.asked.isDone(marks) { // its answer was lost
		tries := f.done.Tries
		f.done = f.asked.done
		f.done.Tries = tries
		return nil
	}
	if same && !f.isLookDue(w, marks) {
		return nil
	}
	tables, err := f.tables(ctx, true)
	if err != nil {
		return err
	}
	f.done.Looked, f.done.Foreign = true, f.foreignColumns(tables)
	if same {
		if touched, err := f.isTouched(tables, w, marks); err != nil || !touched {
			return err
		}
	}
	tables[MarkerTable] = marker // whose rows were read: the commit holds only if they still stand
	changes, err := f.changes(ctx, w, tables, marks, func(keep filter) (*wanted, error) {
		return wantOf(m, f.specs, marks, keep)
	})
	if err != nil {
		return err
	}
	return f.commit(ctx, w, changes, marker, marks)
}

// compare refuses a lake that is ahead of the store, and reports whether the lake already has the
// wanted generation.
func (f *follower) compare(w *wanted, marks *markers) (same bool, err error) {
	f.done.Generation, f.done.Accounts = w.manifest.Generation, len(w.accounts)
	same = true
	store := &ledgers{dir: f.opts.Dir}
	for account := range w.accounts {
		row, ok := marks.rows[account]
		if ok {
			if err := store.checkAhead(w.manifest, row); err != nil {
				return false, err
			}
		}
		f.done.Behind = max(f.done.Behind, w.manifest.Generation-row.Generation)
		same = same && ok && marks.isOf(account, w)
	}
	return same, nil
}

// isLookDue reports whether not every table was looked at within a day.
func (f *follower) isLookDue(w *wanted, marks *markers) bool {
	last := f.opts.Looked
	for account := range w.accounts {
		if at := schema.Instant(marks.rows[account].CommittedAt).Time(); at.After(last) {
			last = at
		}
	}
	return f.Lake.opts.Now().Sub(last) >= lookAfter
}

// isTouched reports whether a table is not as the last commit left it.
func (f *follower) isTouched(tables map[string]*lakeTable, w *wanted, marks *markers) (bool, error) {
	for _, s := range f.dataSpecs() {
		if r, err := f.scope(tables[s.name], w, marks); err != nil || !r.isEmpty() {
			return true, err
		}
	}
	return false, nil
}

// changes plans every table and uploads the files that it lacks. again reads the wanted files once
// more: for tables that another program has written to, more than the partitions that differ from the
// marker must be compared.
func (f *follower) changes(ctx context.Context, w *wanted, tables map[string]*lakeTable, marks *markers,
	again func(filter) (*wanted, error)) ([]*change, error) {
	reach, whole := map[string]scope{}, false
	for _, s := range f.dataSpecs() {
		r, err := f.scope(tables[s.name], w, marks)
		if err != nil {
			return nil, err
		}
		reach[s.name] = r
		for account := range r.accounts {
			_, known := marks.rows[account]
			whole = whole || known
		}
	}
	if whole {
		var err error
		if w, err = again(func(table string, c partition, _ string) bool { return reach[table].holds(c) }); err != nil {
			return nil, err
		}
	}
	var all []*change
	for _, s := range f.dataSpecs() {
		t := tables[s.name]
		c, add, err := t.plan(ctx, reach[s.name], w.files[s.name])
		if err != nil {
			return nil, err
		}
		if !f.opts.AllowShrink && !f.opts.Inbox { // of an inbox whoever commits it judges
			if err := checkShrink(s, w.accounts, c.live, add); err != nil {
				return nil, err
			}
		}
		if c.added, err = f.upload(ctx, t, add); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// scope returns the partitions of a table that may differ: those that changed since the marker was
// written. If the marker does not know an account, or somebody else has written to the table since,
// the scope is the entire account.
func (f *follower) scope(t *lakeTable, w *wanted, marks *markers) (scope, error) {
	s := scope{accounts: map[string]bool{}, partitions: map[partition]bool{}}
	ours := map[int64]bool{}
	for account := range w.accounts {
		if _, known := marks.rows[account]; !known {
			s.accounts[account] = true
			continue
		}
		row := marks.decoded(account)
		if row.err != nil {
			return s, row.err
		}
		since := row.snapshots[t.name]
		if _, asked := ours[since]; !asked {
			ours[since] = since == 0 || t.byUs(since)
		}
		if id, ok := row.uuids[t.name]; ok && id != t.uuid().String() && t.tbl.CurrentSnapshot() != nil {
			return s, fmt.Errorf("%w: table %s is another one (%s) than that of the last commit (%s); to fill all "+
				"tables again, drop %s", ErrForeign, t.name, t.uuid(), id, MarkerTable)
		} else if !ok || id != t.uuid().String() || !ours[since] {
			if !ours[since] && !slices.Contains(f.done.Changed, t.name) {
				f.done.Changed = append(f.done.Changed, t.name)
			}
			s.accounts[account] = true
			continue
		}
		had, has := row.hashes[t.name], w.slices(account)[t.name]
		for _, names := range []map[string]string{had, has} {
			for month := range names {
				if had[month] != has[month] {
					s.partitions[partitionNamed(account, month)] = true
				}
			}
		}
	}
	return s, nil
}

// partitionNamed is the partition that lake_generation names so.
func partitionNamed(account, month string) partition {
	c := partition{account, noMonth}
	if year, number, ok := strings.Cut(month, "-"); ok {
		y, _ := strconv.Atoi(year)
		m, _ := strconv.Atoi(number)
		c.month = (y-1970)*12 + m - 1
	}
	return c
}

// upload brings files into the lake, a few at a time; those of a try before are there.
func (f *follower) upload(ctx context.Context, t *lakeTable, files []file) ([]iceberg.DataFile, error) {
	sent := make([]iceberg.DataFile, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, one := range files {
		id := t.name + "/" + one.key()
		f.Lock()
		before := f.sent[id]
		f.Unlock()
		f.done.Rows += one.info.Rows
		f.done.Bytes += one.info.Bytes
		if before != nil {
			sent[i] = before
			continue
		}
		if f.folds {
			return nil, errors.Join(g.Wait(), &refusal{one.account, fmt.Errorf("%w: %s of table %s is neither in the "+
				"lake nor described: run 'spendsync-lake follow' at the store", ErrDiffers, one.key(), t.name)})
		}
		g.Go(func() error {
			if err := f.step("upload"); err != nil {
				return err
			}
			if one.days != nil { // a group of its rows is held in memory
				f.merging.Lock()
				defer f.merging.Unlock()
			}
			d, err := t.upload(ctx, f.opts.Dir, one, f.token)
			if err != nil {
				return err
			}
			if d.Count() != one.info.Rows || partitionOfFile(d) != t.spec.partitionOf(one) {
				return fmt.Errorf("%s: %w: it holds %d rows of %v, the manifest says %d of %v", one.path,
					durable.ErrDamaged, d.Count(), partitionOfFile(d), one.info.Rows, t.spec.partitionOf(one))
			}
			sent[i] = d
			f.Lock()
			f.sent[id] = d
			f.Unlock()
			return nil
		})
	}
	return sent, g.Wait()
}
