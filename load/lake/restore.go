package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// ErrNotEmpty says that a store would be restored over something.
var ErrNotEmpty = errors.New("the folder is not empty")

// part is a file of the store that no table holds byte by byte: a stored reply, a ledger as far as
// it is published, a Parquet file without rows, a day of a closed month.
type part struct {
	path   string
	bytes  int64
	sha256 string
}

// object is where the part lies, below the folder of lake_generation. Its name is its content, so
// it may be written twice.
func (p part) object() string { return "/store/objects/" + p.sha256[:2] + "/" + p.sha256 }

// partsOf are the files that are not in the tables byte by byte: the days of a closed month are among them.
func (w *wanted) partsOf(files map[string]*manifest.File) (all []part) {
	for path, f := range files {
		folder, _, _ := strings.Cut(path, "/account=")
		s := w.specs[folder]
		inTable := s != nil && s.hasRows(f) && !w.closes(s, s.cellOf(file{day: f.Day}))
		if !inTable && len(f.SHA256) == sha256.Size*2 {
			all = append(all, part{path, f.Bytes, f.SHA256})
		}
	}
	return all
}

// eachPart gives the parts of every account of which a group is asked for, and with ledgers those of its ledgers.
func (w *wanted) eachPart(l *manifest.Listing, asked func(*manifest.Group) bool, ledgers bool,
	give func(part) error) error {
	for _, a := range l.Accounts {
		groups, err := a.Groups()
		if err != nil {
			return err
		}
		unasked := func(g *manifest.Group) bool { return !asked(g) }
		files, err := a.Files(slices.DeleteFunc(slices.Clone(groups), unasked)...)
		if err != nil {
			return err
		}
		parts := w.partsOf(files)
		if ledgers {
			lengths, hashes, err := a.Ledgers()
			if err != nil {
				return err
			}
			for path, n := range lengths {
				if sha := hashes[path]; sha != "" && n > 0 {
					parts = append(parts, part{path, n, sha})
				}
			}
		}
		for _, p := range parts {
			if err := give(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func ofMonth(month int) func(*manifest.Group) bool {
	return func(g *manifest.Group) bool { return g.Month == month }
}

// keepPart uploads a part, hashed while it is read.
func (f *follower) keepPart(ctx context.Context, marker *lakeTable, p part) error {
	local, err := openStored(f.opts.Dir, p.path)
	if err != nil {
		return err
	}
	defer local.Close()
	object := marker.tbl.Location() + p.object()
	err = marker.putHashed(ctx, object, io.LimitReader(local, p.bytes), p.path, p.sha256)
	if errors.Is(err, errMoved) {
		// The name lies about the content; whoever restores it finds out, but nobody shall.
		return errors.Join(err, marker.fs.Remove(object))
	}
	return err
}

// Restored says what was restored.
type Restored struct {
	Generation int64
	RunID      string
	Accounts   []string
	Files      int
	Bytes      int64
}

// Restore makes a store in an empty folder as the lake has it: the generation of an account, with
// all accounts of its store. An account need not be named where the lake is of one store. Every
// file is compared with the hash in its manifest, which is written last: what was interrupted is
// no store. The DuckDB file is not in the lake; spendsync makes it from the others.
func (l *Lake) Restore(ctx context.Context, dir, account string) (*Restored, error) {
	if entries, err := os.ReadDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	} else if len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	marker, row, err := l.pick(ctx, account)
	if err != nil {
		return nil, err
	}
	m, _, err := marker.openManifest(row)
	if isNotThere(err) {
		return nil, fmt.Errorf("%w: the manifest of generation %d of run %s is not there; it is kept by followers "+
			"that keep the store", ErrForeign, row.Generation, row.RunID)
	} else if err != nil {
		return nil, err
	}
	defer m.Close()
	done := &Restored{Generation: m.Manifest.Generation, RunID: m.Manifest.RunID, Accounts: m.Names()}
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	get := func(t *lakeTable, object string, p part) {
		done.Files++
		done.Bytes += p.bytes
		g.Go(func() error { return t.restore(groupCtx, object, dir, p) })
	}
	err = l.restoreMonths(ctx, m, marker, row, get)
	if err = errors.Join(g.Wait(), err); err != nil {
		return nil, err
	}
	return done, writeManifest(dir, m)
}

// writeManifest writes the account files, and last the root, which makes the folder a store.
func writeManifest(dir string, m *manifest.Listing) error {
	texts := m.Texts()
	root := texts[manifest.FileName]
	delete(texts, manifest.FileName)
	for path, text := range texts {
		if err := writeFile(filepath.Join(dir, path), text); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, manifest.FileName), root)
}

// restoreMonths gets everything month by month: what is held in memory at a time does not grow with the history.
func (l *Lake) restoreMonths(ctx context.Context, m *manifest.Listing, marker *lakeTable, row Marker,
	get func(*lakeTable, string, part)) error {
	tables, err := l.tables(ctx, false)
	if err != nil {
		return err
	}
	held, err := l.heldBy(row, tables)
	if err != nil {
		return err
	}
	months, err := monthsOf(m)
	if err != nil {
		return err
	}
	for _, month := range months {
		w, err := wantOf(m, l.specs, nil, inMonth(month))
		if err != nil {
			return err
		}
		err = w.eachPart(m, ofMonth(month), month == noMonth, func(p part) error {
			get(marker, marker.tbl.Location()+p.object(), p)
			return nil
		})
		if err == nil {
			err = l.restoreTables(w, month, tables, held, get)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pick finds the row of the store to restore.
func (l *Lake) pick(ctx context.Context, account string) (*lakeTable, Marker, error) {
	marker, err := l.load(ctx, l.markerSpec())
	if err == nil && marker == nil {
		err = fmt.Errorf("%w: %s is not there", ErrForeign, MarkerTable)
	}
	if err != nil {
		return nil, Marker{}, err
	}
	marks, err := readMarkers(ctx, marker.fs, marker.tbl.CurrentSnapshot(), nil)
	if err != nil {
		return nil, Marker{}, err
	}
	var found Marker
	for _, name := range slices.Sorted(maps.Keys(marks.rows)) {
		row := marks.rows[name]
		switch {
		case account != "" && name != account:
		case found.RunID == "" || found.RunID == row.RunID:
			found = row
		default:
			return nil, row, fmt.Errorf("the lake has several stores, such as that of %s and that of %s: name one "+
				"account", found.AccountID, name)
		}
	}
	if found.RunID == "" {
		return nil, found, fmt.Errorf("%w: %s has no row of account %q", ErrForeign, MarkerTable, account)
	}
	return marker, found, nil
}

// heldBy are the manifests of each table that hold the generation of a row.
func (l *Lake) heldBy(row Marker, tables map[string]*lakeTable) (map[string][]iceberg.ManifestFile, error) {
	snapshots, _, _, err := row.decode()
	held := map[string][]iceberg.ManifestFile{}
	for name, t := range tables {
		if s := t.tbl.SnapshotByID(snapshots[name]); s != nil && err == nil {
			held[name], err = s.Manifests(t.fs)
			err = remote(name, err)
		}
	}
	return held, err
}

// restoreTables gets the files of a month that the tables hold.
func (l *Lake) restoreTables(w *wanted, month int, tables map[string]*lakeTable,
	held map[string][]iceberg.ManifestFile, get func(*lakeTable, string, part)) error {
	for name := range w.files {
		missing := w.byKey(name)
		maps.DeleteFunc(missing, func(_ string, f file) bool { return f.days != nil }) // parts of their own
		if len(missing) == 0 {
			continue
		}
		reach := w.scopeOf(month)
		for _, mf := range held[name] {
			if !reach.touches(mf) {
				continue
			}
			entries, err := entriesOf(mf, tables[name].fs)
			if err != nil {
				return remote(name, err)
			}
			for _, e := range entries {
				object := e.DataFile().FilePath()
				if f, ok := missing[keyOf(object)]; ok {
					get(tables[name], object, part{f.path, f.info.Bytes, f.info.SHA256})
					delete(missing, keyOf(object))
				}
			}
		}
		for _, f := range missing {
			return fmt.Errorf("table %s: %s: %w", name, f.path, ErrDiffers)
		}
	}
	return nil
}

// restore writes an object as a file of the store, and compares it with its hash.
func (t *lakeTable) restore(ctx context.Context, object, dir string, p part) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from, err := t.fs.Open(object)
	if err != nil {
		return remote(p.path, err)
	}
	defer from.Close()
	hash := sha256.New()
	if err := writeFile(filepath.Join(dir, p.path), io.TeeReader(from, hash)); err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != p.sha256 {
		return fmt.Errorf("%s: %w", p.path, ErrDiffers)
	}
	return nil
}

// writeFile writes a file that is not there yet, durably.
func writeFile(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}
