package load

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// A store with lost or set-back parts is refused until a person accepts the loss. Then every existing intact file is
// adopted, the later one of two. Content that is neither in a file nor in the DuckDB file is forgotten.

// accepting reports whether the loss of files that cannot be brought back is accepted.
func (r *repair) accepting() bool { return r.g.store.opts.AcceptLoss != nil }

// losses returns what the generation continues without, as sentences.
func (r *repair) losses() []string {
	if newer := r.g.store.newer; newer.Path != "" {
		return append([]string{r.base.SetBack(newer).What}, r.accepted...)
	}
	return r.accepted
}

// takeNewer adds the Parquet files that a later generation than the manifest's wrote, named or not.
func (r *repair) takeNewer() error {
	s := r.g.store
	files, err := manifest.FilesIn(s.opts.disk, s.dir)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		account, info := r.base.FileOf(path)
		if info != nil && manifest.CheckBytes(s.opts.disk, s.dir, path, info) == nil {
			continue
		}
		newer, err := r.base.NewerParquet(s.opts.disk, s.dir, account, path)
		if err != nil {
			return err
		}
		if newer.Path == "" {
			continue
		}
		if err := r.take(account, path, true); err != nil && !errors.Is(err, durable.ErrDamaged) {
			return err
		}
	}
	return nil
}

// damagedFile is a published file whose content has changed since.
type damagedFile struct {
	*durable.Damage
	account string
}

// acceptLoss decides about a damaged file that nothing can restore: a complete file of its table is accepted
// unchanged, any other is forgotten.
func (r *repair) acceptLoss(d damagedFile) error {
	err := r.take(d.account, d.Path, false)
	if err == nil || !errors.Is(err, durable.ErrDamaged) {
		return err
	}
	a := r.next.Accounts[d.account]
	info := a.Files[d.Path]
	delete(a.Files, d.Path)
	if info.Table == schema.SpendDaily.Name {
		delete(a.Days, info.Day)
		r.forgetReplies(a, info.Day)
	}
	delete(a.Confirmations, info.Table)
	r.accepted = append(r.accepted, d.Path+" is forgotten")
	return nil
}

// take adds a Parquet file that is in its place. A [durable.ErrDamaged] means that it is not a complete file
// of its table and account.
func (r *repair) take(account, path string, newer bool) error {
	s := r.g.store
	t, day := manifest.TableAt(account, path)
	if t == nil {
		return durable.Damaged(path, manifest.MoveOut, "it is not a file of any table")
	}
	sha, size, err := s.opts.disk.HashFile(filepath.Join(s.dir, path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return durable.Damaged(path, durable.RepairBackup, "it is missing")
		}
		return err
	}
	info := &manifest.File{Kind: manifest.KindParquet, Table: t.Name, Day: day, Bytes: size, SHA256: sha,
		RunID: r.g.runID}
	a := r.next.Accounts[account]
	switch h := versionedTable(t.Name); {
	case t == schema.SpendDaily.Table:
		err = r.takeDay(account, path, info, newer)
	case h != nil:
		var confirmed history.Confirmations
		if confirmed, info.Rows, err = h.recall(s.opts.disk, s.dir, path); err == nil {
			a.Confirmations[t.Name] = confirmed
		}
	default:
		info.Rows, err = rowsOfAccount(s.opts.disk, filepath.Join(s.dir, path), t, account)
	}
	if errors.Is(err, durable.ErrStorage) {
		return err
	}
	if err != nil {
		return durable.Damaged(path, durable.RepairBackup, "%v", err)
	}
	r.files.enter(a.Files, path, info, false)
	r.accepted = append(r.accepted, path+" is taken as it is")
	return nil
}

// takeDay derives the coverage of a day from its rows. If its last read is unknown, the last change of a row stands
// for it.
func (r *repair) takeDay(account, path string, info *manifest.File, newer bool) error {
	s, a, day := r.g.store, r.next.Accounts[account], info.Day
	rows, err := manifest.ReadDay(s.opts.disk, filepath.Join(s.dir, path), account, day)
	if err != nil {
		return err
	}
	sealed, err := history.OrderedDay(rows)
	if err != nil {
		return err
	}
	known := &manifest.Day{Reads: 1, Control: schema.ControlUnknown, RunID: r.g.runID}
	for i, row := range rows.All() {
		known.LastReadAt = max(known.LastReadAt, row.ChangedAt)
		if i == 0 || row.FirstSeenAt < known.FirstReadAt {
			known.FirstReadAt = row.FirstSeenAt
		}
	}
	if was := a.Days[day]; was != nil {
		known.FirstReadAt, known.Reads = was.FirstReadAt, was.Reads
		if newer {
			known.LastReadAt = max(known.LastReadAt, was.LastReadAt)
		}
	}
	if newer {
		read, err := r.lastRead(account, day)
		if err != nil {
			return err
		}
		known.LastReadAt = max(known.LastReadAt, read)
	}
	known.Sums, known.ContentHash = sealed.Sums(), sealed.Hash()
	info.Rows = known.Sums.Rows
	a.Days[day], a.Since = known, min(a.Since, day)
	return r.takeReplies(account, day, known)
}

// lastRead returns when a day was last read and proven, by the ledger; 0 if the ledger does not have it.
func (r *repair) lastRead(account string, day schema.Date) (at schema.Instant, err error) {
	s := r.g.store
	paths, err := manifest.LedgerFiles(s.opts.disk, s.dir, account)
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		b, err := manifest.ReadLedger(s.opts.disk, s.dir, path)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(b)) {
			rows, err := manifest.DecodeLedger(path, []byte(line))
			if err != nil {
				continue
			}
			for _, step := range rows.Steps {
				if step.Unit == day.String() && (step.Outcome == "stored" || step.Outcome == "unchanged") {
					at = max(at, step.StartedAt)
				}
			}
		}
	}
	return at, nil
}

// takeReplies adds the replies of a day that are in their places, if they give its rows. Others are not
// published: they remain as strays.
func (r *repair) takeReplies(account string, day schema.Date, known *manifest.Day) error {
	s, a := r.g.store, r.next.Accounts[account]
	r.forgetReplies(a, day)
	var paths []string
	for page := 1; ; page++ {
		path := manifest.RawPath(account, day, page)
		sha, size, err := s.opts.disk.HashFile(filepath.Join(s.dir, path))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		r.files.enter(a.Files, path, &manifest.File{Kind: manifest.KindRaw, Day: day, Bytes: size, SHA256: sha,
			RunID: r.g.runID}, false)
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil
	}
	rows, err := s.opts.AcceptLoss(account, day, manifest.RawPages(s.opts.disk, s.dir, a, paths))
	if errors.Is(err, durable.ErrStorage) {
		return err
	}
	if err == nil {
		var fromReplies *history.Day
		if fromReplies, err = known.Seal(rows, s.StoredDay(day)); err == nil {
			err = known.Holds(fromReplies)
		}
	}
	if err != nil {
		r.forgetReplies(a, day)
	}
	return nil
}

// forgetReplies removes the replies of a day from an account.
func (r *repair) forgetReplies(a *manifest.Account, day schema.Date) {
	for _, path := range a.RawPages(day) {
		delete(a.Files, path)
	}
}

// forgetLostReplies forgets the replies of days that cannot be read again, if one of them is lost or
// damaged: the others give no day without it.
func (r *repair) forgetLostReplies() error {
	s := r.g.store
	today := schema.DateOf(s.opts.Now())
	for _, name := range r.next.AccountNames() {
		a := r.next.Accounts[name]
		for _, path := range slices.Sorted(maps.Keys(a.Files)) {
			info := a.Files[path]
			reply := info != nil && info.Kind == manifest.KindRaw && schema.DaysUntilUnreachable(info.Day, today) <= 0
			if !reply && (info == nil || info.Kind != manifest.KindReplies) {
				continue
			}
			err := manifest.CheckBytes(s.opts.disk, s.dir, path, info)
			if err != nil && !errors.Is(err, durable.ErrDamaged) {
				return err
			}
			if err != nil && !reply {
				delete(a.Files, path)
				r.accepted = append(r.accepted, path+" is forgotten")
			} else if err != nil {
				r.forgetReplies(a, info.Day)
				r.accepted = append(r.accepted, fmt.Sprintf("the replies of %s are forgotten", info.Day))
			}
		}
	}
	return nil
}

// rowsOfAccount counts the rows of a file, which must all belong to one account.
func rowsOfAccount(d durable.Disk, path string, t *schema.Table, account string) (rows int64, err error) {
	for rec, err := range parquet.Records(d, path, t) {
		if err != nil {
			return 0, err
		}
		accounts := manifest.Texts(rec, "account_id")
		for i := range int(rec.NumRows()) {
			if accounts.Value(i) != account {
				return 0, fmt.Errorf("row %d is of account %q", rows+int64(i)+1, accounts.Value(i))
			}
		}
		rows += rec.NumRows()
	}
	return rows, nil
}
