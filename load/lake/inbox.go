package lake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"

	"spendsync/load/catalog"
	"spendsync/schema"
)

// InboxAge is how old a description may be that is folded. What it names is nobody's until then,
// and maintenance deletes such objects after a day at the earliest.
const InboxAge = 20 * time.Hour

// description is what a store wants of the lake, as a follower leaves it in the inbox.
type description struct {
	Manifest  *catalog.Manifest // of the Parquet files
	WrittenAt time.Time
	Knows     []string          // runs that the store knows, of those that the lake may have
	UUIDs     map[string]string // of the tables
	Uploaded  map[string][]byte // by table: a manifest of what the lake did not have
}

// note is a description in the inbox, as its name says.
type note struct {
	object     string
	store      string // the first account of the store
	generation int64
	run        string
	at         time.Time
}

// refusal says which account stands against a commit of many stores.
type refusal struct {
	account string
	error
}

func (r *refusal) Unwrap() error { return r.error }

// Folded says what a commit of the inbox did.
type Folded struct {
	Followed
	Stores  int      // whose descriptions were folded
	Refused []string // descriptions that were not, and why
}

// FoldOptions say what a commit of the inbox may do.
type FoldOptions struct {
	AllowShrink bool // take from the lake what the stores do not have
}

// inbox lists the descriptions of a store, or of all, older generations first.
func (t *lakeTable) inbox(store string) ([]note, error) {
	list, ok := t.fs.(iceio.ListableIO)
	if !ok {
		return nil, fmt.Errorf("%w: %T can't be listed", ErrForeign, t.fs)
	}
	var all []note
	root := strings.TrimSuffix(t.tbl.Location()+"/inbox/"+store, "/")
	err := list.WalkDir(root, func(object string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, ours := strings.CutSuffix(path.Base(object), ".json.zst")
		generation, run, _ := strings.Cut(name, "-")
		n := note{object: object, store: path.Base(path.Dir(object)), run: run}
		if n.generation, err = strconv.ParseInt(generation, 10, 64); err != nil || !ours {
			return nil // none of ours
		}
		info, err := d.Info()
		if err == nil {
			n.at = info.ModTime()
			all = append(all, n)
		}
		return err
	})
	if err != nil && !isNotThere(err) {
		return nil, remote("inbox", err)
	}
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Compare(a.generation, b.generation) })
	return all, nil
}

// remove deletes descriptions, the newest last: what an interruption leaves is still in order.
func (t *lakeTable) remove(ctx context.Context, notes []note) error {
	for _, n := range notes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.fs.Remove(n.object); err != nil && !isNotThere(err) {
			return remote("inbox", err)
		}
	}
	return nil
}

// describe uploads what the lake lacks of a generation, and leaves in the inbox what is wanted.
func (f *follower) describe(ctx context.Context, w *wanted) error {
	marker, _, err := f.marks(ctx, w.accounts())
	if err != nil {
		return err
	}
	store := w.manifest.AccountNames()[0]
	notes, err := marker.inbox(store) // before the rows: what is folded meanwhile is in one of both
	if err != nil {
		return err
	}
	marker, marks, err := f.marks(ctx, w.accounts())
	if err != nil {
		return err
	}
	same, err := f.standing(w, marks)
	if err != nil {
		return err
	}
	f.done.Generation -= f.done.Behind
	d := &description{WrittenAt: f.Lake.opts.Now(), UUIDs: map[string]string{}, Uploaded: map[string][]byte{}}
	for account := range w.manifest.Accounts {
		d.Knows = append(d.Knows, marks.rows[account].RunID)
	}
	there := false
	for _, n := range notes {
		row := Marker{AccountID: store, Generation: n.generation, RunID: n.run}
		if err := checkAhead(f.opts.Dir, w.manifest, row); err != nil {
			return err
		}
		d.Knows = append(d.Knows, n.run)
		there = there || n.run == w.manifest.RunID && d.WrittenAt.Sub(n.at) < InboxAge/2
	}
	if same {
		return marker.remove(ctx, notes)
	} else if there {
		return nil
	}
	tables, err := f.tables(ctx, true)
	if err != nil {
		return err
	}
	changes, err := f.changes(ctx, w, tables, marks)
	if err != nil {
		return err
	}
	for _, c := range changes {
		d.UUIDs[c.t.name] = c.t.uuid().String()
		f.done.Added += len(c.added)
		if len(c.added) > 0 {
			b, _, err := c.encodeManifest(entriesFor(c.added, 1), nil, 1)
			if err != nil {
				return err
			}
			d.Uploaded[c.t.name] = b
		}
	}
	if f.opts.KeepStore {
		if err := f.keepStore(ctx, w, marker, marks); err != nil {
			return err
		}
	}
	if err := f.step("describe"); err != nil {
		return err
	}
	d.Manifest = slice(w.manifest)
	f.done.Described = true
	return marker.putDescription(ctx, store, d)
}

// slice is what a description needs of a manifest.
func slice(m *catalog.Manifest) *catalog.Manifest {
	s := &catalog.Manifest{Format: m.Format, SchemaVersion: m.SchemaVersion, Generation: m.Generation,
		PublishedAt: m.PublishedAt, RunID: m.RunID, Version: m.Version, Accounts: map[string]*catalog.Account{}}
	for account, a := range m.Accounts {
		to := catalog.NewAccount(a.Since)
		for day := range a.Days {
			to.Days[day] = &catalog.Day{}
		}
		for path, info := range a.Files {
			if info.Kind == catalog.KindParquet {
				to.Files[path] = info
			}
		}
		s.Accounts[account] = to
	}
	return s
}

func (t *lakeTable) putDescription(ctx context.Context, store string, d *description) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	object := fmt.Sprintf("%s/inbox/%s/%d-%s.json.zst", t.tbl.Location(), store, d.Manifest.Generation,
		d.Manifest.RunID)
	return remote("inbox", t.putCompressed(ctx, object, text))
}

func (t *lakeTable) readDescription(n note) (*description, error) {
	b, err := t.readCompressed(n.object)
	if err != nil {
		return nil, remote("inbox", err)
	}
	d := &description{}
	if err := json.Unmarshal(b, d); err != nil || d.Manifest == nil || d.Manifest.RunID != n.run {
		return nil, fmt.Errorf("%w: %s is not a description of run %s: %v", ErrForeign, n.object, n.run, err)
	}
	return d, nil
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
			stands, err := f.fold(ctx, done, refused)
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

// fold tries one commit. stands are the descriptions by account.
func (f *follower) fold(ctx context.Context, done *Folded, refused map[string]error) (map[string]string, error) {
	f.done.Tables, f.done.Added, f.done.Removed, f.done.Rows, f.done.Bytes = map[string]int{}, 0, 0, 0, 0
	f.sent = map[string]iceberg.DataFile{}
	marker, marks, err := f.marks(ctx, nil)
	if err != nil {
		return nil, err
	}
	notes, err := marker.inbox("")
	if err != nil {
		return nil, err
	}
	stands, folded, taken := map[string]string{}, map[string]int64{}, map[string]*description{}
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
		if d.overlaps(taken) {
			continue // the store has an account more since, and a newer description
		}
		folded[n.store] = n.generation
		done.Stores++
		for account := range d.Manifest.Accounts {
			taken[account], stands[account] = d, n.object
		}
	}
	f.done.Accounts = len(taken)
	if len(taken) > 0 {
		if err := f.commitAll(ctx, taken, marker, marks); err != nil {
			return stands, err
		}
	}
	return stands, marker.remove(ctx, slices.DeleteFunc(notes, func(n note) bool {
		if errors.Is(refused[n.object], ErrDiffers) {
			return false // its store writes another
		}
		upTo, ok := folded[n.store]
		return !ok || n.generation > upTo
	}))
}

// check refuses a description that may not be folded onto what the lake has.
func (d *description) check(now time.Time, marks *markers) error {
	m := d.Manifest
	if m.SchemaVersion > schema.Version {
		return fmt.Errorf("a description is of version %d of the tables, this binary knows %d: %w", m.SchemaVersion,
			schema.Version, ErrNewer)
	}
	for account := range m.Accounts {
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

func (d *description) overlaps(taken map[string]*description) bool {
	for account := range d.Manifest.Accounts {
		if taken[account] != nil {
			return true
		}
	}
	return false
}

// commitAll commits what descriptions want, by account.
func (f *follower) commitAll(ctx context.Context, taken map[string]*description, marker *lakeTable,
	marks *markers) error {
	all := &catalog.Manifest{Accounts: map[string]*catalog.Account{}}
	of := map[string]*catalog.Manifest{}
	for account, d := range taken {
		all.Accounts[account], of[account] = d.Manifest.Accounts[account], d.Manifest
	}
	w := want(all, f.specs)
	w.of = of
	tables, err := f.tables(ctx, true)
	if err != nil {
		return err
	}
	tables[MarkerTable] = marker
	for account, d := range taken {
		for name, b := range d.Uploaded {
			t := tables[name]
			if t == nil || d.UUIDs[name] != t.uuid().String() {
				return &refusal{account, fmt.Errorf("%w: table %s is another one than was described", ErrForeign, name)}
			}
			if err := f.takeIn(t, b); err != nil {
				return &refusal{account, err}
			}
		}
	}
	changes, err := f.changes(ctx, w, tables, marks)
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
