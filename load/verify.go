package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Report is what a verification has looked at and found.
type Report struct {
	Generation int64     `json:"generation"`
	Files      int       `json:"files"`
	Rows       int64     `json:"rows"`
	Days       int       `json:"days"`
	RawPages   int       `json:"raw_pages"`
	Damages    []*Damage `json:"damages"`
}

// ReadRaw makes a day's rows again from its stored replies. The store does not
// know the service, so the caller brings this.
// The pages come one by one, each lent, and an error of reading them is to be handed back.
type ReadRaw func(account string, day schema.Date, pages iter.Seq2[[]byte, error]) (*schema.SpendRows, error)

// Verify checks everything that is published: every file's bytes against the
// manifest, every day's rows against its sums, its hash and its stored replies,
// and the DuckDB file against the Parquet files, row by row. It finds as many
// damages as there are; an error means that it could not look.
func Verify(ctx context.Context, dir string, o Options, raw ReadRaw) (*Report, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, durable.Storage(err)
	}
	o = o.filled()
	o.DuckDB.Dir = dir
	if there, err := o.disk.Exists(dir); !there || err != nil {
		return nil, cmp.Or(err, fmt.Errorf("%s: %w", dir, ErrEmpty))
	}
	unlock, err := lockStore(o.disk, ctx, dir, o.LockWait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := rollForward(dir, o); err != nil {
		return nil, err
	}
	m, err := readManifest(o.disk, dir)
	if err != nil {
		return nil, err
	}
	v := &verifier{dir: dir, opts: o, manifest: m, raw: raw, report: Report{Generation: m.Generation}}
	if err := v.files(ctx); err != nil {
		return nil, err
	}
	if err := v.orphans(); err != nil {
		return nil, err
	}
	if err := v.warehouse(ctx); err != nil {
		return nil, err
	}
	v.nameMends()
	slices.SortFunc(v.report.Damages, func(a, b *Damage) int { return strings.Compare(a.Path, b.Path) })
	return &v.report, nil
}

type verifier struct {
	dir      string
	opts     Options
	manifest *Manifest
	raw      ReadRaw
	whole    bool // the DuckDB file has the bytes that were published

	mu     sync.Mutex
	report Report
}

// nameMends says of each damaged file what mends it, as things stand: the DuckDB
// file gives back any Parquet file if it is whole itself, the replies a day.
func (v *verifier) nameMends() {
	for _, d := range v.report.Damages {
		for _, a := range v.manifest.Accounts {
			info := a.Files[d.Path]
			switch {
			case info == nil || info.Kind != KindParquet || d.Mend == durable.MendRebuild:
			case v.whole:
				d.Mend = durable.MendRebuild
			case info.Table == schema.SpendDaily.Name && len(a.RawPages(info.Day)) == 0:
				d.Mend = durable.MendBackup
			}
		}
	}
}

// found notes a damage; another error is passed on.
func (v *verifier) found(err error) error {
	var d *Damage
	if err == nil || !errors.As(err, &d) {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	same := func(o *Damage) bool { return o.Path == d.Path && o.What == d.What }
	if !slices.ContainsFunc(v.report.Damages, same) { // a reply is met by itself and with its day
		v.report.Damages = append(v.report.Damages, d)
	}
	return nil
}

// files checks every file that the manifest names, several at a time.
func (v *verifier) files(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(2, v.opts.DuckDB.Threads))
	for _, name := range v.manifest.AccountNames() {
		a := v.manifest.Accounts[name]
		for path, info := range a.Files {
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return v.found(v.file(name, a, path, info))
			})
		}
		for d := range a.Days {
			v.report.Days++
			if path := partPath(schema.SpendDaily.Table, name, d); a.Files[path] == nil {
				if err := v.found(durable.Damaged(path, durable.MendReplay, "the manifest knows the day but no "+
					"file of it")); err != nil {
					return err
				}
			}
		}
		for path, size := range a.Ledger {
			g.Go(func() error { return v.found(v.ledger(a, path, size)) })
		}
	}
	return g.Wait()
}

// ledger checks the published part of a ledger file, and that the rest of it,
// which failed runs have added since, can be read.
func (v *verifier) ledger(a *Account, path string, size int64) error {
	b, err := readLedger(v.opts.disk, v.dir, path)
	if err != nil {
		return err
	}
	if err := checkLedger(path, b, size, a.LedgerSHA256[path]); err != nil {
		return err
	}
	_, err = decodeLedger(path, b)
	return err
}

func (v *verifier) file(account string, a *Account, path string, info *FileInfo) error {
	if err := checkBytes(v.opts.disk, v.dir, path, info); err != nil {
		return err
	}
	v.mu.Lock()
	v.report.Files++
	if info.Kind == KindParquet {
		v.report.Rows += info.Rows
	}
	v.mu.Unlock()
	if info.Kind == KindRaw {
		return nil // read with its day
	}
	if info.Table == schema.SpendDaily.Name {
		return v.day(account, a, path, info)
	}
	if h := versionedTable(info.Table); h != nil {
		return h.check(v.opts.disk, v.dir, path, a, info)
	}
	if t := schema.Named(info.Table); t != nil && t.HasFiles() {
		return v.count(path, info, t)
	}
	return durable.Damaged(path, "", "table %q is not known", info.Table)
}

// count reads a file to its end and compares how many rows it has.
func (v *verifier) count(path string, info *FileInfo, t *schema.Table) error {
	n := int64(0)
	for rec, err := range parquet.Records(v.opts.disk, filepath.Join(v.dir, path), t) {
		if err != nil {
			return countRows(path, info, 0, err)
		}
		n += rec.NumRows()
	}
	return countRows(path, info, n, nil)
}

func countRows(path string, info *FileInfo, rows int64, err error) error {
	if errors.Is(err, ErrStorage) {
		return err // it could not be read: that is no damage
	}
	if err != nil {
		return durable.Damaged(path, info.mend(), "%v", err)
	}
	if rows != info.Rows {
		return durable.Damaged(path, info.mend(), "it has %d rows, and had %d when it was published", rows, info.Rows)
	}
	return nil
}

// day checks the rows of a day: theirs, unique, as many, of the same sums and
// the same content as when they were proven, and the same as in the replies.
func (v *verifier) day(account string, a *Account, path string, info *FileInfo) error {
	known := a.Days[info.Day]
	if known == nil {
		return durable.Damaged(path, "", "the manifest does not know its day")
	}
	rows, err := readDay(v.opts.disk, filepath.Join(v.dir, path), account, info.Day)
	if err := countRows(path, info, int64(rows.Len()), err); err != nil {
		return err
	}
	if err := sameDay(rows, known); err != nil {
		return durable.Damaged(path, durable.MendReplay, "%v", err)
	}
	pages := a.RawPages(info.Day)
	if v.raw == nil || len(pages) == 0 {
		return nil
	}
	var unread error
	fromRaw, err := v.raw(account, info.Day, func(yield func([]byte, error) bool) {
		for body, err := range rawPages(v.opts.disk, v.dir, a, pages) {
			if unread = err; !yield(body, err) {
				return
			}
		}
	})
	if unread != nil {
		return unread
	}
	v.mu.Lock()
	v.report.RawPages += len(pages)
	v.mu.Unlock()
	var day *history.Day
	if err == nil {
		day, err = history.NewDay(fromRaw)
	}
	if err == nil {
		err = known.holds(day)
	}
	if err != nil {
		return durable.Damaged(pages[0], durable.MendReplay, "the replies of %s do not give the stored day: %v",
			info.Day, err)
	}
	return nil
}

// readDay reads the file of a day, whose rows have to be of that day.
func readDay(d durable.Disk, path, account string, day schema.Date) (*schema.SpendRows, error) {
	rows := &schema.SpendRows{}
	for batch, err := range parquet.Batches(d, path, schema.SpendDaily) {
		if err != nil {
			return rows, err
		}
		for i := range batch {
			if r := &batch[i]; r.AccountID != account || r.ReportDate != day {
				return rows, fmt.Errorf("row %d is of account %q, day %s", rows.Len()+1, r.AccountID, r.ReportDate)
			}
			rows.Append(&batch[i])
		}
	}
	return rows, nil
}

// sameDay compares rows with what was proven of their day. Those that are not in key
// order are not the same.
func sameDay(rows *schema.SpendRows, known *Day) error {
	day, err := history.OrderedDay(rows)
	if err != nil {
		return err
	}
	return known.holds(day)
}

// holds says in what a day differs from what was proven of it.
func (known *Day) holds(day *history.Day) error {
	if sums := day.Sums(); sums != known.Sums {
		return fmt.Errorf("the rows add up to %+v, and did to %+v", sums, known.Sums)
	}
	if day.Hash() != known.ContentHash {
		return errors.New("the content is not what was proven")
	}
	return nil
}

// orphans looks for files that a reader who globs would read although they are
// not published.
func (v *verifier) orphans() error {
	published := map[string]bool{}
	for _, a := range v.manifest.Accounts {
		for path := range a.Files {
			published[path] = true
		}
	}
	return v.orphansIn("parquet", published)
}

func (v *verifier) orphansIn(folder string, published map[string]bool) error {
	entries, err := v.opts.disk.ReadDir(filepath.Join(v.dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Storage(err)
	}
	for _, e := range entries {
		path := folder + "/" + e.Name()
		switch {
		case e.IsDir():
			err = v.orphansIn(path, published)
		case !published[path]:
			err = v.found(durable.Damaged(path, "move it out of the data directory", "the manifest does not name it"))
		default:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
