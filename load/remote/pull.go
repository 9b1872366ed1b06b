package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// pullTries is the number of attempts of a pull. A pull starts again if its generation was removed from the bucket
// meanwhile.
const pullTries = 5

// PullOptions select the generation and the files to pull, and the destination.
type PullOptions struct {
	Dir string
	// All means that the folder becomes a complete store. Otherwise it becomes a copy with the DuckDB file, the
	// manifest and the latest ledgers.
	All     bool
	Parquet bool // whether to pull the Parquet files as well
	// Generation selects the generation with this number. If it is 0, At selects the newest generation published by
	// that time. If both are zero, Pull takes the newest generation.
	Generation int64
	At         time.Time
	Store      load.Options
	Log        *slog.Logger
}

// Pulled is the result of a pull.
type Pulled struct {
	Generation  int64          `json:"generation"`
	PublishedAt schema.Instant `json:"published_at"`
	Files       int            `json:"files_fetched"`
	New         bool           `json:"new"` // the folder did not have the generation before
	Traffic
	pointer []byte // text of the pointer from which the generation was chosen
}

// Pull brings a folder to a generation of the bucket. It fetches only files that the folder lacks, and resumes an
// interrupted pull.
func (b *Bucket) Pull(ctx context.Context, o PullOptions) (done *Pulled, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	pointer, err := b.readPointer(ctx)
	if err == nil && pointer == nil {
		err = fmt.Errorf("%s: %w", b.address, ErrNothing)
	}
	if err != nil {
		return nil, err
	}
	c, err := load.OpenCopy(ctx, o.Dir, o.All, o.Store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for range pullTries {
		done, err = b.pull(ctx, o, c, pointer)
		if !errors.Is(err, errNotFound) {
			return done, err
		}
		// Another push may have removed the generation from the bucket while this pull read it.
		now, readErr := b.readPointer(ctx)
		if readErr != nil {
			return nil, readErr
		}
		if now == nil || now.Files == pointer.Files {
			return nil, b.lost(missingName(err))
		}
		pointer = now
	}
	return nil, err
}

func missingName(err error) string {
	if missing, ok := errors.AsType[*Error](err); ok {
		return missing.Object
	}
	return pointerName
}

func (b *Bucket) pull(ctx context.Context, o PullOptions, c *load.Copy, pointer *seen) (*Pulled, error) {
	e, err := b.choose(pointer.Pointer, o)
	if err != nil {
		return nil, err
	}
	if err := mayBecome(c, pointer.Pointer, e, o); err != nil {
		return nil, err
	}
	l, err := b.readList(ctx, e)
	if err != nil {
		return nil, err
	}
	done := &Pulled{Generation: e.Generation, PublishedAt: e.PublishedAt, pointer: pointer.text}
	wanted, missing, err := missingIn(ctx, c, o.wanted(l.Files))
	if err != nil {
		return nil, err
	}
	_, root := c.Generation()
	if len(missing) == 0 && root == e.Manifest {
		done.Traffic = b.Traffic()
		return done, nil
	}
	if err := c.DropStaged(wanted); err != nil {
		return nil, err
	}
	// Fetch the manifest first: only files that it names are written.
	index, rest := split(missing)
	if done.Files, err = b.fetch(ctx, c, index); err != nil {
		return nil, err
	}
	m, err := b.staged(c, e, l)
	if err != nil {
		return nil, err
	}
	n, err := b.fetch(ctx, c, rest)
	if done.Files += n; err != nil {
		return nil, err
	}
	if err := c.Commit(ctx, m, wanted); err != nil {
		return nil, err
	}
	done.New, done.Traffic = true, b.Traffic()
	return done, nil
}

// missingIn converts files to the type that load.Copy needs, and also returns the files that the folder lacks.
func missingIn(ctx context.Context, c *load.Copy, files []File) (wanted []load.SnapshotFile, missing []File,
	err error) {
	for _, f := range files {
		isPresent, err := c.Has(f.snapshot())
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, nil, err
		}
		wanted = append(wanted, f.snapshot())
		// The last of the files is manifest.json. The commit needs it in the staging area. If there is anything to
		// commit, manifest.json is therefore fetched even if the folder has it.
		if !isPresent || f.Path == manifest.FileName && (len(missing) > 0 || c.Changes()) {
			missing = append(missing, f)
		}
	}
	return wanted, missing, nil
}

// split returns two lists: manifest.json with the files below manifest/, and all other files.
func split(files []File) (index, rest []File) {
	for _, f := range files {
		if f.Path == manifest.FileName || strings.HasPrefix(f.Path, "manifest/") {
			index = append(index, f)
		} else {
			rest = append(rest, f)
		}
	}
	return index, rest
}

// staged reads the staged manifest of a generation, and checks that the list of files in the bucket agrees with the
// manifest.
func (b *Bucket) staged(c *load.Copy, e Entry, l *list) (*manifest.Manifest, error) {
	m, named, err := c.StagedManifest()
	if err != nil {
		return nil, err
	}
	if m.Generation != e.Generation {
		return nil, b.damaged(e.Files.Name, "its manifest is of generation %d", m.Generation)
	}
	files := map[string]load.SnapshotFile{}
	for _, f := range named {
		files[f.Path] = f
	}
	for _, f := range l.Files {
		if file, ok := files[f.Path]; !ok || file.Bytes != f.Bytes || file.SHA256 != f.SHA256 {
			return nil, b.damaged(e.Files.Name, "it names %s, and the manifest does not name such a file", f.Path)
		}
		delete(files, f.Path)
	}
	for path := range files {
		return nil, b.damaged(e.Files.Name, "it lacks %s, which the manifest names", path)
	}
	return m, nil
}

// choose returns the generation that the options select.
func (b *Bucket) choose(pointer *Pointer, o PullOptions) (Entry, error) {
	switch {
	case o.Generation != 0:
		for _, e := range pointer.Generations {
			if e.Generation == o.Generation {
				return e, nil
			}
		}
	case !o.At.IsZero():
		for _, e := range pointer.Generations {
			if !e.PublishedAt.Time().After(o.At) {
				return e, nil
			}
		}
	default:
		return pointer.Entry, nil
	}
	var available []string
	for _, e := range pointer.Generations {
		available = append(available, fmt.Sprintf("%d (%s)", e.Generation,
			e.PublishedAt.Time().Format("2006-01-02 15:04Z")))
	}
	selection := fmt.Sprintf("generation %d", o.Generation)
	if o.Generation == 0 {
		selection = "a generation of " + o.At.UTC().Format(time.RFC3339) + " or earlier"
	}
	return Entry{}, fmt.Errorf("%s: %w; it has %s", selection, ErrNoGeneration, strings.Join(available, ", "))
}

// mayBecome returns an error if the folder is a store with a generation that the bucket does not have, because that
// generation would be lost. It also returns an error if a copy for readers would go back to an older generation that
// was not selected.
func mayBecome(c *load.Copy, pointer *Pointer, e Entry, o PullOptions) error {
	number, root := c.Generation()
	if !c.IsStore() {
		if number > e.Generation && o.Generation == 0 && o.At.IsZero() {
			return fmt.Errorf("%s has generation %d, and the newest one of the bucket is %d; choose it with "+
				"--generation %d, or remove the folder: %w", o.Dir, number, e.Generation, e.Generation, ErrOlder)
		}
		return nil
	}
	for _, entry := range pointer.Generations {
		if entry.Manifest == root {
			return nil
		}
	}
	if number > e.Generation {
		return fmt.Errorf("the folder holds generation %d of a store, and the bucket's is %d; choose an empty folder: "+
			"%w", number, e.Generation, ErrOlder)
	}
	return fmt.Errorf("the folder holds generation %d of a store, which the bucket does not have; choose an empty "+
		"folder: %w", number, ErrOtherHistory)
}

// wanted selects those files of a generation that the options All and Parquet ask for.
func (o PullOptions) wanted(all []File) (files []File) {
	last := map[string]string{} // the newest ledger of each account, by folder
	for _, f := range all {
		if strings.HasPrefix(f.Path, "ledger/") {
			last[path.Dir(f.Path)] = max(last[path.Dir(f.Path)], f.Path)
		}
	}
	for _, f := range all {
		switch {
		case o.All, !strings.Contains(f.Path, "/"):
		case isParquet(f.Path) && o.Parquet:
		case last[path.Dir(f.Path)] == f.Path: // 'spendsync status' reads the last run in this ledger
		case isReply(f.Path), isParquet(f.Path), strings.HasPrefix(f.Path, "ledger/"):
			continue
		}
		files = append(files, f)
	}
	return files
}

// fetch stages the files that are not staged yet, several at a time. It begins with the largest files, which take
// longest.
func (b *Bucket) fetch(ctx context.Context, c *load.Copy, files []File) (fetched int, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	slices.SortStableFunc(files, func(x, y File) int { return int(min(1, max(-1, y.Bytes-x.Bytes))) })
	for _, f := range files {
		staged, err := c.IsStaged(f.snapshot())
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fetched, errors.Join(err, g.Wait())
		}
		if staged {
			continue
		}
		fetched++
		g.Go(func() error {
			err := b.get(ctx, f.Object, func(_ object, r io.Reader) error { return c.Put(f.snapshot(), r) })
			var damage *durable.Damage
			if errors.As(err, &damage) {
				return b.damaged(f.Object, "it is %s of the store, and its bytes are not those that were pushed: %s",
					damage.Path, damage.What)
			}
			return err
		})
	}
	return fetched, g.Wait()
}

// Watch reads the pointer repeatedly, until the context ends or wait() returns an error. It pulls if the pointer
// differs from the one of the last complete pull. After every read it calls the last argument with the result of the
// pull. If it did not pull, it passes nil and nil. Watch continues after errors.
func (b *Bucket) Watch(ctx context.Context, o PullOptions, wait func(context.Context) error,
	each func(*Pulled, error)) error {
	var followed []byte
	for {
		pointer, err := b.readPointer(ctx)
		var done *Pulled
		if err != nil || pointer == nil || !bytes.Equal(pointer.text, followed) {
			if done, err = b.Pull(ctx, o); err == nil {
				followed = done.pointer
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		each(done, err)
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

// Location returns the folder for a copy of this bucket, below a cache folder. Its name is a hash of the bucket's
// address.
func (b *Bucket) Location(cache string) string {
	return filepath.Join(cache, "spendsync", durable.HashBytes([]byte(b.address))[:16])
}
