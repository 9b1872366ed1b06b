package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Verification has the numbers of files, rows, days and replies that [Verify] has checked, and the damage that it has
// found.
type Verification struct {
	Generation int64 `json:"generation"`
	Files      int   `json:"files"`
	Rows       int64 `json:"rows"`
	Days       int   `json:"days"`
	RawPages   int   `json:"raw_pages"`
	// Unlocked means that the verification ran without the store's lock, for lack of permissions. If a generation had
	// been published meanwhile, the verification would have failed.
	Unlocked bool              `json:"unlocked,omitempty"`
	Damages  []*durable.Damage `json:"damages"`
	// Unproven are the accounts without stored proof that their report belongs to them. This is not damage.
	Unproven []duck.Unproven `json:"unproven_accounts"`
}

// Verify checks everything that is published: the bytes of every file against the manifest, the rows of every day
// against their sums, hash and stored replies, and every row of the DuckDB file against the Parquet files. It returns
// all damage that it finds; an error means that it could not check. It changes nothing, except that it finishes the
// commit of a dead run. A user who may only read the store needs no lock, see Verification.Unlocked.
func Verify(ctx context.Context, dir string, o Options, raw ReadRaw) (*Verification, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, durable.Storage(err)
	}
	o = o.filled()
	o.DuckDB.Dir = dir
	if there, err := o.disk.Exists(dir); !there || err != nil {
		return nil, cmp.Or(err, fmt.Errorf("%s: %w", dir, durable.ErrEmpty))
	}
	if err := refuseCopy(o.disk, dir); err != nil {
		return nil, err
	}
	lock, err := lockStore(o.disk, ctx, dir, o.LockWait)
	unlocked := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	if unlocked {
		o.Log.Warn("the store's lock cannot be taken, so a run that publishes meanwhile is not held up", "error", err)
	} else if err != nil {
		return nil, err
	} else {
		defer lock.Close()
		if err := o.place(dir).End(); err != nil {
			return nil, err
		}
	}
	m, err := manifest.ReadFrom(o.disk, dir)
	if err != nil {
		return nil, err
	}
	v := &verifier{dir: dir, opts: o, manifest: m, raw: raw, report: Verification{Generation: m.Generation}}
	if err := v.files(ctx); err != nil {
		return nil, err
	}
	if err := v.strayFiles(); err != nil {
		return nil, err
	}
	if err := v.warehouse(ctx); err != nil {
		return nil, err
	}
	if unlocked {
		if err := v.stillPublished(); err != nil {
			return nil, err
		}
		v.report.Unlocked = true
	}
	v.nameRepairs()
	slices.SortFunc(v.report.Damages, func(a, b *durable.Damage) int { return strings.Compare(a.Path, b.Path) })
	return &v.report, nil
}

// stillPublished returns an error if a run has published during a verification without the lock, because then the
// checked files may be of two generations.
func (v *verifier) stillPublished() error {
	committing, err := v.opts.disk.Exists(filepath.Join(v.dir, manifest.CommitName))
	if err != nil {
		return err
	}
	m, err := manifest.ReadRoot(v.opts.disk, v.dir, v.manifest)
	if err != nil {
		return err
	}
	if committing || m.Generation != v.manifest.Generation || m.Checksum != v.manifest.Checksum {
		return fmt.Errorf("a commit went on while generation %d was verified without the store's lock; verify it "+
			"again: %w", v.manifest.Generation, durable.ErrLocked)
	}
	return nil
}

type verifier struct {
	dir      string
	opts     Options
	manifest *manifest.Manifest
	raw      ReadRaw
	setBack  *durable.Damage // set if a part of the store is newer than the manifest; otherwise nil

	mu     sync.Mutex
	report Verification
}

// nameRepairs sets the Repair of those damages whose repair depends on other files. A damaged file of rows can be made
// again only if its day has replies and these are undamaged. A damaged reply can be read again only while the service
// still has its day. If the store was set back to an older generation, that must be repaired before any other damage.
func (v *verifier) nameRepairs() {
	damaged := map[string]bool{}
	for _, d := range v.report.Damages {
		damaged[d.Path] = true
	}
	for _, d := range v.report.Damages {
		if v.setBack != nil && d != v.setBack {
			d.Repair = "see " + manifest.FileName // any other repair would lose the newer parts of the store
			continue
		}
		for name, a := range v.manifest.Accounts {
			info := a.Files[d.Path]
			switch {
			case info == nil:
			case info.Kind == manifest.KindRaw && d.Repair != durable.RepairReplay:
				d.Repair = v.repairDay(name, info.Day)
				if d.Repair == manifest.RepairLost &&
					!damaged[manifest.TablePath(schema.SpendDaily.Table, name, info.Day)] {
					d.Repair += "; the stored numbers of the day are complete without it"
				}
			case info.Table == schema.SpendDaily.Name:
				pages := a.RawPages(info.Day)
				if len(pages) == 0 || slices.ContainsFunc(pages, func(page string) bool { return damaged[page] }) {
					d.Repair = v.repairDay(name, info.Day)
				}
			}
		}
	}
}

// repairDay returns how to repair a day whose replies are damaged or missing. While the service still has the day, a
// sync of the day repairs it.
func (v *verifier) repairDay(account string, day schema.Date) string {
	if schema.DaysUntilUnreachable(day, schema.DateOf(v.opts.Now())) <= 0 {
		return manifest.RepairLost
	}
	command := fmt.Sprintf("spendsync sync --from %s --to %s", day, day)
	if len(v.manifest.AccountNames()) > 1 {
		command = "SPENDSYNC_ACCOUNT=" + account + " " + command
	}
	return command
}

// recordDamage adds an error to the report if it is damage, and otherwise returns it.
func (v *verifier) recordDamage(err error) error {
	var d *durable.Damage
	if err == nil || !errors.As(err, &d) {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	isSame := func(o *durable.Damage) bool { return o.Path == d.Path && o.What == d.What }
	// A damaged reply is reported when its bytes are checked, and again when its day is checked.
	if !slices.ContainsFunc(v.report.Damages, isSame) {
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
				return v.recordDamage(v.file(name, a, path, info))
			})
		}
		for d := range a.Days {
			v.report.Days++
			if path := manifest.TablePath(schema.SpendDaily.Table, name, d); a.Files[path] == nil {
				if err := v.recordDamage(durable.Damaged(path, durable.RepairReplay,
					"the manifest knows the day but no file of it")); err != nil {
					return err
				}
			}
		}
		for path, size := range a.Ledger {
			g.Go(func() error { return v.recordDamage(v.ledger(a, path, size)) })
		}
	}
	return g.Wait()
}

// ledger checks the hash of the published part of a ledger file, and that all lines of the file can be read.
func (v *verifier) ledger(a *manifest.Account, path string, size int64) error {
	if err := manifest.CheckLedger(v.opts.disk, v.dir, path, size, a.LedgerSHA256[path]); err != nil {
		return err
	}
	_, _, err := manifest.ReadLedger(v.opts.disk, v.dir, path, 0, manifest.ToEnd)
	return err
}

func (v *verifier) file(account string, a *manifest.Account, path string, info *manifest.File) error {
	if err := manifest.CheckBytes(v.opts.disk, v.dir, path, info); err != nil {
		return err
	}
	v.mu.Lock()
	v.report.Files++
	if info.Kind == manifest.KindParquet {
		v.report.Rows += info.Rows
	}
	v.mu.Unlock()
	switch info.Kind {
	case manifest.KindRaw:
		return nil // a reply is decoded when its day is checked
	case manifest.KindSettings, manifest.KindDuckDB:
		return nil
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

// count reads a file to its end and compares the number of its rows with the manifest.
func (v *verifier) count(path string, info *manifest.File, t *schema.Table) error {
	n := int64(0)
	for rec, err := range parquet.Records(v.opts.disk, filepath.Join(v.dir, path), t) {
		if err != nil {
			return manifest.CountRows(path, info, 0, err)
		}
		n += rec.NumRows()
	}
	return manifest.CountRows(path, info, n, nil)
}

// day checks that all rows of a file belong to the account and day, that keys are unique, and that the stored replies
// and the manifest agree with the rows.
func (v *verifier) day(account string, a *manifest.Account, path string, info *manifest.File) error {
	proven := a.Days[info.Day]
	if proven == nil {
		return durable.Damaged(path, "", "the manifest does not know its day")
	}
	isHashed := v.manifest.SchemaVersion >= labelsSince
	rows, err := manifest.ReadDay(v.opts.disk, filepath.Join(v.dir, path), account, info.Day)
	if err := manifest.CountRows(path, info, int64(rows.Len()), err); err != nil {
		return err
	}
	day, err := history.OrderedDay(rows) // unsorted rows have another hash
	if err == nil {
		err = proven.CheckRows(day, isHashed)
	}
	if err != nil {
		return durable.Damaged(path, durable.RepairReplay, "%v", err)
	}
	pages := a.RawPages(info.Day)
	if v.raw == nil || len(pages) == 0 {
		return nil
	}
	var unread error
	fromRaw, err := v.raw(account, info.Day, proven.Pieces, func(yield func([]byte, error) bool) {
		for body, err := range manifest.RawPages(v.opts.disk, v.dir, a, pages) {
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
	if err == nil {
		day, err = history.NewDay(fromRaw)
	}
	if err == nil {
		err = proven.CheckRows(day, isHashed)
	}
	if err != nil && a.ByOlderRules(info.Day) {
		return nil // older rules decoded the stored rows, so they may differ from rows decoded now
	}
	if err != nil {
		return durable.Damaged(pages[0], durable.RepairReplay, "the replies of %s do not give the stored day: %v",
			info.Day, err)
	}
	return nil
}

// strayFiles records two kinds of files: files that the manifest does not name although a glob would match them, and
// files newer than the manifest.
func (v *verifier) strayFiles() error {
	files, err := manifest.FilesIn(v.opts.disk, v.dir)
	if err != nil {
		return err
	}
	newer, err := v.manifest.Newest(v.opts.disk, v.dir, files)
	if err != nil {
		return err
	}
	v.recordSetBack(newer)
	for _, path := range v.manifest.Strays(files) {
		if err := v.recordDamage(durable.Damaged(path, manifest.MoveOut, "the manifest does not name it")); err != nil {
			return err
		}
	}
	return nil
}

// recordSetBack records once that the store was set back.
func (v *verifier) recordSetBack(newer manifest.NewerPart) {
	if newer.Path != "" && v.setBack == nil {
		v.setBack = v.manifest.SetBack(newer)
		v.report.Damages = append(v.report.Damages, v.setBack)
	}
}

// warehouse checks the DuckDB file: its bytes, and its rows against the Parquet files.
func (v *verifier) warehouse(ctx context.Context) error {
	w := v.manifest.Warehouse
	path := filepath.Join(v.dir, duck.FileName)
	sha, size, err := v.opts.disk.HashFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return v.recordDamage(durable.Damaged(duck.FileName, durable.RepairRebuild, "it is missing"))
	case err != nil:
		return err
	case size != w.Bytes || sha != w.SHA256:
		newer, err := newerDuckDB(ctx, v.manifest, v.dir, v.opts.DuckDB)
		if err != nil {
			return err
		}
		v.recordSetBack(newer)
		return v.recordDamage(durable.Damaged(duck.FileName, durable.RepairRebuild, "its bytes are not those that "+
			"were published"))
	}
	if wal, err := v.opts.disk.Exists(path + ".wal"); wal || err != nil {
		if err != nil {
			return err
		}
		err := v.recordDamage(durable.Damaged(duck.FileName+".wal", "the next sync moves it aside",
			"somebody opened warehouse.duckdb for writing; readers now see what was written"))
		if err != nil {
			return err
		}
	}
	if len(v.report.Damages) > 0 {
		// Comparing the rows would only report the same damage again.
		return nil
	}
	if v.manifest.Rows() >= smallRows {
		debug.FreeOSMemory() // a pod's limit counts our freed memory together with DuckDB's memory
	}
	return v.recordDamage(v.content(ctx, path))
}

// content checks the rows of the DuckDB file. The engine starts with little memory, because with more memory it would
// cache every block that it has read.
func (v *verifier) content(ctx context.Context, path string) (err error) {
	w, err := duck.OpenPublished(ctx, path, v.opts.DuckDB)
	if err != nil {
		return err
	}
	defer func() { err = w.Stop(err) }()
	err = w.WithMemory(ctx, func() (err error) {
		v.report.Unproven, err = w.Unproven(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var views []duck.View
	if v.manifest.Views == v.opts.DuckDB.ViewsDefinition() {
		views = v.opts.DuckDB.Views
	}
	return compareRows(ctx, v.manifest, v.dir, w, views)
}
