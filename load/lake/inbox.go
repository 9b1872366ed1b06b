package lake

import (
	"bufio"
	"bytes"
	"cmp"
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
	"time"

	"github.com/apache/iceberg-go"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// InboxAge is the maximum age of a description that a commit accepts. No table names its objects
// until then, and maintenance deletes unnamed objects after a day at the earliest.
const InboxAge = 20 * time.Hour

// description is what a store wants of the lake, as a follower leaves it in the inbox: a line of
// JSON, and the manifest.
type description struct {
	WrittenAt time.Time
	Knows     []string          // runs that the store knows, of those that the lake may have
	UUIDs     map[string]string // of the tables
	Uploaded  map[string][]byte // by table: a manifest of what the lake did not have

	note note
	m    *manifest.Listing // until it is closed
	file *os.File
}

func (d *description) close() { d.file.Close() }

// note is a description in the inbox, parsed from its object name.
type note struct {
	object     string
	store      string // the first account of the store
	generation int64
	run        string
	at         time.Time
}

// refusal names the account that blocks a commit of many stores.
type refusal struct {
	account string
	error
}

func (r *refusal) Unwrap() error { return r.error }

// Folded is the result of a commit of the inbox.
type Folded struct {
	Followed
	Stores  int      // whose descriptions were folded
	Refused []string // descriptions that were not, and why
}

// FoldOptions are the permissions of a commit of the inbox.
type FoldOptions struct {
	AllowShrink bool // take from the lake what the stores do not have
}

// inbox lists the descriptions of a store, or of all, older generations first.
func (t *lakeTable) inbox(ctx context.Context, store string) (all []note, err error) {
	folder := "/inbox/"
	if store != "" {
		folder += store + "/"
	}
	for object, err := range t.list(ctx, folder) {
		if err != nil {
			return nil, err
		}
		name, ours := strings.CutSuffix(path.Base(object.Key), ".json.zst")
		text, run, _ := strings.Cut(name, "-")
		generation, err := strconv.ParseInt(text, 10, 64)
		if err == nil && ours {
			all = append(all, note{object.Key, path.Base(path.Dir(object.Key)), generation, run, object.ModTime})
		}
	}
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Compare(a.generation, b.generation) })
	return all, nil
}

// drop deletes descriptions, the newest of each store last: what an interruption leaves is still in order.
func (t *lakeTable) drop(ctx context.Context, notes []note) error {
	newest := map[string]string{}
	for _, n := range notes {
		newest[n.store] = n.object
	}
	var older, last []string
	for _, n := range notes {
		if newest[n.store] == n.object {
			last = append(last, n.object)
		} else {
			older = append(older, n.object)
		}
	}
	if err := t.remove(ctx, older); err != nil {
		return err
	}
	return t.remove(ctx, last)
}

// describe uploads the files of a generation that the lake lacks, and leaves a description of the
// wanted files in the inbox.
func (f *follower) describe(ctx context.Context, m *manifest.Listing) error {
	names := m.Names()
	marker, err := f.marker(ctx)
	if err != nil {
		return err
	}
	store := names[0]
	notes, err := marker.inbox(ctx, store) // before the rows: a description folded meanwhile is in one or both
	if err != nil {
		return err
	}
	marker, marks, err := f.markers(ctx, names)
	if err != nil {
		return err
	}
	w, err := wantChanged(m, f.specs, marks)
	if err != nil {
		return err
	}
	same, err := f.compare(w, marks)
	if err != nil {
		return err
	}
	f.done.Generation -= f.done.Behind
	d := &description{WrittenAt: f.Lake.opts.Now(), UUIDs: map[string]string{}, Uploaded: map[string][]byte{}}
	for account := range w.accounts {
		d.Knows = append(d.Knows, marks.rows[account].RunID)
	}
	there, known := false, &ledgers{dir: f.opts.Dir}
	for _, n := range notes {
		row := Marker{AccountID: store, Generation: n.generation, RunID: n.run}
		if err := known.checkAhead(w.manifest, row); err != nil {
			return err
		}
		d.Knows = append(d.Knows, n.run)
		there = there || n.run == w.manifest.RunID && d.WrittenAt.Sub(n.at) < InboxAge/2
	}
	if same {
		return marker.drop(ctx, notes)
	} else if there {
		return nil
	}
	tables, err := f.tables(ctx, true)
	if err != nil {
		return err
	}
	changes, err := f.changes(ctx, w, tables, marks, func(keep filter) (*wanted, error) {
		return wantOf(m, f.specs, marks, keep)
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		f.done.Added += len(c.added)
		if err := d.noteUploads(c); err != nil {
			return err
		}
	}
	if err := f.step("describe"); err != nil {
		return err
	}
	f.done.Described = true
	return marker.putDescription(ctx, store, m, d)
}

// noteUploads records the objects uploaded for a table.
func (d *description) noteUploads(c *change) error {
	d.UUIDs[c.t.name] = c.t.uuid().String()
	if len(c.added) == 0 {
		return nil
	}
	b, _, err := c.encodeManifest(entriesFor(c.added, 1), nil, 1)
	d.Uploaded[c.t.name] = b
	return err
}

func (t *lakeTable) putDescription(ctx context.Context, store string, m *manifest.Listing, d *description) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	object := fmt.Sprintf("%s/inbox/%s/%d-%s.json.zst", t.tbl.Location(), store, m.Manifest.Generation,
		m.Manifest.RunID)
	return remote("inbox", t.putCompressed(ctx, object, io.MultiReader(bytes.NewReader(append(line, '\n')), m.Text())))
}

// readDescription opens a description.
func (t *lakeTable) readDescription(n note) (*description, error) {
	file, err := t.readCompressed(n.object)
	if err != nil {
		return nil, remote("inbox", err)
	}
	d := &description{note: n, file: file}
	line, err := bufio.NewReader(file).ReadBytes('\n')
	var size int64
	if err == nil {
		size, err = file.Seek(0, io.SeekEnd)
	}
	if err == nil {
		err = json.Unmarshal(line, d)
	}
	if err == nil {
		d.m, err = manifest.NewListing(io.NewSectionReader(file, int64(len(line)), size), size-int64(len(line)))
	}
	if err == nil && d.m.Manifest.RunID != n.run {
		err = errors.New("it is of run " + d.m.Manifest.RunID)
	}
	if errors.Is(err, ErrNewer) {
		err = fmt.Errorf("inbox: %w", err)
	} else if err != nil {
		err = fmt.Errorf("%w: %s is not a description of run %s: %v", ErrForeign, n.object, n.run, err)
	}
	if err != nil {
		d.close()
	}
	return d, err
}

// Commit folds all descriptions of the inbox into one commit for all their accounts: of each store
// its newest. A description that may not be folded is named in Refused and in the error, and
// the others are folded. Running it again does nothing.
func (l *Lake) Commit(ctx context.Context, o FoldOptions) (*Folded, error) {
	l.requests.Store(0)
	f := &follower{Lake: l, opts: FollowOptions{AllowShrink: o.AllowShrink}, folds: true}
	refused := map[string]error{} // by object
	var done *Folded
	err := f.retry(ctx, func() error {
		for {
			done = &Folded{}
			stands, err := f.merge(ctx, done, refused)
			var r *refusal
			if !errors.As(err, &r) || stands[r.account] == "" {
				return err
			}
			refused[stands[r.account]] = r.error
		}
	})
	if err != nil {
		return nil, err
	}
	done.Followed = *f.done
	done.Requests = l.requests.Load()
	var all []error
	for _, object := range slices.Sorted(maps.Keys(refused)) {
		name := path.Base(path.Dir(object)) + "/" + path.Base(object)
		done.Refused = append(done.Refused, name+": "+refused[object].Error())
		all = append(all, refused[object])
	}
	return done, errors.Join(all...)
}

// merge tries one commit. stands are the descriptions by account.
func (f *follower) merge(ctx context.Context, done *Folded, refused map[string]error) (map[string]string, error) {
	f.done.Tables, f.done.Added, f.done.Removed, f.done.Rows, f.done.Bytes = map[string]int{}, 0, 0, 0, 0
	f.sent = map[string]iceberg.DataFile{}
	marker, marks, err := f.markers(ctx, nil)
	if err != nil {
		return nil, err
	}
	notes, err := marker.inbox(ctx, "")
	if err != nil {
		return nil, err
	}
	stands, folded := map[string]string{}, map[string]int64{}
	var taken []*description
	w := newWanted(&manifest.Manifest{}, f.specs, marks)
	for _, n := range slices.Backward(notes) {
		if _, ok := folded[n.store]; ok || refused[n.object] != nil {
			continue // a newer one of the store is there
		}
		if row := marks.rows[n.store]; row.Generation == n.generation && row.RunID == n.run &&
			row.SchemaVersion == schema.Version {
			folded[n.store] = n.generation // the lake has it
			continue
		}
		d, err := marker.readDescription(n)
		if err == nil {
			defer d.close()
			err = d.check(f.Lake.opts.Now(), marks)
		}
		if isNotThere(err) {
			continue
		} else if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrDenied) {
			return nil, err
		} else if err != nil {
			refused[n.object] = err
			continue
		}
		if slices.ContainsFunc(d.m.Accounts, func(a *manifest.Listed) bool { return stands[a.Name] != "" }) {
			continue // the store has an account more since, and a newer description
		}
		folded[n.store] = n.generation
		taken = append(taken, d)
		for _, a := range d.m.Accounts {
			stands[a.Name] = n.object
		}
		if err := w.merge(d, nil); err != nil {
			return stands, &refusal{n.store, err}
		}
	}
	done.Stores, f.done.Accounts = len(taken), len(stands)
	if len(taken) > 0 {
		if err := f.commitAll(ctx, w, taken, marker, marks); err != nil {
			return stands, err
		}
	}
	return stands, marker.drop(ctx, slices.DeleteFunc(notes, func(n note) bool {
		if errors.Is(refused[n.object], ErrDiffers) {
			return false // its store writes another
		}
		upTo, ok := folded[n.store]
		return !ok || n.generation > upTo
	}))
}

// merge adds the partitions of a description that keep selects; nil: those that differ from the markers.
func (w *wanted) merge(d *description, keep filter) error {
	for _, a := range d.m.Accounts {
		w.of[a.Name] = d.m.Manifest
	}
	if keep == nil {
		return w.readChanged(d.m)
	}
	return w.read(d.m, keep)
}

// check refuses a description that can't be merged into the current state of the lake.
func (d *description) check(now time.Time, marks *markers) error {
	m := d.m.Manifest
	for _, account := range d.m.Names() {
		row, ok := marks.rows[account]
		if ok && (row.Generation > m.Generation || row.RunID != m.RunID && !slices.Contains(d.Knows, row.RunID)) {
			return fmt.Errorf("account %s: the lake has generation %d of run %s, the description is of generation %d "+
				"and does not know it: %w; run 'spendsync-lake follow' at the store", account, row.Generation,
				row.RunID, m.Generation, ErrAhead)
		}
	}
	if age := now.Sub(d.WrittenAt); age > InboxAge {
		return fmt.Errorf("%w: the description of generation %d is %s old, and what it names may be gone: run "+
			"'spendsync-lake follow' at the store", ErrDiffers, m.Generation, age.Round(time.Minute))
	}
	return nil
}

// commitAll commits what descriptions want.
func (f *follower) commitAll(ctx context.Context, w *wanted, taken []*description, marker *lakeTable,
	marks *markers) error {
	tables, err := f.tables(ctx, true)
	if err != nil {
		return err
	}
	tables[MarkerTable] = marker
	for _, d := range taken {
		for name, b := range d.Uploaded {
			t := tables[name]
			if t == nil || d.UUIDs[name] != t.uuid().String() {
				return &refusal{d.note.store, fmt.Errorf("%w: table %s is another one than was described", ErrForeign,
					name)}
			}
			if err := f.takeIn(t, b); err != nil {
				return &refusal{d.note.store, err}
			}
		}
	}
	changes, err := f.changes(ctx, w, tables, marks, func(keep filter) (*wanted, error) {
		more := newWanted(w.manifest, f.specs, marks)
		for _, d := range taken {
			if err := more.merge(d, keep); err != nil {
				return nil, err
			}
		}
		return more, nil
	})
	if err != nil {
		return err
	}
	return f.commit(ctx, w, changes, marker, marks)
}

// takeIn notes the files of a described manifest as uploaded.
func (f *follower) takeIn(t *lakeTable, b []byte) error {
	spec := t.tbl.Spec()
	m := iceberg.NewManifestFile(2, "described", int64(len(b)), int32(spec.ID()), 1).Build()
	entries, err := iceberg.ReadManifest(m, bytes.NewReader(b), true)
	if err != nil {
		return fmt.Errorf("%w: what is described of table %s: %v", ErrForeign, t.name, err)
	}
	for _, e := range entries {
		d := e.DataFile()
		if !strings.HasPrefix(d.FilePath(), t.tbl.Location()+"/data/") {
			return fmt.Errorf("%w: %s does not lie in table %s", ErrForeign, d.FilePath(), t.name)
		}
		f.sent[t.name+"/"+keyOf(d.FilePath())] = d
	}
	return nil
}
