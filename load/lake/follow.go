package lake

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/google/uuid"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// The retries of a commit that lost against another.
const (
	maxTries  = 12
	firstWait = 200 * time.Millisecond
)

// FollowOptions are the permissions of a follower.
type FollowOptions struct {
	Dir         string // data directory of the store; empty: nothing is uploaded
	AllowShrink bool   // take from the lake what the store does not have

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
	Looked     bool           // at every table
	Changed    []string       // tables that another program has written to, which this run made ours again
	Foreign    []string       // columns that somebody has added to tables, as table.column
	NoView     string         // why the catalog does not take the view [SpendView]; empty: it has it, or has no views
	Tries      int
	Requests   int64 // to the catalog
}

// IsNothing reports whether the lake already had the generation.
func (f *Followed) IsNothing() bool { return len(f.Tables) == 0 }

// Follow makes the lake's part of every account of a store exactly equal to the published
// generation, in one transaction over all tables: from any generation to the newest in one step. If
// the lake is current, it does nothing. Whatever happens on the way, the lake is in its old state
// or its new one, and running again ends in the new one.
func (l *Lake) Follow(ctx context.Context, o FollowOptions) (*Followed, error) {
	return l.Try(ctx, o, func(t *Try) error {
		m, err := manifest.OpenListing(o.Dir)
		if err != nil {
			return err
		}
		defer m.Close()
		marker, made, err := t.lake.marker(ctx)
		if err != nil {
			return err
		}
		if t.asked == nil && t.isCurrent(marker, m) {
			return nil
		}
		marks, err := t.read(ctx, marker, made, m.Names())
		if err != nil {
			return err
		}
		want, err := marks.Want(m)
		if err != nil {
			return err
		}
		same, err := t.Compare(want)
		if err != nil {
			return err
		}
		if same && t.WasDone(marks) {
			return nil
		}
		if same && !t.isLookDue(want) {
			return nil
		}
		tables, err := t.tables(ctx, marks)
		if err != nil {
			return err
		}
		if same {
			if touched, err := t.isTouched(tables, want); err != nil || !touched {
				return err
			}
		}
		staged, err := t.stage(ctx, want, tables)
		if err != nil {
			return err
		}
		return t.Commit(ctx, staged)
	})
}

// Try is one try of a commit: what the lake has is read, what stores want of it is staged, and all of that is
// committed.
type Try struct {
	*tries
	Done *Followed
}

// tries is what the tries of one commit share.
type tries struct {
	lake    *Lake
	opts    FollowOptions
	token   string
	mu      sync.Mutex
	sent    map[string]iceberg.DataFile // by table and key: what tries before have uploaded
	merging sync.Mutex
	asked   *asked // the last commit that was sent
}

// asked is a commit that was sent: if its answer was lost, the lake's rows tell that it was done.
type asked struct {
	rows map[string]Marker
	done *Followed
}

// WasDone reports whether the commit of a try before was done, and only its answer lost: then Done is of that try.
func (t *Try) WasDone(marks *Markers) bool {
	if t.asked == nil {
		return false
	}
	for account, row := range t.asked.rows {
		if marks.rows[account] != row { // the instant, too: another follower's commit may have left the same snapshots
			return false
		}
	}
	t.asked.done.Tries = t.Done.Tries
	t.Done = t.asked.done
	return true
}

// Step ends a test's commit in the middle.
func (t *Try) Step(name string) error { return t.lake.step(name) }

// Try tries a commit until it is done or can't be. What a try has uploaded need not be uploaded by the next.
func (l *Lake) Try(ctx context.Context, o FollowOptions, once func(*Try) error) (*Followed, error) {
	l.requests.Store(0)
	all := &tries{lake: l, opts: o, token: strings.ReplaceAll(uuid.NewString(), "-", "")[:8],
		sent: map[string]iceberg.DataFile{}}
	for try := 1; ; try++ {
		t := &Try{all, &Followed{Tables: map[string]int{}, Tries: try}}
		err := once(t)
		if err == nil {
			t.Done.Requests = l.requests.Load()
			return t.Done, nil
		}
		// The answer to a commit may be lost: then the next try finds it done, or does it. The
		// catalog takes only one of both.
		again := errors.Is(err, errMoved) || errors.Is(err, rest.ErrCommitFailed) ||
			errors.Is(err, rest.ErrCommitStateUnknown)
		if !again || try == maxTries || ctx.Err() != nil {
			return nil, err
		}
		wait := firstWait << min(try-1, 5)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}

// Compare refuses a lake that is ahead of the store, and reports whether the lake already has the
// wanted generation.
func (t *Try) Compare(w *Wanted) (same bool, err error) {
	same = true
	store := &ledgers{dir: t.opts.Dir}
	t.Done.Accounts, t.Done.Generation = len(w.accounts), w.listing.Manifest.Generation
	for account := range w.accounts {
		of := w.listing.Manifest
		row, ok := w.marks.rows[account]
		if ok {
			if err := store.checkAhead(of, row); err != nil {
				return false, err
			}
		}
		t.Done.Behind = max(t.Done.Behind, of.Generation-row.Generation)
		same = same && ok && w.marks.isOf(account, w)
	}
	return same, nil
}

// isCurrent reports whether the last to write to lake_generation was this binary, for just this generation of the
// store, and every table was looked at within a day. Then its rows need not be read.
func (t *Try) isCurrent(marker *lakeTable, m *manifest.Listing) bool {
	last := marker.tbl.CurrentSnapshot()
	if last == nil || last.Summary == nil || t.isOld(time.UnixMilli(last.TimestampMs)) {
		return false
	}
	for name, value := range notesOf(t.lake.opts.Version, m) {
		if last.Summary.Properties[name] != value {
			return false
		}
	}
	t.Done.Accounts, t.Done.Generation = len(m.Accounts), m.Manifest.Generation
	return true
}

// isLookDue reports whether the last look at every table is a day or more away.
func (t *Try) isLookDue(w *Wanted) bool {
	var last time.Time
	for account := range w.accounts {
		if at := schema.Instant(w.marks.rows[account].CommittedAt).Time(); at.After(last) {
			last = at
		}
	}
	return t.isOld(last)
}

// isOld reports whether a commit, and the caller's last look, are a day or more away; in the future, if a clock was
// wrong.
func (t *Try) isOld(commit time.Time) bool {
	if t.opts.Looked.After(commit) {
		commit = t.opts.Looked
	}
	return t.lake.opts.Now().Sub(commit).Abs() >= lookAfter
}

// isTouched reports whether a table is not as the last commit left it.
func (t *Try) isTouched(tables map[string]*lakeTable, w *Wanted) (bool, error) {
	for _, s := range t.lake.dataSpecs() {
		if r, err := t.scope(tables[s.name], w); err != nil || !r.isEmpty() {
			return true, err
		}
	}
	return false, nil
}
