package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"spendsync/load/catalog"
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

// manifestObject is where the manifest of a generation lies, below the same folder.
func manifestObject(generation int64, run string) string {
	return fmt.Sprintf("/store/manifests/%d-%s.json.zst", generation, run)
}

// parts are what an account has beside what is in the tables, byte by byte: the days of a closed
// month are among them.
func (w *wanted) parts(account string, a *catalog.Account) (all []part) {
	for path, f := range a.Files {
		s := w.specOf(f)
		inTable := s != nil && !w.closes(s, s.cellOf(file{account: account, day: f.Day}))
		if !inTable && len(f.SHA256) == sha256.Size*2 {
			all = append(all, part{path, f.Bytes, f.SHA256})
		}
	}
	for path, n := range a.Ledger {
		if sha := a.LedgerSHA256[path]; sha != "" && n > 0 {
			all = append(all, part{path, n, sha})
		}
	}
	return all
}

// keepStore uploads what a restore needs beside the tables: the parts that the generation before
// did not have, and the manifest. They are there before the commit that says so.
func (f *follower) keepStore(ctx context.Context, m *catalog.Listing, marker *lakeTable, marks *markers) error {
	w, had, err := newWanted(m.Manifest, f.specs), noParts, error(nil)
	if last := marks.newest(m.Names); last.Generation > 0 {
		before, err := marker.openManifest(last)
		if err != nil && !isNotThere(err) {
			return err
		}
		if before != nil {
			defer before.Close()
			next, stop := iter.Pull2(before.Accounts())
			defer stop()
			had = partsBefore(newWanted(before.Manifest, f.specs), next)
		}
	}
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for a, err := range m.Accounts() {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		before, err := had(a.Name)
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		for _, p := range w.parts(a.Name, a.Account) {
			if !before[p.sha256] {
				before[p.sha256] = true
				g.Go(func() error { return f.keepPart(groupCtx, marker, p) })
			}
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	text, err := m.Text()
	if err != nil {
		return err
	}
	object := marker.tbl.Location() + manifestObject(m.Manifest.Generation, m.Manifest.RunID)
	return remote("manifest", marker.putCompressed(ctx, object, text))
}

// newest is the row of the newest generation of some accounts.
func (m *markers) newest(accounts []string) (last Marker) {
	for _, account := range accounts {
		if row := m.rows[account]; row.Generation > last.Generation {
			last = row
		}
	}
	return last
}

// partsBefore gives the hashes of the parts that a generation had of an account; it is asked for the
// accounts in their order.
func partsBefore(w *wanted, next func() (catalog.Named, error, bool)) func(string) (map[string]bool, error) {
	a, err, more := next()
	return func(account string) (map[string]bool, error) {
		for more && err == nil && a.Name < account {
			a, err, more = next()
		}
		had := map[string]bool{}
		if more && err == nil && a.Name == account {
			for _, p := range w.parts(a.Name, a.Account) {
				had[p.sha256] = true
			}
		}
		return had, err
	}
}

func noParts(string) (map[string]bool, error) { return map[string]bool{}, nil }

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

// openManifest opens the manifest of a generation that the lake keeps.
func (t *lakeTable) openManifest(row Marker) (*catalog.Listing, error) {
	text, err := t.readCompressed(t.tbl.Location() + manifestObject(row.Generation, row.RunID))
	if err != nil {
		return nil, remote("manifest", err)
	}
	return openText(text)
}

// openText is the listing of a manifest's text, which it closes.
func openText(text *os.File) (*catalog.Listing, error) {
	m, err := catalog.NewListing(text)
	if err != nil {
		text.Close()
	}
	return m, err
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
		return nil, fmt.Errorf("%w: %w", catalog.ErrStorage, err)
	} else if len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	marker, row, err := l.pick(ctx, account)
	if err != nil {
		return nil, err
	}
	m, err := marker.openManifest(row)
	if isNotThere(err) {
		return nil, fmt.Errorf("%w: the manifest of generation %d of run %s is not there; it is kept by followers "+
			"that keep the store", ErrForeign, row.Generation, row.RunID)
	} else if err != nil {
		return nil, err
	}
	defer m.Close()
	w, err := wantOf(m, l.specs, nil)
	if err != nil {
		return nil, err
	}
	done := &Restored{Generation: m.Manifest.Generation, RunID: m.Manifest.RunID, Accounts: m.Names}
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	get := func(t *lakeTable, object string, p part) {
		done.Files++
		done.Bytes += p.bytes
		g.Go(func() error { return t.restore(groupCtx, object, dir, p) })
	}
	for a, listErr := range m.Accounts() {
		if err = listErr; err != nil {
			break
		}
		for _, p := range w.parts(a.Name, a.Account) {
			get(marker, marker.tbl.Location()+p.object(), p)
		}
	}
	if err == nil {
		err = l.restoreTables(ctx, w, row, get)
	}
	if err = errors.Join(g.Wait(), err); err != nil {
		return nil, err
	}
	text, err := m.Text()
	if err == nil {
		err = writeFile(filepath.Join(dir, catalog.ManifestName), text)
	}
	return done, err
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

// restoreTables gets the files that the tables hold, from the snapshots of that generation.
func (l *Lake) restoreTables(ctx context.Context, w *wanted, row Marker,
	get func(*lakeTable, string, part)) error {
	snapshots, _, _, err := row.decode()
	if err != nil {
		return err
	}
	tables, err := l.tables(ctx, false)
	if err != nil {
		return err
	}
	reach := scope{accounts: w.accounts()}
	for name := range w.files {
		missing := w.byKey(name)
		maps.DeleteFunc(missing, func(_ string, f file) bool { return f.days != nil }) // parts of their own
		if t := tables[name]; t != nil && t.tbl.SnapshotByID(snapshots[name]) != nil {
			manifests, err := t.tbl.SnapshotByID(snapshots[name]).Manifests(t.fs)
			if err != nil {
				return remote(name, err)
			}
			for _, mf := range manifests {
				if !reach.touches(mf) {
					continue
				}
				entries, err := entriesOf(mf, t.fs)
				if err != nil {
					return remote(name, err)
				}
				for _, e := range entries {
					object := e.DataFile().FilePath()
					if f, ok := missing[keyOf(object)]; ok {
						get(t, object, part{f.path, f.info.Bytes, f.info.SHA256})
						delete(missing, keyOf(object))
					}
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
		return fmt.Errorf("%w: %w", catalog.ErrStorage, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("%w: %w", catalog.ErrStorage, err)
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}
