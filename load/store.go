package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/commit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// Store is a data directory, opened by a run of one account. Until Close no other process writes this account's files.
type Store struct {
	dir     string
	account string
	opts    Options
	lock    io.Closer          // the account's lock
	base    *manifest.Manifest // the generation that this run has seen last; nil if there is none
}

// Open takes the account's lock. If another run of the account holds the lock, Open fails at once with
// [durable.ErrLocked]. Open then finishes the commit of a dead run, removes the run's other files, and reads the
// published generation.
func Open(ctx context.Context, dir, account string, o Options) (*Store, error) {
	if !schema.AccountName.MatchString(account) {
		return nil, fmt.Errorf("account %.60q does not match %s", account, schema.AccountName)
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
	if err := refuseCopy(disk, dir); err != nil {
		return nil, err
	}
	for _, d := range append([]string{"", "locks", "staging"}, manifest.Folders...) {
		info, err := disk.Lstat(filepath.Join(dir, d))
		if d != "" && err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link: all folders of a store lie on its own volume; put the folder itself "+
				"there, or set SPENDSYNC_DATA_DIR to a link to the whole: %w", filepath.Join(dir, d),
				durable.ErrStorage)
		}
		if slices.Contains(manifest.Folders, d) {
			continue // created with the first file
		}
		if err := disk.MakeDirs(filepath.Join(dir, d)); err != nil {
			return nil, err
		}
	}
	lock := filepath.Join(dir, "locks", "account="+account+".lock")
	if s.lock, err = disk.Lock(lock); err != nil {
		return nil, durable.Storage(err)
	}
	if s.lock == nil {
		return nil, fmt.Errorf("account %s in %s: %w", account, dir, disk.LockedBy(lock))
	}
	if err = s.recover(ctx); err == nil {
		err = commit.TryFolders(disk, dir, account)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close releases the account's lock.
func (s *Store) Close() error { return durable.Storage(s.lock.Close()) }

// Manifest returns the generation that was published when the store was opened, or the one that this run has published
// since. It returns nil if there is neither. The content of other accounts is not always loaded.
func (s *Store) Manifest() *manifest.Manifest { return s.base }

// Account returns this account's part of the generation. For a new account it returns an empty account, whose first day
// is the oldest day that the service's report covers today.
func (s *Store) Account() *manifest.Account {
	if s.base == nil || s.base.Accounts[s.account] == nil {
		return manifest.NewAccount(schema.DateOf(s.opts.Now()) - schema.ReachDays)
	}
	return s.base.Accounts[s.account]
}

// NamesOf returns the names of the store's other accounts that belong to the given advertiser account, see
// [manifest.Account]. Two accounts of one advertiser would store its numbers twice.
func (s *Store) NamesOf(advertiser string) (names []string, err error) {
	if s.base == nil {
		return nil, nil
	}
	all := s.base.Clone()
	if err := all.Load(s.opts.disk, s.dir, all.AccountNames()...); err != nil {
		return nil, err
	}
	for _, name := range all.AccountNames() {
		if name != s.account && all.Accounts[name].Pinned == advertiser {
			names = append(names, name)
		}
	}
	return names, nil
}

// recover finishes the commit of a dead run, removes the staged files of this account's dead runs, and reads the
// published generation.
func (s *Store) recover(ctx context.Context) error {
	committing, err := s.opts.disk.Exists(filepath.Join(s.dir, manifest.CommitName))
	if err != nil {
		return err
	}
	if committing {
		// If another account's run is committing right now, the commit has ended by the time we have the lock.
		if err := s.whileLocked(ctx, func() error { return nil }); err != nil {
			return err
		}
	}
	if err := dropDeadStaging(s); err != nil {
		return err
	}
	if s.base, err = s.published(nil); errors.Is(err, durable.ErrEmpty) {
		s.opts.Log.Info("a new store begins", "data_dir", s.dir)
		return nil
	}
	if err != nil {
		return err
	}
	return s.checkFiles(ctx)
}

// published reads the published manifest, but only this account's part. If the given manifest is still the published
// one, it is returned.
func (s *Store) published(cached *manifest.Manifest) (*manifest.Manifest, error) {
	return manifest.ReadAccounts(s.opts.disk, s.dir, cached, s.account)
}

// checkFiles compares the names and sizes of the files with the manifest. It refuses a store that was set back to an
// older generation, and warns about files that do not belong to the store.
func (s *Store) checkFiles(ctx context.Context) error {
	newer, files, err := s.newest(ctx)
	if err == nil && newer.Path != "" {
		// The newer files may belong to a commit of another account that is under way.
		err = s.whileLocked(ctx, func() (err error) {
			if s.base, err = s.published(s.base); err == nil {
				newer, files, err = s.newest(ctx)
			}
			return err
		})
	}
	if err != nil {
		return err
	}
	if newer.Path != "" {
		return refusal(s.base.SetBack(newer))
	}
	return s.warnOfStrays(files)
}

func (s *Store) place() commit.Place { return s.opts.place(s.dir) }

// newest looks for a file that is newer than the manifest. If there is none, it returns a part without a path. It also
// returns the sizes of the files of this account and of the accounts whose ledgers have grown.
func (s *Store) newest(ctx context.Context) (newer manifest.NewerPart, files map[string]int64, err error) {
	grown, err := s.base.GrownLedgers(s.opts.disk, s.dir)
	if err == nil {
		err = s.base.Load(s.opts.disk, s.dir, grown...)
	}
	if err == nil {
		files, err = manifest.FilesIn(s.opts.disk, s.dir, append(grown, s.account)...)
	}
	if err == nil {
		newer, err = s.base.Newest(s.opts.disk, s.dir, files)
	}
	if err != nil || newer.Path != "" {
		return newer, files, err
	}
	info, err := s.opts.disk.Lstat(filepath.Join(s.dir, duck.FileName))
	if err != nil || info.Size() == s.base.Warehouse.Bytes {
		return newer, files, nil // if the file is missing, the next build makes it
	}
	newer, err = newerDuckDB(ctx, s.base, s.dir, s.opts.DuckDB)
	return newer, files, err
}

// whileLocked calls a function while it holds the store's lock, which is common to all accounts. Before the call it
// finishes the commit of a dead run.
func (s *Store) whileLocked(ctx context.Context, work func() error) error {
	lock, err := lockStore(s.opts.disk, ctx, s.dir, s.opts.LockWait)
	if err != nil {
		return err
	}
	if err = s.place().End(); err == nil {
		err = work()
	}
	if unlockErr := lock.Close(); unlockErr != nil {
		// Not an error: the generation is published, and the lock ends with the process.
		s.opts.Log.Warn("the store's lock could not be released", "error", unlockErr)
	}
	return err
}

// dropDeadStaging removes the staged files of earlier runs of this account. Those runs are dead, because this run holds
// the account's lock.
func dropDeadStaging(s *Store) error {
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

// FindSetBack returns the damage of a store that was set back to an older generation; nil if the store is current.
// Every command that publishes refuses such a store. FindSetBack compares names and sizes of files, and takes no lock.
func FindSetBack(dir string, m *manifest.Manifest) (*durable.Damage, error) {
	files, err := manifest.FilesIn(durable.OS, dir)
	if err != nil {
		return nil, err
	}
	newer, err := m.Newest(durable.OS, dir, files)
	if err != nil || newer.Path == "" {
		return nil, err
	}
	// A running commit also leaves parts that are newer than the manifest, because it moves the manifest last.
	committing, err := durable.OS.Exists(filepath.Join(dir, manifest.CommitName))
	if err != nil || committing {
		return nil, err
	}
	if now, err := manifest.ReadRoot(durable.OS, dir, m); err != nil || now.Generation != m.Generation {
		return nil, err
	}
	return m.SetBack(newer), nil
}

// refusal returns the error of a command that would publish to a store that was set back.
func refusal(d *durable.Damage) error { return fmt.Errorf("%w; nothing is published; %s", d, d.Repair) }

// warnOfStrays logs the files in the published folders that do not belong to the store. It removes no file, because
// somebody may need it.
func (s *Store) warnOfStrays(files map[string]int64) error {
	strays := s.base.Strays(files)
	if len(strays) == 0 {
		return nil
	}
	// Another account's run may have published some of these files since the manifest was read.
	committing, err := s.opts.disk.Exists(filepath.Join(s.dir, manifest.CommitName))
	if committing || err != nil {
		return err
	}
	m, err := manifest.ReadAccounts(s.opts.disk, s.dir, s.base, s.base.LoadedNames()...)
	if err != nil {
		return err
	}
	if strays = m.Strays(files); len(strays) == 0 {
		return nil
	}
	s.opts.Log.Warn("files that spendsync has not published lie in its folders, and whoever reads all files there "+
		"counts them; move them out of the data directory ('spendsync verify' lists them all)", "files", len(strays),
		"first", strays[0])
	return nil
}

// Quarantined returns the quarantined days of an account, oldest first. It takes no lock.
func Quarantined(dir, account string) ([]quarantine.Day, error) {
	return quarantine.Folder{Disk: durable.OS, Dir: dir, Account: account}.Days()
}

// Quarantine returns the account's quarantine.
func (s *Store) Quarantine() quarantine.Folder {
	return quarantine.Folder{Disk: s.opts.disk, Dir: s.dir, Account: s.account}
}
