package lake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// kept is the manifest of a generation as the lake keeps it for a restore: a line of JSON that names an object for
// each month, and the text without the months. Generations share the objects of months that are the same, so that
// what is uploaded in an hour does not grow with the history.
type kept struct {
	Months map[int]keptMonth
	rest   []byte
}

// keptMonth is a month's text in the lake.
type keptMonth struct {
	Hash   string // of what the manifest says of it, see [manifest.Group]
	SHA256 string // of the text, by which the object is named
}

// object is where the text of a month lies, below the folder of lake_generation.
func (k keptMonth) object() string { return "/store/months/" + k.SHA256 + ".json.zst" }

// keptObject is where the manifest of a generation lies, below the same folder.
func keptObject(generation int64, run string) string {
	return fmt.Sprintf("/store/manifests/%d-%s.rest.zst", generation, run)
}

// manifestObject is where it lay as one text.
func manifestObject(generation int64, run string) string {
	return fmt.Sprintf("/store/manifests/%d-%s.json.zst", generation, run)
}

// monthsOf are the months of a listing, and that of what is of none.
func monthsOf(l *manifest.Listing) []int {
	all := map[int]bool{noMonth: true}
	for _, a := range l.Accounts {
		for _, g := range a.Groups {
			all[g.Month] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// hashesOf are hashes of what a manifest says of each month: whether it is closed is part of it.
func hashesOf(l *manifest.Listing) map[int]string {
	sums := map[int]*xxhash.Digest{}
	for _, a := range l.Accounts {
		for _, g := range a.Groups {
			if g.Month == noMonth {
				continue
			}
			if sums[g.Month] == nil {
				sums[g.Month] = xxhash.New()
			}
			sums[g.Month].WriteString(a.Name)
			sums[g.Month].Write(binary.LittleEndian.AppendUint64(nil, g.Hash))
		}
	}
	hashes := map[int]string{}
	for month, h := range sums {
		hashes[month] = fmt.Sprintf("%016x", h.Sum64())
		if isClosed(month, l.Manifest) {
			hashes[month] = mergedMark + hashes[month]
		}
	}
	return hashes
}

// keepStore uploads what a restore needs beside the tables: the parts that the generation before
// did not have, and what is new of the manifest. They are there before the commit that says so.
func (f *follower) keepStore(ctx context.Context, m *manifest.Listing, marker *lakeTable, marks *markers) error {
	before, err := marker.keptBefore(marks.newest(m.Names()))
	if err != nil {
		return err
	}
	defer before.close()
	next := &kept{Months: map[int]keptMonth{}}
	w := newWanted(m.Manifest, f.specs, nil)
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for month, hash := range hashesOf(m) {
		if next.Months[month] = before.months[month]; next.Months[month].Hash == hash {
			continue
		}
		had, err := before.parts(marker, f.specs, month)
		if err == nil {
			err = w.eachPart(m, ofMonth(month), false, f.keepNew(groupCtx, g, marker, had))
		}
		if err == nil {
			next.Months[month], err = marker.keepMonth(ctx, m, month, hash)
		}
		if err != nil {
			return errors.Join(err, g.Wait())
		}
	}
	had, err := before.parts(marker, f.specs, noMonth)
	if err == nil {
		err = w.eachPart(m, ofMonth(noMonth), true, f.keepNew(groupCtx, g, marker, had))
	}
	if err = errors.Join(g.Wait(), err); err != nil {
		return err
	}
	return marker.putKept(ctx, m, next)
}

// putKept uploads what names the months, with the rest of the text.
func (t *lakeTable) putKept(ctx context.Context, m *manifest.Listing, k *kept) error {
	head, err := json.Marshal(k)
	if err != nil {
		return err
	}
	rest, err := m.Rest()
	if err != nil {
		return err
	}
	object := t.tbl.Location() + keptObject(m.Manifest.Generation, m.Manifest.RunID)
	return remote("manifest", t.putCompressed(ctx, object, io.MultiReader(bytes.NewReader(append(head, '\n')),
		bytes.NewReader(rest))))
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

// keepNew uploads parts that were not had.
func (f *follower) keepNew(ctx context.Context, g *errgroup.Group, marker *lakeTable,
	had map[string]bool) func(part) error {
	return func(p part) error {
		if !had[p.sha256] {
			had[p.sha256] = true
			g.Go(func() error { return f.keepPart(ctx, marker, p) })
		}
		return nil
	}
}

// keepMonth uploads the text of a month.
func (t *lakeTable) keepMonth(ctx context.Context, m *manifest.Listing, month int, hash string) (keptMonth, error) {
	text, err := m.Month(month)
	if err != nil {
		return keptMonth{}, err
	}
	sum := sha256.Sum256(text)
	k := keptMonth{hash, hex.EncodeToString(sum[:])}
	return k, remote("manifest", t.putCompressed(ctx, t.tbl.Location()+k.object(), bytes.NewReader(text)))
}

// generation is what the lake keeps of the generation before; of none it is empty.
type generation struct {
	*manifest.Listing                   // without its months; of an older lake: with them
	months            map[int]keptMonth // nil: of an older lake
}

func (b *generation) close() {
	if b.Listing != nil {
		b.Close()
	}
}

// keptBefore opens what the lake keeps of a generation.
func (t *lakeTable) keptBefore(row Marker) (*generation, error) {
	if row.Generation == 0 {
		return &generation{}, nil
	}
	k, err := t.readKept(row)
	if err == nil {
		rest, err := manifest.NewRest(k.rest)
		return &generation{rest, k.Months}, err
	} else if !isNotThere(err) {
		return nil, err
	}
	m, err := t.openWhole(row)
	if isNotThere(err) {
		return &generation{}, nil
	}
	return &generation{m, nil}, err
}

// parts are the hashes of the parts of a month that were uploaded with the generation.
func (b *generation) parts(t *lakeTable, specs []*tableSpec, month int) (map[string]bool, error) {
	had := map[string]bool{}
	if b.Listing == nil {
		return had, nil
	}
	w := newWanted(b.Manifest, specs, nil)
	err := w.eachPart(b.Listing, ofMonth(month), month == noMonth, func(p part) error {
		had[p.sha256] = true
		return nil
	})
	if k, ok := b.months[month]; ok && err == nil {
		var text []byte
		if text, err = t.readText(k.object()); err != nil {
			return nil, err
		}
		files, err := manifest.FilesOf(text)
		if err != nil {
			return nil, err
		}
		for _, p := range w.partsOf(files) {
			had[p.sha256] = true
		}
	}
	return had, err
}

// readText reads a part of a kept manifest.
func (t *lakeTable) readText(object string) ([]byte, error) {
	f, err := t.readCompressed(t.tbl.Location() + object)
	if err != nil {
		return nil, remote("manifest", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	return text, nil
}

// readKept reads what the lake keeps of a generation's manifest.
func (t *lakeTable) readKept(row Marker) (*kept, error) {
	text, err := t.readText(keptObject(row.Generation, row.RunID))
	if err != nil {
		return nil, err
	}
	head, rest, _ := bytes.Cut(text, []byte{'\n'})
	k := &kept{rest: rest}
	if err := json.Unmarshal(head, k); err != nil {
		return nil, fmt.Errorf("%w: what is kept of generation %d: %v", ErrForeign, row.Generation, err)
	}
	return k, nil
}

// openManifest opens the manifest of a generation that the lake keeps, put together again. objects are the names
// of what it was put together from.
func (t *lakeTable) openManifest(row Marker) (m *manifest.Listing, objects []string, err error) {
	k, err := t.readKept(row)
	if isNotThere(err) {
		m, err = t.openWhole(row)
		return m, []string{path.Base(manifestObject(row.Generation, row.RunID))}, err
	} else if err != nil {
		return nil, nil, err
	}
	objects = []string{path.Base(keptObject(row.Generation, row.RunID))}
	for _, month := range k.Months {
		objects = append(objects, path.Base(month.object()))
	}
	to, err := tempFile()
	if err != nil {
		return nil, nil, err
	}
	var months []*os.File
	err = manifest.Join(to, k.rest, func(month int) (io.Reader, error) {
		f, err := t.readCompressed(t.tbl.Location() + k.Months[month].object())
		if err != nil {
			return nil, remote("manifest", err)
		}
		months = append(months, f)
		return f, nil
	})
	for _, f := range months {
		f.Close()
	}
	if err != nil {
		to.Close()
		return nil, nil, err
	}
	m, err = openText(to)
	return m, objects, err
}

// openWhole opens a manifest that is kept as one text.
func (t *lakeTable) openWhole(row Marker) (*manifest.Listing, error) {
	text, err := t.readCompressed(t.tbl.Location() + manifestObject(row.Generation, row.RunID))
	if err != nil {
		return nil, remote("manifest", err)
	}
	return openText(text)
}

// openText is the listing of a manifest's text, which is closed with it.
func openText(text *os.File) (*manifest.Listing, error) {
	size, err := text.Seek(0, io.SeekEnd)
	if err != nil {
		text.Close()
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	m, err := manifest.NewListing(text, size)
	if err != nil {
		text.Close()
	}
	return m, err
}

// tempFile is a file without a name.
func tempFile() (*os.File, error) {
	f, err := os.CreateTemp("", "spendsync-lake-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	return f, nil
}
