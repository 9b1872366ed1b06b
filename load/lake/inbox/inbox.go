package inbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"spendsync/load/lake"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Age is the maximum age of a description that a commit accepts. No table names its objects
// until then, and maintenance deletes unnamed objects after a day at the earliest.
const Age = 20 * time.Hour

// Described is the result of [Describe].
type Described struct {
	lake.Followed
	Described bool // a description is in the inbox now
}

// Describe uploads the files of a store's generation that the lake lacks, and leaves a description of the
// wanted files in the inbox. Whether days may go is judged by whoever commits it.
func Describe(ctx context.Context, l *lake.Lake, now time.Time, dir string) (*Described, error) {
	described := false
	done, err := l.Try(ctx, lake.FollowOptions{Dir: dir, AllowShrink: true}, func(t *lake.Try) error {
		m, err := manifest.OpenListing(dir)
		if err != nil {
			return err
		}
		defer m.Close()
		if len(m.Accounts) > 0 {
			described, err = describe(ctx, t, m, now)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Described{*done, described}, nil
}

func describe(ctx context.Context, t *lake.Try, m *manifest.Listing, now time.Time) (bool, error) {
	names := m.Names()
	folder, err := t.Folder(ctx, folderName)
	if err != nil {
		return false, err
	}
	store := names[0]
	notes, err := list(ctx, folder, store) // before the rows: a description folded meanwhile is in one or both
	if err != nil {
		return false, err
	}
	marks, err := t.Read(ctx, names)
	if err != nil {
		return false, err
	}
	want, err := marks.Want(m)
	if err != nil {
		return false, err
	}
	same, err := t.Compare(want)
	if err != nil {
		return false, err
	}
	t.Done.Generation -= t.Done.Behind
	d := &description{WrittenAt: now}
	for _, account := range names {
		d.Knows = append(d.Knows, marks.Row(account).RunID)
	}
	there := false
	for _, n := range notes {
		row := lake.Marker{AccountID: store, Generation: n.generation, RunID: n.run}
		if err := t.Knows(m, row); err != nil {
			return false, err
		}
		d.Knows = append(d.Knows, n.run)
		there = there || n.run == m.Manifest.RunID && now.Sub(n.at) < Age/2
	}
	if same {
		return false, drop(ctx, folder, notes)
	} else if there {
		return false, nil
	}
	staged, err := t.Stage(ctx, want)
	if err != nil {
		return false, err
	}
	t.Done.Removed = 0 // nothing is, until it is folded
	if d.Uploads, err = staged.Uploads(); err != nil {
		return false, err
	}
	if err := t.Step("describe"); err != nil {
		return false, err
	}
	return true, d.put(ctx, folder, store, m)
}

// Folded is the result of a commit of the inbox.
type Folded struct {
	lake.Followed
	Stores  int      // whose descriptions were folded
	Refused []string // descriptions that were not, and why
}

// Commit folds all descriptions of the inbox into one commit for all their accounts: of each store
// its newest. A description that may not be folded is named in Refused and in the error, and
// the others are folded. Running it again does nothing. With allowShrink it takes from the lake what the stores do
// not have.
func Commit(ctx context.Context, l *lake.Lake, now time.Time, allowShrink bool) (*Folded, error) {
	refused := map[string]error{} // by object
	done := &Folded{}
	for {
		var stands map[string]string
		followed, err := l.Try(ctx, lake.FollowOptions{AllowShrink: allowShrink}, func(t *lake.Try) (err error) {
			stands, err = fold(ctx, t, now, done, refused)
			return err
		})
		if r, ok := errors.AsType[*lake.Refusal](err); ok && stands[r.Account] != "" {
			refused[stands[r.Account]] = r.Err
			continue
		} else if err != nil {
			return nil, err
		}
		done.Followed = *followed
		break
	}
	var all []error
	for _, object := range slices.Sorted(maps.Keys(refused)) {
		name := path.Base(path.Dir(object)) + "/" + path.Base(object)
		done.Refused = append(done.Refused, name+": "+refused[object].Error())
		all = append(all, refused[object])
	}
	return done, errors.Join(all...)
}

// fold tries one commit of all descriptions but the refused ones. stands are the descriptions by account.
func fold(ctx context.Context, t *lake.Try, now time.Time, done *Folded,
	refused map[string]error) (stands map[string]string, err error) {
	marks, err := t.Read(ctx, nil)
	if err != nil {
		return nil, err
	}
	folder := marks.Folder(folderName)
	notes, err := list(ctx, folder, "")
	if err != nil {
		return nil, err
	}
	c := &choice{stands: map[string]string{}, folded: map[string]int64{}, refused: refused}
	defer c.close()
	for _, n := range slices.Backward(notes) {
		if err := c.consider(folder, n, marks, now); err != nil {
			return nil, err
		}
	}
	if isLost := len(c.taken) == 0 && t.WasDone(marks); !isLost { // else only the answer to its commit was
		done.Stores, t.Done.Accounts = len(c.taken), len(c.stands)
	}
	if len(c.taken) > 0 {
		if err := commit(ctx, t, marks, c.taken); err != nil {
			return c.stands, err
		}
	}
	return c.stands, drop(ctx, folder, slices.DeleteFunc(notes, func(n note) bool {
		if errors.Is(refused[n.object], lake.ErrDiffers) {
			return false // its store writes another
		}
		upTo, ok := c.folded[n.store]
		return !ok || n.generation > upTo
	}))
}

// choice is of each store the newest description that may be folded.
type choice struct {
	taken   []*description
	stands  map[string]string // by account: the object of its description
	folded  map[string]int64  // by store: the generation up to which its descriptions are no longer needed
	refused map[string]error  // by object
}

func (c *choice) close() {
	for _, d := range c.taken {
		d.close()
	}
}

// consider takes a description, refuses it or leaves it out; newer ones of its store come first.
func (c *choice) consider(folder *lake.Folder, n note, marks *lake.Markers, now time.Time) error {
	if _, ok := c.folded[n.store]; ok || c.refused[n.object] != nil {
		return nil // a newer one of the store is there
	}
	if row := marks.Row(n.store); row.Generation == n.generation && row.RunID == n.run &&
		row.SchemaVersion == schema.Version {
		c.folded[n.store] = n.generation // the lake has it
		return nil
	}
	d, err := read(folder, n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if errors.Is(err, lake.ErrUnreachable) || errors.Is(err, lake.ErrDenied) {
		return err
	} else if err != nil {
		c.refused[n.object] = err
		return nil
	}
	if err := d.check(now, marks); err != nil {
		c.refused[n.object] = err
		d.close()
		return nil
	}
	if slices.ContainsFunc(d.m.Accounts, func(a *manifest.Listed) bool { return c.stands[a.Name] != "" }) {
		d.close() // the store has an account more since, and a newer description
		return nil
	}
	c.folded[n.store] = n.generation
	c.taken = append(c.taken, d)
	for _, a := range d.m.Accounts {
		c.stands[a.Name] = n.object
	}
	return nil
}

// commit commits what descriptions want.
func commit(ctx context.Context, t *lake.Try, marks *lake.Markers, taken []*description) error {
	want, err := marks.Want()
	if err != nil {
		return err
	}
	var uploaded []lake.Uploads
	for _, d := range taken {
		if err := want.Add(d.m); err != nil {
			return &lake.Refusal{Account: d.note.store, Err: err}
		}
		d.Uploads.Store = d.note.store
		uploaded = append(uploaded, d.Uploads)
	}
	staged, err := t.Stage(ctx, want, uploaded...)
	if err != nil {
		return err
	}
	return t.Commit(ctx, staged)
}

// check refuses a description that can't be merged into the current state of the lake.
func (d *description) check(now time.Time, marks *lake.Markers) error {
	m := d.m.Manifest
	for _, account := range d.m.Names() {
		row := marks.Row(account)
		if row.Generation > m.Generation || row.Generation > 0 && row.RunID != m.RunID &&
			!slices.Contains(d.Knows, row.RunID) {
			return fmt.Errorf("account %s: the lake has generation %d of run %s, the description is of generation %d "+
				"and does not know it: %w; run 'spendsync-lake follow' at the store", account, row.Generation,
				row.RunID, m.Generation, lake.ErrAhead)
		}
	}
	if age := now.Sub(d.WrittenAt); age > Age {
		return fmt.Errorf("%w: the description of generation %d is %s old, and what it names may be gone: run "+
			"'spendsync-lake follow' at the store", lake.ErrDiffers, m.Generation, age.Round(time.Minute))
	}
	return nil
}
