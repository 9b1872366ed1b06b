package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"spendsync/load/manifest"
)

// ErrDiffers reports that the lake and the store differ.
var ErrDiffers = errors.New("the lake differs from the store")

// Verified is the scope and the findings of a verification.
type Verified struct {
	Generation int64
	Files      int // compared
	Rows       int64
	Bytes      int64    // read and hashed; 0: only names, rows and sizes were compared
	Findings   []string // empty: the lake holds just what the store does
	Foreign    []string // columns that somebody has added to tables, as table.column
}

// Verify compares the lake with the published generation of a store: the live files of every
// account and table with those that the manifest names, by name, rows and size, so that every
// day's rows are counted; and with deep by the hash of every byte, which proves every sum.
// It returns [ErrDiffers] where something differs.
func (l *Lake) Verify(ctx context.Context, dir string, deep bool) (*Verified, error) {
	m, err := manifest.OpenListing(dir)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	v := &Verified{Generation: m.Manifest.Generation}
	status, err := l.status(ctx, dir, m)
	if err != nil {
		return nil, err
	}
	for _, a := range status.Accounts {
		if a.Generation != v.Generation {
			v.find("account %s: the lake has generation %d, the store %d: run 'spendsync-lake follow'", a.AccountID,
				a.Generation, v.Generation)
		}
	}
	if len(v.Findings) > 0 { // comparing different generations proves nothing
		return v, fmt.Errorf("%w: %d accounts are behind", ErrDiffers, len(v.Findings))
	}
	if err := l.verify(ctx, v, m, deep); err != nil {
		return nil, err
	}
	if len(v.Findings) > 0 {
		return v, fmt.Errorf("%w: %d findings", ErrDiffers, len(v.Findings))
	}
	return v, nil
}

// verify compares month by month: the files of one are in memory at a time.
func (l *Lake) verify(ctx context.Context, v *Verified, m *manifest.Listing, deep bool) error {
	tables, err := l.tables(ctx)
	if err != nil {
		return err
	}
	v.Foreign = l.foreignColumns(tables)
	w, err := wantOf(m, l.dataSpecs())
	if err != nil {
		return err
	}
	for _, s := range l.dataSpecs() {
		t := tables[s.name]
		if t == nil {
			v.find("table %s is not there", s.name)
			continue
		}
		held, err := v.manifests(t)
		if err != nil {
			return err
		}
		for _, month := range v.months(t, w, held) {
			if err := v.month(ctx, t, held, w, month, deep); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *Verified) find(format string, args ...any) {
	v.Findings = append(v.Findings, fmt.Sprintf(format, args...))
}

// manifests are those of a table's files.
func (v *Verified) manifests(t *lakeTable) (files []iceberg.ManifestFile, err error) {
	all, err := t.manifests()
	for _, m := range all {
		if m.ManifestContent() == iceberg.ManifestContentDeletes {
			v.find("table %s: somebody else has written deletes: %s", t.name, m.FilePath())
			continue
		}
		files = append(files, m)
	}
	return files, err
}

// months are those that a table has in the store, and those that its manifests span.
func (v *Verified) months(t *lakeTable, w *wanted, held []iceberg.ManifestFile) []int {
	if !t.spec.months {
		return []int{noMonth}
	}
	months := map[int]bool{}
	for _, tables := range w.parts {
		for month := range tables[t.name] {
			months[month] = true
		}
	}
	for _, m := range held {
		first, last := monthBounds(m)
		if last-first > 12_000 {
			v.find("table %s: %s does not say which months it spans", t.name, m.FilePath())
			continue
		}
		for month := first; month <= last; month++ {
			months[month] = true
		}
	}
	return slices.Sorted(maps.Keys(months))
}

// month compares what a table has of a month.
func (v *Verified) month(ctx context.Context, t *lakeTable, held []iceberg.ManifestFile, w *wanted, month int,
	deep bool) error {
	all := scope{partitions: map[partition]bool{}}
	for account := range w.accounts {
		all.partitions[partition{account, month}] = true
	}
	wanted, err := w.files(t.spec, all)
	if err != nil {
		return err
	}
	var read []liveObject
	for _, m := range held {
		if !all.touches(m) {
			continue
		}
		entries, err := entriesOf(m, t.fs)
		if err != nil {
			return remote(t.name, err)
		}
		for _, e := range entries {
			d := e.DataFile()
			if !all.holds(partitionOfFile(d)) {
				continue
			}
			f, ok := wanted[keyOf(d.FilePath())]
			if !ok {
				v.find("table %s: %s is in the lake and not in the store, or twice", t.name, d.FilePath())
				continue
			}
			delete(wanted, f.key())
			v.compare(t, d, f)
			read = append(read, liveObject{d.FilePath(), d.FileSizeBytes(), f})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		v.find("table %s: %s is in the store and not in the lake", t.name, wanted[key].path)
	}
	if !deep {
		return nil
	}
	return v.hash(ctx, t, read)
}

// compare compares an object with the file of the store. The size of a closed month's file is nowhere in the store.
func (v *Verified) compare(t *lakeTable, d iceberg.DataFile, f file) {
	v.Files++
	v.Rows += d.Count()
	if d.Count() != f.info.Rows || f.days == nil && d.FileSizeBytes() != f.info.Bytes {
		v.find("table %s: %s has %d rows and %d bytes, the store %d and %d", t.name, d.FilePath(), d.Count(),
			d.FileSizeBytes(), f.info.Rows, f.info.Bytes)
	}
}

// liveObject is an object of the lake and the file of the store that it should be.
type liveObject struct {
	path  string
	bytes int64
	is    file
}

// hash reads objects, a few at a time, and compares every byte by its hash.
func (v *Verified) hash(ctx context.Context, t *lakeTable, objects []liveObject) error {
	sums := make([]string, len(objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, o := range objects {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			sums[i], err = t.hash(o.path)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, o := range objects {
		v.Bytes += o.bytes
		isIt := sums[i] == o.is.info.SHA256
		if o.is.days != nil { // a closed month's is in the name of its object
			isIt = strings.Contains(path.Base(o.path), sums[i][:12])
		}
		if !isIt {
			v.find("table %s: %s is not the bytes of %s: %s", t.name, o.path, o.is.path, sums[i])
		}
	}
	return nil
}

// hash returns the SHA-256 of an object, or a text that it is missing.
func (t *lakeTable) hash(object string) (string, error) {
	f, err := t.fs.Open(object)
	if isNotThere(err) {
		return "it is not there", nil
	} else if err != nil {
		return "", remote(object, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", remote(object, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
