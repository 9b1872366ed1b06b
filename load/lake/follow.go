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
	l.requests.Store(0)
	f := &follower{lake: l, opts: o, token: strings.ReplaceAll(uuid.NewString(), "-", "")[:8],
		sent: map[string]iceberg.DataFile{}}
	for try := 1; ; try++ {
		f.done = &Followed{Tables: map[string]int{}, Tries: try}
		err := f.follow(ctx)
		if err == nil {
			f.done.Requests = l.requests.Load()
			return f.done, nil
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

// follower brings the lake to one generation, in as many tries as it takes. What a try has uploaded need not be
// uploaded by the next.
type follower struct {
	lake    *Lake
	opts    FollowOptions
	done    *Followed // by this try
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

// follow is one try: what the lake has is read, what the store wants of it is uploaded, and all of that is committed.
func (f *follower) follow(ctx context.Context) error {
	m, err := manifest.OpenListing(f.opts.Dir)
	if err != nil {
		return err
	}
	defer m.Close()
	marker, err := f.lake.marker(ctx)
	if err != nil {
		return err
	}
	if f.asked == nil && f.isCurrent(marker, m) {
		return nil
	}
	had, err := readMarkers(marker.fs, marker.tbl.CurrentSnapshot(), m.Names())
	if err != nil {
		return err
	}
	w, err := wantOf(m, f.lake.dataSpecs())
	if err != nil {
		return err
	}
	same, err := f.compare(w, had)
	if err != nil || same && (f.wasDone(had) || !f.isLookDue(had)) {
		return err
	}
	tables, err := f.lake.each(ctx, f.lake.dataSpecs(), f.lake.loadOrCreate)
	if err != nil {
		return err
	}
	f.done.Looked, f.done.Foreign = true, f.lake.foreignColumns(tables)
	reach, touched, err := f.scopes(tables, w, had)
	if err != nil || same && !touched {
		return err
	}
	changes, err := f.stage(ctx, w, tables, reach)
	if err != nil {
		return err
	}
	return f.commit(ctx, w, marker, had, changes)
}

// wasDone reports whether the commit of a try before was done, and only its answer lost: then done is of that try.
func (f *follower) wasDone(had *markers) bool {
	if f.asked == nil {
		return false
	}
	for account, row := range f.asked.rows {
		if had.rows[account] != row { // the instant, too: another follower's commit may have left the same snapshots
			return false
		}
	}
	f.asked.done.Tries = f.done.Tries
	f.done = f.asked.done
	return true
}

// compare refuses a lake that is ahead of the store, and reports whether the lake already has the
// wanted generation.
func (f *follower) compare(w *wanted, had *markers) (same bool, err error) {
	of := w.listing.Manifest
	same = true
	store := &ledgers{dir: f.opts.Dir}
	f.done.Accounts, f.done.Generation = len(w.accounts), of.Generation
	for account := range w.accounts {
		row, ok := had.rows[account]
		if ok {
			if err := store.checkAhead(of, row); err != nil {
				return false, err
			}
		}
		f.done.Behind = max(f.done.Behind, of.Generation-row.Generation)
		same = same && row.Generation == of.Generation && row.RunID == of.RunID && row.SchemaVersion == schema.Version
		for _, s := range f.lake.dataSpecs() {
			same = same && len(w.differing(account, s.name, had.states[account])) == 0
		}
	}
	return same, nil
}

// isCurrent reports whether the last to write to lake_generation was this binary, for just this generation of the
// store, and every table was looked at within a day. Then its rows need not be read.
func (f *follower) isCurrent(marker *lakeTable, m *manifest.Listing) bool {
	last := marker.tbl.CurrentSnapshot()
	if last == nil || last.Summary == nil || f.isOld(time.UnixMilli(last.TimestampMs)) {
		return false
	}
	for name, value := range notesOf(f.lake.opts.Version, m) {
		if last.Summary.Properties[name] != value {
			return false
		}
	}
	f.done.Accounts, f.done.Generation = len(m.Accounts), m.Manifest.Generation
	return true
}

// isLookDue reports whether the last look at every table is a day or more away.
func (f *follower) isLookDue(had *markers) bool {
	var last time.Time
	for account := range had.states {
		if at := schema.Instant(had.rows[account].CommittedAt).Time(); at.After(last) {
			last = at
		}
	}
	return f.isOld(last)
}

// isOld reports whether a commit, and the caller's last look, are a day or more away; in the future, if a clock was
// wrong.
func (f *follower) isOld(commit time.Time) bool {
	if f.opts.Looked.After(commit) {
		commit = f.opts.Looked
	}
	return f.lake.opts.Now().Sub(commit).Abs() >= lookAfter
}
