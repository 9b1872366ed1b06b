package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// The retries of a commit that lost against another, and how many files are on their way at a time.
const (
	maxTries  = 12
	firstWait = 200 * time.Millisecond
	uploads   = 4
)

// FollowOptions are the permissions of a follower.
type FollowOptions struct {
	Dir         string // data directory of the store
	AllowShrink bool   // take from the lake what the store does not have
}

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
	Changed    []string       // tables that another program has written to, which this run made ours again
}

// IsNothing reports whether the lake already had the generation.
func (f *Followed) IsNothing() bool { return len(f.Tables) == 0 }

// Follow makes the lake's part of every account of a store exactly equal to the published
// generation, in one transaction over all tables: from any generation to the newest in one step. If
// the lake is current, it does nothing. Whatever happens on the way, the lake is in its old state
// or its new one, and running again ends in the new one.
func (l *Lake) Follow(ctx context.Context, o FollowOptions) (*Followed, error) {
	ctx = l.storage(ctx)
	f := &follower{lake: l, opts: o, token: strings.ReplaceAll(uuid.NewString(), "-", "")[:8],
		sent: map[string]iceberg.DataFile{}}
	for try := 1; ; try++ {
		f.done = &Followed{Tables: map[string]int{}}
		err := f.follow(ctx)
		if err == nil {
			return f.done, nil
		}
		// The answer to a commit may be lost: then the next try finds it done, or does it. The
		// catalog takes only one of both.
		again := errors.Is(err, errMoved) || errors.Is(err, rest.ErrCommitFailed) || errors.Is(err, errUnknown)
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

// errUnknown reports that a commit may have happened in spite of its error.
var errUnknown = errors.New("the outcome of the commit is not known")

// follower brings the lake to one generation, in as many tries as it takes. What a try has uploaded need not be
// uploaded by the next.
type follower struct {
	lake  *Lake
	opts  FollowOptions
	done  *Followed          // by this try
	store *manifest.Manifest // as published when this try began
	had   *markers           // what the lake has
	token string
	mu    sync.Mutex
	sent  map[string]iceberg.DataFile // by table and key: what tries before have uploaded
}

// follow is one try: what the lake has is read, what the store wants of it is uploaded, and all of that is committed.
func (f *follower) follow(ctx context.Context) (err error) {
	if f.store, err = manifest.Read(f.opts.Dir); err != nil {
		return err
	}
	marker, err := f.lake.ensure(ctx, f.lake.markerSpec())
	if err != nil {
		return err
	}
	if f.had, err = marker.markers(); err != nil {
		return err
	}
	f.done.Accounts, f.done.Generation = len(f.store.Accounts), f.store.Generation
	same := true
	for account := range f.store.Accounts {
		row := f.had.rows[account]
		if err := row.checkAhead(f.store); err != nil {
			return err
		}
		f.done.Behind = max(f.done.Behind, f.store.Generation-row.Generation)
		same = same && row.isOf(f.store)
	}
	if same {
		return nil
	}
	tables, err := f.lake.ensureAll(ctx)
	if err != nil {
		return err
	}
	var staged []*table.Transaction
	snapshots := map[string]int64{}
	for _, t := range tables {
		tx, err := f.change(ctx, t)
		if err != nil {
			return err
		}
		staged = append(staged, tx)
		if snapshots[t.name], err = snapshotOf(tx); err != nil {
			return err
		}
	}
	rows, err := f.nextRows(snapshots)
	if err != nil {
		return err
	}
	tx, err := f.mark(ctx, marker, rows)
	if err != nil {
		return err
	}
	return f.commit(ctx, append(staged, tx))
}

// change stages what makes a table equal to the wanted files, and uploads the files that it lacks: no table names them
// yet. Files of other accounts stay.
func (f *follower) change(ctx context.Context, t *lakeTable) (*table.Transaction, error) {
	if t.byOthers() {
		f.done.Changed = append(f.done.Changed, t.name)
	}
	data, deletes, err := t.files()
	if err != nil {
		return nil, err
	}
	isOthers := func(d iceberg.DataFile) bool { return f.store.Accounts[accountOf(d)] == nil }
	wanted := f.wanted(t.tableSpec)
	var removed []iceberg.DataFile
	for _, d := range data {
		if _, ok := wanted[keyOf(d.FilePath())]; ok {
			delete(wanted, keyOf(d.FilePath())) // a second file of the key is removed
		} else if !isOthers(d) {
			removed = append(removed, d)
		}
	}
	if !f.opts.AllowShrink {
		if err := f.checkShrink(t, removed, wanted); err != nil {
			return nil, err
		}
	}
	added, err := f.upload(ctx, t, wanted)
	if err != nil {
		return nil, err
	}
	return f.replace(ctx, t, removed, added, slices.DeleteFunc(deletes, isOthers))
}

// checkShrink refuses to remove from the lake what the store does not have: a day of the report, or rows of a table
// that cannot be made again. The days in another program's file are unknown, so its rows are compared.
func (f *follower) checkShrink(t *lakeTable, removed []iceberg.DataFile, added map[string]wantedFile) error {
	if t.table.View != "" || t.table.MadeFrom == schema.OtherTables {
		return nil
	}
	counts := t.table.MadeFrom == schema.Nothing
	rows := map[string]int64{}
	for _, d := range removed {
		account := accountOf(d)
		rows[account] -= d.Count()
		day, ours := dayOf(d.FilePath())
		counts = counts || !ours
		if t.table.MadeFrom == schema.Replies && ours && f.store.Accounts[account].Days[day] == nil {
			return fmt.Errorf("table %s, account %s, day %s: %w; if the day shall go: --allow-shrink", t.name, account,
				day, ErrShrink)
		}
	}
	for _, w := range added {
		rows[w.account] += w.info.Rows
	}
	for account, n := range rows {
		if n < 0 && counts {
			return fmt.Errorf("table %s, account %s: %d rows more than the store: %w; if they shall go: "+
				"--allow-shrink", t.name, account, -n, ErrShrink)
		}
	}
	return nil
}

// upload brings files into the lake, a few at a time; those of a try before are there.
func (f *follower) upload(ctx context.Context, to *lakeTable, files map[string]wantedFile) ([]iceberg.DataFile, error) {
	sent := make([]iceberg.DataFile, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, key := range slices.Sorted(maps.Keys(files)) {
		w, id := files[key], to.name+"/"+key
		f.done.Rows += w.info.Rows
		f.done.Bytes += w.info.Bytes
		g.Go(func() (err error) {
			f.mu.Lock()
			d := f.sent[id]
			f.mu.Unlock()
			if d == nil {
				if err := f.lake.step("upload"); err != nil {
					return err
				}
				if d, err = to.upload(ctx, f.opts.Dir, w, f.token); err != nil {
					return err
				}
				f.mu.Lock()
				f.sent[id] = d
				f.mu.Unlock()
			}
			sent[i] = d
			return nil
		})
	}
	return sent, g.Wait()
}

// generationNote is the snapshot property that marks a snapshot written by spendsync.
const generationNote = "spendsync.generation"

// replace stages the replacement of a table's files.
func (f *follower) replace(ctx context.Context, t *lakeTable, removed, added, deletes []iceberg.DataFile) (
	*table.Transaction, error) {
	tx := t.tbl.NewTransaction()
	if n := len(removed) + len(added) + len(deletes); n > 0 {
		f.done.Tables[t.name] = n
	}
	if t.table != nil { // the file of lake_generation is of no store
		f.done.Added += len(added)
		f.done.Removed += len(removed)
	}
	err := tx.ReplaceFiles(ctx, removed, added, deletes, iceberg.Properties{
		generationNote: strconv.FormatInt(f.store.Generation, 10), "spendsync.run_id": f.store.RunID,
		"spendsync.version": f.lake.opts.Version,
	}, table.WithoutAutoNameMapping(), table.WithoutDuplicateCheck())
	return tx, remote(t.name, err)
}

// snapshotOf is the snapshot of a table once a transaction is committed; 0: it has none.
func snapshotOf(tx *table.Transaction) (int64, error) {
	next, err := tx.StagedTable()
	if err != nil || next.CurrentSnapshot() == nil {
		return 0, err
	}
	return next.CurrentSnapshot().SnapshotID, nil
}

// commit commits all tables in one transaction. If the catalog has no transactions, it commits them
// one by one, the marker last: readers who go by the marker see one generation.
func (f *follower) commit(ctx context.Context, staged []*table.Transaction) error {
	var commits []table.TableCommit
	for _, tx := range staged {
		c, err := tx.TableCommit()
		if err != nil {
			return err
		}
		if len(c.Updates) > 0 {
			commits = append(commits, c)
		}
	}
	if err := f.lake.step("commit"); err != nil {
		return err
	}
	err := f.lake.catalog.CommitTransaction(ctx, commits)
	if hasNoTransactions(err) {
		err = f.commitEach(ctx, commits)
	}
	if err != nil && mayBeDone(ctx, err) {
		return fmt.Errorf("%w: %w", errUnknown, remote("commit", err))
	} else if err != nil {
		return remote("commit", err)
	}
	return f.lake.step("committed")
}

func (f *follower) commitEach(ctx context.Context, commits []table.TableCommit) error {
	for _, c := range commits {
		if _, _, err := f.lake.catalog.CommitTable(ctx, c.Identifier, c.Requirements, c.Updates); err != nil {
			return err
		}
		if err := f.lake.step("table"); err != nil {
			return err
		}
	}
	return nil
}

// hasNoTransactions reports whether the answer to a transaction is that there is no such thing: the catalog does
// not list it among its endpoints, or it lists none and then does not know the address.
func hasNoTransactions(err error) bool {
	return errors.Is(err, rest.ErrEndpointNotSupported) || errors.Is(err, icebergcatalog.ErrNoSuchTable) ||
		errors.Is(err, iceberg.ErrNotImplemented)
}
