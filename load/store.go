package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"spendsync/schema"
)

// Options are what a store needs to know from outside.
type Options struct {
	LockWait      time.Duration    // how long to wait for the store's lock
	DuckDBMemory  string           // DuckDB's memory_limit, such as "512MiB"; empty: DuckDB's own choice
	DuckDBThreads int              // 0: one per processor
	KeepRaw       bool             // keep the replies behind the stored days
	Views         []View           // made anew in every generation
	Version       string           // of the binary, for the manifest
	Log           *slog.Logger     // nil: silent
	Now           func() time.Time // for "today" only; nil: the clock

	dir       string // the data directory: all that DuckDB may reach
	keepOrder bool   // answers keep the order they were asked in
	attach    string // a file to open read-only before the doors close

	// crash is called before every named step of publishing; an error ends the
	// run there, as if the process had died: nothing is cleaned up.
	crash func(step string) error
}

// View is one view to be made in the DuckDB file, or a table macro if it has
// parameters.
type View struct {
	Schema, Name, SQL string
	Doc               string            // the comment on a view
	Columns           map[string]string // comments on columns; a view need not have all of them
	Parameters        string            // of a macro, comma-joined
}

// Store is the data directory, held by one run of one account: nobody else
// writes this account's files until Close.
type Store struct {
	dir     string
	account string
	opts    Options
	lock    *flock.Flock // the account's
	base    *Manifest    // the generation this run started from; nil: none yet
}

// AccountName is what an account may be called: it is part of paths and SQL.
var AccountName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Open takes the account's lock, or fails at once with [ErrLocked] if another
// run of the account holds it. It then finishes what a dead run has committed,
// removes what it has not, and reads the published generation.
func Open(ctx context.Context, dir, account string, o Options) (*Store, error) {
	if !AccountName.MatchString(account) {
		return nil, fmt.Errorf("account %.60q does not match %s", account, AccountName)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, storage(err)
	}
	s := &Store{dir: dir, account: account, opts: o.filled()}
	s.opts.dir = dir
	for _, d := range []string{"", "locks", "staging"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, storage(err)
		}
	}
	s.lock = flock.New(filepath.Join(dir, "locks", "account="+account+".lock"))
	locked, err := s.lock.TryLock()
	if err != nil {
		return nil, storage(err)
	}
	if !locked {
		return nil, fmt.Errorf("account %s in %s: %w", account, dir, ErrLocked)
	}
	if err := s.recover(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.crash == nil {
		o.crash = func(string) error { return nil }
	}
	return o
}

// Close gives the account's lock back.
func (s *Store) Close() error { return storage(s.lock.Close()) }

// Manifest is the generation that the store held when it was opened, or that
// this run has published since; nil if there is none.
func (s *Store) Manifest() *Manifest { return s.base }

// Account is this account's part of the generation; empty if there is none yet.
func (s *Store) Account() *Account {
	if s.base == nil {
		return newManifest().account(s.account)
	}
	return s.base.account(s.account)
}

// recover brings the folder into the state of one generation.
func (s *Store) recover(ctx context.Context) error {
	if exists(filepath.Join(s.dir, commitName)) {
		// Another account's run may be committing right now; then its lock makes
		// us wait and the record is gone when we get it.
		unlock, err := s.lockStore(ctx)
		if err != nil {
			return err
		}
		err = rollForward(s.dir, s.opts.Log)
		if err = errors.Join(err, unlock()); err != nil {
			return err
		}
	}
	if err := s.dropDeadStaging(); err != nil {
		return err
	}
	m, err := ReadManifest(s.dir)
	if errors.Is(err, ErrEmpty) {
		return s.refuseOrphans()
	}
	if err != nil {
		return err
	}
	s.base = m
	return nil
}

// refuseOrphans stops a run that would start from nothing in a folder that holds
// data: without its manifest the store cannot say what is proven, and publishing
// would forget it.
func (s *Store) refuseOrphans() error {
	for _, name := range []string{warehouseName, "parquet"} {
		if exists(filepath.Join(s.dir, name)) {
			return damaged(manifestName, "restore manifest.json from a backup, or choose another SPENDSYNC_DATA_DIR",
				"it is missing, but %s is there", name)
		}
	}
	return nil
}

// lockStore waits for the lock under which the DuckDB file is built and the
// commit is made. It is shared by all accounts.
func (s *Store) lockStore(ctx context.Context) (unlock func() error, err error) {
	return lockStore(ctx, s.dir, s.opts.LockWait)
}

func lockStore(ctx context.Context, dir string, wait time.Duration) (unlock func() error, err error) {
	l := flock.New(filepath.Join(dir, "locks", "store.lock"))
	wctx, cancel := context.WithTimeout(ctx, max(wait, time.Millisecond))
	defer cancel()
	locked, err := l.TryLockContext(wctx, 50*time.Millisecond)
	switch {
	case locked:
		return func() error { return storage(l.Close()) }, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("waiting for the store's lock in %s: %w", dir, ctx.Err())
	case wctx.Err() != nil:
		return nil, fmt.Errorf("the store's lock in %s was not free for %v: %w", dir, wait, ErrLocked)
	}
	return nil, storage(err)
}

// dropDeadStaging removes what earlier runs of this account left. None of them
// is alive: we hold the account's lock.
func (s *Store) dropDeadStaging() error {
	root := filepath.Join(s.dir, "staging")
	entries, err := os.ReadDir(root)
	if err != nil {
		return storage(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), s.account+".") {
			s.opts.Log.Info("removing what a dead run left", "staging", e.Name())
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return storage(err)
			}
		}
	}
	return nil
}

// StoredDay reads the rows of a day as they are published, in key order. It
// refuses a file that is not what the manifest says.
func (s *Store) StoredDay(day schema.Date) ([]schema.Spend, error) {
	path := partPath(schema.SpendDaily.Table, s.account, day)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	return readPublished(s.dir, path, info, schema.SpendDaily)
}

// readPublished reads a published Parquet file after checking its bytes.
func readPublished[R any](dir, path string, info *FileInfo, t schema.TableOf[R]) ([]R, error) {
	if d := checkBytes(dir, path, info); d != nil {
		return nil, d
	}
	return ReadRows(filepath.Join(dir, path), t)
}

// checkBytes compares a file with what was published.
func checkBytes(dir, path string, info *FileInfo) error {
	mend := info.mend()
	sha, size, err := hashFile(filepath.Join(dir, path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damaged(path, mend, "it is missing")
	case err != nil:
		return err
	case size != info.Bytes:
		return damaged(path, mend, "it has %d bytes, and had %d when it was published", size, info.Bytes)
	case sha != info.SHA256:
		return damaged(path, mend, "its bytes are not those that were published")
	}
	return nil
}

// partPath is where a table's file of an account and day lies, below the data
// directory. Account names are checked and days are ours, so nothing that came
// from the service is ever part of a path.
func partPath(t *schema.Table, account string, day schema.Date) string {
	dir := "parquet/" + t.Name + "/account=" + account
	if t.Partition != schema.ByAccount {
		dir += "/" + string(t.Partition) + "=" + day.String()
	}
	return dir + "/data.parquet"
}

func rawPath(account string, day schema.Date, page int) string {
	return fmt.Sprintf("raw/spend_report/account=%s/day=%s/%04d.json.zst", account, day, page)
}
