package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"spendsync/load/manifest"
)

// stored returns the rows of lake_generation for the accounts of a store. An account that is not in the lake has
// generation 0.
func (l *Lake) stored(ctx context.Context, m *manifest.Manifest) (rows []Marker, err error) {
	marker, err := l.load(ctx, l.markerSpec())
	if err != nil {
		return nil, err
	}
	stored := &markers{}
	if marker != nil {
		if stored, err = marker.markers(); err != nil {
			return nil, err
		}
	}
	for _, account := range m.AccountNames() {
		row := stored.rows[account]
		row.AccountID = account
		if err := row.checkAhead(m); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Verified is the result of [Lake.Verify].
type Verified struct {
	Generation int64
	Files      int // number of compared files
	Rows       int64
	Bytes      int64    // number of bytes read and hashed; 0 if only names, rows and sizes were compared
	Findings   []string // differences; empty if the lake is equal to the store
}

// Verify compares the lake with the published generation of a store: the live files of every account and table with the
// files in the manifest, by name, number of rows and size. If deep is true, Verify also reads all files and compares
// their SHA-256. If anything differs, it returns [ErrDiffers].
func (l *Lake) Verify(ctx context.Context, dir string, deep bool) (*Verified, error) {
	ctx = l.storage(ctx)
	m, err := manifest.Read(dir)
	if err != nil {
		return nil, err
	}
	v := &Verified{Generation: m.Generation}
	stored, err := l.stored(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, a := range stored {
		if a.Generation != v.Generation {
			v.find("account %s: the lake has generation %d, the store %d: run 'spendsync-lake follow'", a.AccountID,
				a.Generation, v.Generation)
		}
	}
	if len(v.Findings) > 0 { // the generations differ, so comparing their files would prove nothing
		return v, fmt.Errorf("%w: %d accounts are behind", ErrDiffers, len(v.Findings))
	}
	for _, s := range l.dataSpecs() {
		t, err := l.load(ctx, s)
		if err == nil && t == nil {
			v.find("table %s is not there", s.name)
		} else if err == nil {
			err = v.table(ctx, t, m, deep)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(v.Findings) > 0 {
		return v, fmt.Errorf("%w: %d findings", ErrDiffers, len(v.Findings))
	}
	return v, nil
}

func (v *Verified) find(format string, args ...any) {
	v.Findings = append(v.Findings, fmt.Sprintf(format, args...))
}

// table compares the files of one table with the manifest, and adds every difference to v.Findings. It skips files of
// accounts that are not in the store.
func (v *Verified) table(ctx context.Context, t *lakeTable, m *manifest.Manifest, deep bool) error {
	data, deletes, err := t.files()
	if err != nil {
		return err
	}
	for _, d := range deletes {
		v.find("table %s: somebody else has written deletes: %s", t.name, d.FilePath())
	}
	wanted := (&follower{store: m}).wanted(t.tableSpec)
	var read []iceberg.DataFile
	var sums []string // expected SHA-256 of each object
	for _, d := range data {
		w, ok := wanted[keyOf(d.FilePath())]
		switch {
		case m.Accounts[accountOf(d)] == nil: // an account of another store
			continue
		case !ok:
			v.find("table %s: %s is in the lake and not in the store, or twice", t.name, d.FilePath())
			continue
		case d.Count() != w.info.Rows || d.FileSizeBytes() != w.info.Bytes:
			v.find("table %s: %s has %d rows and %d bytes, the store %d and %d", t.name, d.FilePath(), d.Count(),
				d.FileSizeBytes(), w.info.Rows, w.info.Bytes)
		}
		delete(wanted, w.key())
		v.Files, v.Rows = v.Files+1, v.Rows+d.Count()
		read, sums = append(read, d), append(sums, w.info.SHA256)
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		v.find("table %s: %s is in the store and not in the lake", t.name, wanted[key].path)
	}
	if !deep {
		return nil
	}
	return v.hash(ctx, t, read, sums)
}

// hash reads objects, several at a time, and compares their SHA-256.
func (v *Verified) hash(ctx context.Context, t *lakeTable, objects []iceberg.DataFile, sums []string) error {
	actual := make([]string, len(objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, d := range objects {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			actual[i], err = t.hash(d.FilePath())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, d := range objects {
		v.Bytes += d.FileSizeBytes()
		if actual[i] != sums[i] {
			v.find("table %s: %s is not the bytes of the store's file: %s", t.name, d.FilePath(), actual[i])
		}
	}
	return nil
}

// hash returns the SHA-256 of an object in hex. If the object is missing, it returns the text "it is not there"
// instead.
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
