package load

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"spendsync/load/commit"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// AppendRun records a failed run in the ledger. Either the run published nothing, or it failed after it had published
// the generation that its record names. If the ledger has several lines of a run, the last one counts. The next
// published generation shows the run in ops.run.
func (s *Store) AppendRun(run schema.Run, steps []schema.Step) error {
	lines, err := manifest.EncodeLedger(manifest.LedgerRows{Runs: []schema.Run{run}, Steps: steps})
	if err != nil {
		return err
	}
	// A commit of this run also publishes a ledger that records the run. So if such a commit has started or finished,
	// nothing is added. The exception is a record that names the published generation: then a step after the commit has
	// failed, and the record is added.
	if r, err := commit.Read(s.opts.disk, s.dir, s.base); err != nil || r != nil && r.RunID == run.RunID {
		return err
	}
	m, err := manifest.ReadRoot(s.opts.disk, s.dir, s.base)
	if err == nil && m.RunID == run.RunID && m.Generation > run.Generation {
		return nil
	}
	// The lines are added by renaming a longer file to the published path.
	path := manifest.LedgerPath(s.account, run.FinishedAt.Time())
	draft := filepath.Join(s.dir, "staging", s.account+"."+run.RunID+".ledger"+commit.StagedSuffix)
	if _, _, err := manifest.ExtendLedger(s.opts.disk, s.dir, path, draft, lines); err != nil {
		return err
	}
	to := filepath.Join(s.dir, path)
	if err := s.opts.disk.MakeDirs(filepath.Dir(to)); err != nil {
		return err
	}
	if err := s.opts.disk.Rename(draft, to); err != nil {
		return errors.Join(durable.Storage(err), s.opts.disk.RemoveIfThere(draft))
	}
	return s.opts.disk.SyncNames(s.dir, map[string]bool{filepath.Dir(to): true})
}

// readLedgers reads the lines that failed runs have added to the account's ledgers since the base was published. It
// hashes only files that have grown. In earlier stores the lines also contain lost days that a run has reported; these
// are added to the account. The ledgers of version 11 of the tables also contain lasting facts, see
// [manifest.LastingFacts]; readLedgers removes these.
func (n *generation) readLedgers() error {
	account, disk, dir := n.next.Accounts[n.store.account], n.store.opts.disk, n.store.dir
	paths, err := manifest.LedgerFiles(disk, dir, n.store.account)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(account.Ledger)) {
		if !slices.Contains(paths, path) {
			return manifest.CheckLedgerSize(path, 0, account.Ledger[path])
		}
	}
	var refused []schema.RefusedRow
	for _, path := range paths {
		published := account.Ledger[path]
		rows, size, err := manifest.ReadLedger(disk, dir, path, published, manifest.ToEnd)
		if err == nil {
			err = manifest.CheckLedgerSize(path, size, published)
		}
		if err == nil && (size > published || !account.EventsOnly) {
			err = manifest.CheckLedger(disk, dir, path, published, account.LedgerSHA256[path])
		}
		if err != nil {
			return err
		}
		n.newRows.Add(rows)
		switch {
		case !account.EventsOnly:
			refusedRows, err := n.rewriteLedger(account, path)
			if err != nil {
				return err
			}
			refused = append(refused, refusedRows...)
		case size > published:
			sha, size, err := disk.HashFile(filepath.Join(dir, path))
			if err != nil {
				return err
			}
			account.Ledger[path], account.LedgerSHA256[path] = size, sha
		}
	}
	if !account.EventsOnly {
		account.EventsOnly = true
		account.AddRefused(refused)
	}
	for _, lost := range n.newRows.Lost {
		account.AddReportedLost(lost.Days)
	}
	return nil
}

// rewriteLedger stages a copy of a ledger file, without the lasting facts that version 11 of the tables kept there. It
// returns the refused rows that the ledger has of days whose stored rows or values are still incomplete.
func (n *generation) rewriteLedger(account *manifest.Account, path string) (refused []schema.RefusedRow, err error) {
	disk := n.store.opts.disk
	byDay, err := manifest.EventsOf(disk, n.store.dir, path, n.area.path(path))
	if err != nil {
		return nil, err
	}
	sha, size, err := disk.HashFile(n.area.path(path))
	if err != nil {
		return nil, err
	}
	n.files.move(path)
	account.Ledger[path], account.LedgerSHA256[path] = size, sha
	for day, rows := range byDay {
		if d := account.Days[day]; d != nil && d.Refused+d.Unread > 0 {
			for i := range rows {
				rows[i].FirstSeenAt = d.LastReadAt
			}
			refused = append(refused, rows...)
		}
	}
	return refused, nil
}

// addLedger adds the record of the run to the ledger file, and stages the file. It is published together with the
// generation that the record names.
func (n *generation) addLedger(r RunRecord, now time.Time) error {
	rows := manifest.LedgerRows{Runs: []schema.Run{r.Run}, Steps: r.Steps}
	lines, err := manifest.EncodeLedger(rows)
	if err != nil {
		return err
	}
	s, account := n.store, n.next.Accounts[n.store.account]
	path := manifest.LedgerPath(s.account, now)
	dir, name := n.files.whereIs(path)
	if err := manifest.CheckLedger(s.opts.disk, dir, name, account.Ledger[path],
		account.LedgerSHA256[path]); err != nil {
		return err
	}
	to := n.area.path(path)
	if n.files.isStaged(path) {
		to += ".longer" // the staged file is about to be read and replaced
	}
	sha, size, err := manifest.ExtendLedger(s.opts.disk, dir, name, to, lines)
	if err != nil {
		return err
	}
	if n.files.isStaged(path) {
		if err := s.opts.disk.Rename(to, n.area.path(path)); err != nil {
			return durable.Storage(err)
		}
	}
	n.files.move(path)
	account.Ledger[path], account.LedgerSHA256[path] = size, sha
	n.newRows.Add(rows)
	return nil
}

// wholeLedgers returns the ledger lines of all accounts that this generation may change. It leaves out lines that other
// accounts' runs have added but not published: the next runs of those accounts publish them.
func (n *generation) wholeLedgers() (all manifest.LedgerRows, err error) {
	for _, name := range n.accounts() {
		a := n.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Ledger)) {
			dir, name := n.files.whereIs(path)
			if err := manifest.CheckLedger(n.store.opts.disk, dir, name, a.Ledger[path],
				a.LedgerSHA256[path]); err != nil {
				return all, err
			}
			rows, _, err := manifest.ReadLedger(n.store.opts.disk, dir, name, 0, a.Ledger[path])
			if err != nil {
				return all, err
			}
			all.Add(rows)
		}
	}
	return all, nil
}
