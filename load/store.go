package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Options are what a store needs to know from outside.
type Options struct {
	LockWait time.Duration // how long to wait for the store's lock
	DuckDB   duck.Options
	KeepRaw  bool             // keep the replies behind the stored days
	Version  string           // of the binary, for the manifest
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // for "today" only; nil: the clock

	// disk is the file system; zero: the operating system's.
	disk durable.Disk

	// crash is called before every named step of publishing; an error ends the
	// run there, as if the process had died: nothing is cleaned up.
	crash func(step string) error
}

// Store is the data directory, held by one run of one account: nobody else
// writes this account's files until Close.
type Store struct {
	dir     string
	account string
	opts    Options
	lock    io.Closer // the account's
	base    *Manifest // the generation this run started from; nil: none yet
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
		return nil, durable.Storage(err)
	}
	if err := duck.CheckDir(dir); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, account: account, opts: o.filled()}
	s.opts.DuckDB.Dir = dir
	disk := s.opts.disk
	for _, d := range []string{"", "locks", "staging"} {
		if err := disk.MakeDirs(filepath.Join(dir, d)); err != nil {
			return nil, err
		}
	}
	if s.lock, err = disk.Lock(filepath.Join(dir, "locks", "account="+account+".lock")); err != nil {
		return nil, durable.Storage(err)
	}
	if s.lock == nil {
		return nil, fmt.Errorf("account %s in %s: %w", account, dir, ErrLocked)
	}
	err = s.checkDevices()
	if err == nil {
		err = s.recover(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkDevices refuses a store in which the staging area is on another file
// system than the files: a rename could not move them, and a commit that has
// begun could never end.
func (s *Store) checkDevices() error {
	staging, err := s.opts.disk.Device(filepath.Join(s.dir, "staging"))
	if err != nil {
		return err
	}
	for _, name := range []string{"", "parquet", "raw", "ledger"} {
		dev, err := s.opts.disk.Device(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if dev != staging {
			return fmt.Errorf("%s and its folder %s are on different file systems; the store needs one: %w",
				s.dir, cmp.Or(name, "staging"), ErrStorage)
		}
	}
	return nil
}

func (o Options) filled() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.disk.FS == nil {
		o.disk = durable.OS
	}
	o.DuckDB.Disk = o.disk
	if o.crash == nil {
		o.crash = func(string) error { return nil }
	}
	return o
}

// Close gives the account's lock back.
func (s *Store) Close() error { return durable.Storage(s.lock.Close()) }

// Manifest is the generation that the store held when it was opened, or that
// this run has published since; nil if there is none.
func (s *Store) Manifest() *Manifest { return s.base }

// Account is this account's part of the generation. Where there is none yet it is empty,
// and known since the first day that can be asked for now.
func (s *Store) Account() *Account {
	if s.base == nil || s.base.Accounts[s.account] == nil {
		return NewAccount(schema.DateOf(s.opts.Now()) - schema.ReachDays)
	}
	return s.base.Accounts[s.account]
}

// recover brings the folder into the state of one generation.
func (s *Store) recover(ctx context.Context) error {
	committing, err := s.opts.disk.Exists(filepath.Join(s.dir, commitName))
	if err != nil {
		return err
	}
	if committing {
		// Another account's run may be committing right now; then its lock makes
		// us wait and the record is gone when we get it.
		unlock, err := s.lockStore(ctx)
		if err != nil {
			return err
		}
		err = rollForward(s.dir, s.opts)
		if err = errors.Join(err, unlock()); err != nil {
			return err
		}
	}
	if err := s.dropDeadStaging(); err != nil {
		return err
	}
	m, err := readManifest(s.opts.disk, s.dir)
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
	for _, name := range []string{duck.FileName, "parquet"} {
		there, err := s.opts.disk.Exists(filepath.Join(s.dir, name))
		if err != nil {
			return err
		}
		if there {
			return durable.Damaged(manifestName, "restore manifest.json from a backup, or choose another "+
				"SPENDSYNC_DATA_DIR",
				"it is missing, but %s is there", name)
		}
	}
	return nil
}

// lockStore waits for the lock under which the DuckDB file is built and the
// commit is made. It is shared by all accounts.
func (s *Store) lockStore(ctx context.Context) (unlock func() error, err error) {
	return lockStore(s.opts.disk, ctx, s.dir, s.opts.LockWait)
}

// lockPoll is how often a lock that somebody else holds is tried again.
const lockPoll = 50 * time.Millisecond

func lockStore(d durable.Disk, ctx context.Context, dir string, wait time.Duration) (unlock func() error, err error) {
	for end := time.Now().Add(wait); ; {
		l, err := d.Lock(filepath.Join(dir, "locks", "store.lock"))
		if errors.Is(err, fs.ErrNotExist) { // a store that was brought here without its locks
			if err := d.MakeDirs(filepath.Join(dir, "locks")); err != nil {
				return nil, err
			}
			l, err = d.Lock(filepath.Join(dir, "locks", "store.lock"))
		}
		if err != nil {
			return nil, durable.Storage(err)
		}
		if l != nil {
			return func() error { return durable.Storage(l.Close()) }, nil
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, fmt.Errorf("the store's lock in %s was not free for %v: %w", dir, wait, ErrLocked)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the store's lock in %s: %w", dir, ctx.Err())
		case <-time.After(min(left, lockPoll)):
		}
	}
}

// dropDeadStaging removes what earlier runs of this account left. None of them
// is alive: we hold the account's lock.
func (s *Store) dropDeadStaging() error {
	root := filepath.Join(s.dir, "staging")
	entries, err := s.opts.disk.ReadDir(root)
	if err != nil {
		return durable.Storage(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), s.account+".") {
			s.opts.Log.Info("removing what a dead run left", "staging", e.Name())
			if err := s.opts.disk.RemoveTree(filepath.Join(root, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// StoredDay reads the rows of a day as they are published, in key order, some
// thousand at a time. The slice is the loop body's alone; a row that is kept holds on
// to the texts of all that came with it. A file that is not what the manifest says is
// refused before any row of it is given; nothing follows an error.
func (s *Store) StoredDay(day schema.Date) iter.Seq2[[]schema.Spend, error] {
	return func(yield func([]schema.Spend, error) bool) {
		path := partPath(schema.SpendDaily.Table, s.account, day)
		info := s.Account().Files[path]
		if info == nil {
			return
		}
		publishedBatches(s.opts.disk, s.dir, path, info, schema.SpendDaily)(yield)
	}
}

// publishedBatches is parquet.Batches of a published file, after checking its bytes.
func publishedBatches[R any](disk durable.Disk, dir, path string, info *FileInfo, t schema.TableOf[R]) iter.Seq2[[]R,
	error] {
	return func(yield func([]R, error) bool) {
		if err := checkBytes(disk, dir, path, info); err != nil {
			yield(nil, err)
			return
		}
		parquet.Batches(disk, filepath.Join(dir, path), t)(yield)
	}
}

// readPublished reads a published Parquet file after checking its bytes.
func readPublished[R any](disk durable.Disk, dir, path string, info *FileInfo, t schema.TableOf[R]) ([]R, error) {
	if err := checkBytes(disk, dir, path, info); err != nil {
		return nil, err
	}
	return parquet.Rows(disk, filepath.Join(dir, path), t)
}

// checkBytes compares a file with what was published.
func checkBytes(d durable.Disk, dir, path string, info *FileInfo) error {
	mend := info.mend()
	sha, size, err := d.HashFile(filepath.Join(dir, path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return durable.Damaged(path, mend, "it is missing")
	case err != nil:
		return err
	case size != info.Bytes:
		return durable.Damaged(path, mend, "it has %d bytes, and had %d when it was published", size, info.Bytes)
	case sha != info.SHA256:
		return durable.Damaged(path, mend, "its bytes are not those that were published")
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
