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

// The maximum number of tries of a commit that conflicts with other commits, the average wait after the first try, and
// the number of concurrent uploads.
const (
	maxTries  = 12
	firstWait = 200 * time.Millisecond
	uploads   = 4
)

// FollowOptions are the options of [Lake.Follow].
type FollowOptions struct {
	Dir         string // data directory of the store
	AllowShrink bool   // whether days and rows that the store does not have may be deleted
}

// Followed is the result of [Lake.Follow].
type Followed struct {
	Generation int64          // generation of the store, and now also of the lake
	Behind     int64          // generations by which the lake was behind the store before this call
	Accounts   int            // number of accounts in the store
	Tables     map[string]int // number of added and removed files of each changed table, delete files included
	Added      int            // number of added files
	Removed    int            // number of removed files
	Rows       int64          // rows in added files
	Bytes      int64          // bytes of added files
	Changed    []string       // tables in which changes by another program were undone
}

// IsNothing reports whether the lake already had the generation, so that Follow changed nothing.
func (f *Followed) IsNothing() bool { return len(f.Tables) == 0 }

// Follow makes the lake's tables equal to the published generation of a store. It uses one transaction for all tables
// and all accounts of the store, however many generations the lake is behind. If the lake is current, Follow does
// nothing. After any failure, the lake is in the old state or in the new state, and the next Follow ends in the new
// state.
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
		// If the reply to a commit was lost, the next try finds that the commit has happened, or commits again. The
		// catalog accepts only one of the two commits.
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

// errUnknown reports that a commit may have happened despite its error.
var errUnknown = errors.New("the outcome of the commit is not known")

// follower is one call of [Lake.Follow], which may need several tries. A try reuses the files that an earlier try has
// uploaded.
type follower struct {
	lake    *Lake
	opts    FollowOptions
	done    *Followed          // result of this try
	store   *manifest.Manifest // published when this try began
	markers *markers           // the lake's rows of lake_generation
	token   string             // suffix that makes the names of this call's objects unique
	mu      sync.Mutex
	sent    map[string]iceberg.DataFile // uploaded files, by table and key
}

// follow is one try: it reads the state of the lake, uploads the missing files, and commits.
func (f *follower) follow(ctx context.Context) (err error) {
	if f.store, err = manifest.Read(f.opts.Dir); err != nil {
		return err
	}
	marker, err := f.lake.ensure(ctx, f.lake.markerSpec())
	if err != nil {
		return err
	}
	if f.markers, err = marker.markers(); err != nil {
		return err
	}
	f.done.Accounts, f.done.Generation = len(f.store.Accounts), f.store.Generation
	same := true
	for account := range f.store.Accounts {
		row := f.markers.rows[account]
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

// change uploads the files that a table lacks, and stages the commit that makes the files of the table equal to the
// store's files. Files of accounts that the store does not have stay in the table.
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
			delete(wanted, keyOf(d.FilePath())) // if the lake has the file twice, the second one is removed
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

// checkShrink returns [ErrShrink] if removing the files would delete data that the store does not have: a day of the
// report, or rows of a table that cannot be rebuilt. If files of another program are removed, it compares the numbers
// of rows, because the days in such files are unknown.
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

// upload uploads files, several at a time, except files that an earlier try has uploaded.
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
	if t.table != nil { // nil for lake_generation, whose file is not counted in Added and Removed
		f.done.Added += len(added)
		f.done.Removed += len(removed)
	}
	err := tx.ReplaceFiles(ctx, removed, added, deletes, iceberg.Properties{
		generationNote: strconv.FormatInt(f.store.Generation, 10), "spendsync.run_id": f.store.RunID,
		"spendsync.version": f.lake.opts.Version,
	}, table.WithoutAutoNameMapping(), table.WithoutDuplicateCheck())
	return tx, remote(t.name, err)
}

// snapshotOf returns the ID that a table's current snapshot will have after a staged transaction, or 0 if the table
// will have no snapshot.
func snapshotOf(tx *table.Transaction) (int64, error) {
	next, err := tx.StagedTable()
	if err != nil || next.CurrentSnapshot() == nil {
		return 0, err
	}
	return next.CurrentSnapshot().SnapshotID, nil
}

// commit commits all tables in one transaction. If the catalog has no transactions, commit changes one table after
// another, lake_generation last. Readers that use the snapshots named in lake_generation see a single generation.
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
	err := f.lake.catalog.CommitTransaction(ctx, commits)
	if hasNoTransactions(err) {
		err = f.commitEach(ctx, commits)
	}
	if err != nil && mayBeDone(ctx, err) {
		return fmt.Errorf("%w: %w", errUnknown, remote("commit", err))
	}
	return remote("commit", err)
}

func (f *follower) commitEach(ctx context.Context, commits []table.TableCommit) error {
	for _, c := range commits {
		if _, _, err := f.lake.catalog.CommitTable(ctx, c.Identifier, c.Requirements, c.Updates); err != nil {
			return err
		}
	}
	return nil
}

// hasNoTransactions reports whether a transaction failed because the catalog does not support transactions. Either the
// endpoint for transactions is missing in the catalog's list of endpoints, or there is no such list and the catalog
// answered 404 or 501.
func hasNoTransactions(err error) bool {
	return errors.Is(err, rest.ErrEndpointNotSupported) || errors.Is(err, icebergcatalog.ErrNoSuchTable) ||
		errors.Is(err, iceberg.ErrNotImplemented)
}
