package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// keptObject is where the manifest of a generation lies for a restore, below the folder of
// lake_generation. Versions before this one kept it under other names: as one text of an older format,
// or cut by months.
func keptObject(generation int64, run string) string {
	return fmt.Sprintf("/store/manifests/%d-%s.manifest.zst", generation, run)
}

func oldObject(generation int64, run string) string {
	return fmt.Sprintf("/store/manifests/%d-%s.json.zst", generation, run)
}

func cutObject(generation int64, run string) string {
	return fmt.Sprintf("/store/manifests/%d-%s.rest.zst", generation, run)
}

// monthsOf returns the months of a listing, and that of files without a day.
func monthsOf(l *manifest.Listing) ([]int, error) {
	all := map[int]bool{noMonth: true}
	for _, a := range l.Accounts {
		groups, err := a.Groups()
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			all[g.Month] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// keepStore uploads what a restore needs beside the tables: the parts that the generation before
// did not have, and the manifest. They are there before the commit that says so.
func (f *follower) keepStore(ctx context.Context, m *manifest.Listing, marker *lakeTable, marks *markers) error {
	before, _, err := marker.openManifest(marks.newest(m.Names()))
	had := map[string]bool{}
	every := func(*manifest.Group) bool { return true }
	if err == nil {
		defer before.Close()
		err = newWanted(before.Manifest, f.specs, nil).eachPart(before, every, true, func(p part) error {
			had[p.sha256] = true
			return nil
		})
	}
	if err != nil && !isNotThere(err) {
		return err
	}
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	err = newWanted(m.Manifest, f.specs, nil).eachPart(m, every, true, f.keepNew(groupCtx, g, marker, had))
	if err = errors.Join(g.Wait(), err); err != nil {
		return err
	}
	object := marker.tbl.Location() + keptObject(m.Manifest.Generation, m.Manifest.RunID)
	return remote("manifest", marker.putCompressed(ctx, object, m.Text()))
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

// openManifest opens the manifest of a generation that the lake keeps. objects are the names of the
// objects that it was made from.
func (t *lakeTable) openManifest(row Marker) (m *manifest.Listing, objects []string, err error) {
	for _, object := range []string{keptObject(row.Generation, row.RunID), oldObject(row.Generation, row.RunID)} {
		text, err := t.readCompressed(t.tbl.Location() + object)
		if isNotThere(err) {
			continue
		} else if err != nil {
			return nil, nil, remote("manifest", err)
		}
		m, err := openText(text)
		return m, []string{path.Base(object)}, err
	}
	return t.joinManifest(row)
}

// joinManifest puts together the manifest that an older version cut by months: a line of JSON names an
// object for each month, and a line of the text stands for some bytes of one.
func (t *lakeTable) joinManifest(row Marker) (m *manifest.Listing, objects []string, err error) {
	text, err := t.readText(cutObject(row.Generation, row.RunID))
	if err != nil {
		return nil, nil, err
	}
	objects = []string{path.Base(cutObject(row.Generation, row.RunID))}
	head, rest, _ := bytes.Cut(text, []byte{'\n'})
	var kept struct {
		Months map[string]struct{ SHA256 string }
	}
	if err := json.Unmarshal(head, &kept); err != nil {
		return nil, nil, fmt.Errorf("%w: the manifest of generation %d: %v", ErrForeign, row.Generation, err)
	}
	months := map[string][]byte{}
	for name, month := range kept.Months {
		object := "/store/months/" + month.SHA256 + ".json.zst"
		if months[name], err = t.readText(object); err != nil {
			return nil, nil, err
		}
		objects = append(objects, path.Base(object))
	}
	var all []byte
	for line := range bytes.Lines(rest) {
		after, stands := bytes.CutPrefix(line, []byte("    \"#"))
		if !stands {
			all = append(all, line...)
			continue
		}
		name, number, _ := strings.Cut(strings.TrimRight(string(after), ",\n"), `": `)
		n, err := strconv.Atoi(number)
		month := months[name]
		if err != nil || n < 0 || len(month) < n+2 {
			return nil, nil, fmt.Errorf("%w: the manifest of generation %d lacks bytes of month %q", ErrForeign,
				row.Generation, name)
		}
		all = append(all, month[2:n+2]...) // after what separates it from the text before
		all = append(all, line[bytes.LastIndexByte(line, number[len(number)-1])+1:]...)
		months[name] = month[n+2:]
	}
	m, err = manifest.NewListing(bytes.NewReader(all), int64(len(all)))
	return m, objects, err
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
