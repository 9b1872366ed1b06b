package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// transfers is the number of concurrent transfers.
const transfers = 8

// pushTries is the number of attempts of a push. A push starts again if another push has changed the bucket, or if the
// store has published a new generation meanwhile.
const pushTries = 8

// PushOptions select the store to push.
type PushOptions struct {
	Dir        string // data directory of the store, which is only read
	AcceptLoss bool   // whether a newer generation or another history may be replaced
	Full       bool   // whether to upload all files, even those that the bucket should have
	// Begun means that an earlier push to this bucket has succeeded. An empty bucket is then an [ErrVanished].
	Begun bool
	// Page returns the report page of the store's generation. If it is nil, no page is pushed.
	Page     func(ctx context.Context) (page []byte, err error)
	LockWait time.Duration // limit for waiting on another push to a folder
	Log      *slog.Logger
	// If the store publishes a generation during a push, Pause is called and the push starts again. If Pause is nil,
	// the push waits 200 ms.
	Pause func(context.Context) error
}

// Pushed is what [Bucket.Push] returns: the generation that the bucket now has, and what the push has changed.
type Pushed struct {
	Generation  int64          `json:"generation"`
	PublishedAt schema.Instant `json:"published_at"`
	Uploaded    int            `json:"objects_uploaded"`
	Removed     int            `json:"objects_removed"`
	Readable    int            `json:"generations_readable"`
	New         bool           `json:"new"` // the bucket did not have the generation before
	Traffic
	// PageErr is the reason why the report page is missing.
	PageErr error `json:"-"`
}

// Push uploads the published generation of a store, and makes it the bucket's newest generation.
func (b *Bucket) Push(ctx context.Context, o PushOptions) (done *Pushed, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	if o.Begun { // check first, because locking creates the folder
		if pointer, err := b.readPointer(ctx); err == nil && pointer == nil {
			return nil, fmt.Errorf("%s: %w", b.address, ErrVanished)
		}
	}
	unlock, err := b.lock(ctx, o.LockWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	lists := map[Object]*list{}
	for range pushTries {
		var snap *load.Snapshot
		if snap, err = load.ReadSnapshot(o.Dir); err != nil {
			return nil, err
		}
		done, err = (&push{Bucket: b, PushOptions: o, snap: snap, lists: lists}).run(ctx)
		switch {
		case errors.Is(err, load.ErrMoved):
			if damage := snap.Moved(err); damage != nil {
				return nil, damage
			}
			o.Log.Info("the store has published while it was pushed; pushing its newest generation")
			if err := o.Pause(ctx); err != nil {
				return nil, err
			}
		case errors.Is(err, errChanged):
			o.Log.Info("another push has changed the bucket; beginning again", "reason", err)
		case errors.Is(err, errNotFound):
			return nil, b.lost(missingName(err))
		default:
			return done, err
		}
	}
	return nil, fmt.Errorf("%w; after %d tries: %w", err, pushTries, durable.ErrLocked)
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

// push is one attempt of a push, based on one pointer and one generation of the store.
type push struct {
	*Bucket
	PushOptions
	snap  *load.Snapshot
	lists map[Object]*list // cache of the lists that were read or written
	done  Pushed

	mu      sync.Mutex
	base    []byte   // text of the pointer that this push replaces
	written []string // objects to sync before the pointer is written
}

// readListOnce is [Bucket.readList] with the cache p.lists.
func (p *push) readListOnce(ctx context.Context, e Entry) (*list, error) {
	if l := p.lists[e.Files]; l != nil {
		return l, nil
	}
	l, err := p.readList(ctx, e)
	if err == nil {
		p.lists[e.Files] = l
	}
	return l, err
}

func (p *push) run(ctx context.Context) (*Pushed, error) {
	former, err := p.before(ctx)
	if err != nil {
		return nil, err
	}
	m := p.snap.Manifest
	p.done.Generation, p.done.PublishedAt = m.Generation, m.PublishedAt
	isCurrent := former != nil && former.Manifest == p.snap.Root().SHA256
	if err := p.mayReplace(former); err != nil {
		return nil, err
	}
	state, err := p.readPushed(ctx)
	if err != nil {
		return nil, err
	}
	ended := isCurrent && !p.Full && state.Pointer != nil && state.Pointer.Files == former.Files
	if !isCurrent || p.Full {
		if former, err = p.publish(ctx, former); err != nil {
			return nil, err
		}
	} else if !ended {
		p.Log.Info("ending what an interrupted push has begun")
	}
	if !ended {
		if err := p.finish(ctx, former, state); err != nil {
			return nil, err
		}
	}
	p.done.Readable, p.done.Traffic = len(former.Generations), p.Traffic()
	return &p.done, nil
}

// before returns the pointer that this push replaces, or nil if there is none. If AcceptLoss is set, it removes a
// damaged pointer and returns nil.
func (p *push) before(ctx context.Context) (*seen, error) {
	pointer, err := p.readPointer(ctx)
	if p.AcceptLoss && errors.Is(err, durable.ErrDamaged) {
		// A damaged pointer does not show which generations it names. The loss of all of them is accepted, so remove
		// the pointer, as if nothing had been pushed.
		return nil, p.remove(ctx, []string{pointerName})
	}
	return pointer, err
}

// mayReplace returns an error if the push would replace a newer generation or another history.
func (p *push) mayReplace(former *seen) error {
	m := p.snap.Manifest
	if former == nil || former.Manifest == p.snap.Root().SHA256 || p.AcceptLoss {
		return nil
	}
	pointer := former.Pointer
	if m.Generation < pointer.Generation {
		return fmt.Errorf("the bucket has generation %d of %s, and this store %d of %s: %w", pointer.Generation,
			pointer.PublishedAt, m.Generation, m.PublishedAt, ErrOlder)
	}
	return continues(p.Dir, m, pointer)
}

// publish uploads the files that the bucket lacks, and writes the pointer.
func (p *push) publish(ctx context.Context, former *seen) (*seen, error) {
	files, err := p.upload(ctx, former)
	if err != nil {
		return nil, err
	}
	m := p.snap.Manifest
	l := &list{pointerFormat, m.Generation, files}
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	e := Entry{Generation: m.Generation, PublishedAt: m.PublishedAt, Manifest: p.snap.Root().SHA256}
	hash := durable.HashBytes(text)
	e.Files = Object{fmt.Sprintf("%s%d-%.12s.json", generationFolder, m.Generation, hash), int64(len(text)), hash}
	for _, f := range files {
		if f.Path == manifest.WarehouseName {
			e.Warehouse = Object{f.Object, f.Bytes, f.SHA256}
		}
	}
	if err := p.putNew(ctx, e.Files.Name, textOf("application/json", text)); err != nil {
		return nil, err
	}
	p.lists[e.Files] = l
	if err := p.putPage(ctx, &e); err != nil {
		return nil, err
	}
	next := &Pointer{Format: pointerFormat, SchemaVersion: m.SchemaVersion, Entry: e, RunID: m.RunID,
		Version: m.Version, Generations: []Entry{e}}
	tag := ""
	if former != nil {
		for _, old := range former.Generations {
			if old.Manifest != e.Manifest { // with the option Full, the former pointer may already have this generation
				next.Generations = append(next.Generations, old)
			}
		}
		next.Generations = retain(next.Generations)
		tag, p.base = former.tag, former.text
	}
	if text, err = json.MarshalIndent(next, "", " "); err != nil {
		return nil, err
	}
	if err := p.sync(p.written); err != nil {
		return nil, err
	}
	if err := p.replacePointer(ctx, tag, text); err != nil {
		return p.afterRefusal(ctx, text, err)
	}
	p.done.New = true
	return &seen{Pointer: next, text: text}, p.sync([]string{pointerName})
}

// replacePointer writes the pointer if the present pointer has the given tag. If the storage does not support
// conditions, it reads and compares the present pointer right before writing.
func (p *push) replacePointer(ctx context.Context, tag string, text []byte) error {
	c := textOf("application/json", text)
	err := p.replace(ctx, pointerName, tag, c)
	if errors.Is(err, errUnguarded) {
		p.Log.Warn("the storage knows no conditional writes: that no other push runs is taken for granted")
		var now *seen
		if now, err = p.readPointer(ctx); err != nil {
			return err
		}
		if now == nil && p.base != nil || now != nil && !bytes.Equal(now.text, p.base) {
			return errChanged
		}
		err = p.write(ctx, pointerName, c)
	}
	if err == nil {
		p.traffic.sent.Add(c.bytes)
	}
	return err
}

// afterRefusal checks whether a pointer was written although the storage refused it. If the reply to the first attempt
// was lost, the second attempt finds the pointer that the first attempt has written, and is refused.
func (p *push) afterRefusal(ctx context.Context, text []byte, err error) (*seen, error) {
	if !errors.Is(err, errChanged) && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	present, readErr := p.readPointer(ctx)
	if readErr == nil && present != nil && bytes.Equal(present.text, text) {
		p.done.New = true
		return present, nil
	}
	return nil, err
}

// upload uploads the files that the bucket lacks, and returns all files with their objects. The bucket already has the
// objects that the pointer's list names. It may also have objects from an interrupted push that started at the same
// pointer.
func (p *push) upload(ctx context.Context, former *seen) ([]File, error) {
	base, objects := "first", map[string]string{}
	if former != nil {
		base = former.base()
		if !p.Full {
			l, err := p.readListOnce(ctx, former.Entry)
			if err != nil {
				return nil, err
			}
			for _, f := range l.Files {
				objects[path.Dir(path.Dir(f.Object))+f.SHA256] = f.Object
			}
		}
	}
	leftSizes := map[string]int64{} // sizes of objects that an interrupted push may have left
	if !p.Full {
		for _, folder := range []string{objectFolder + base + "/", restoreFolder + base + "/", warehouseFolder,
			generationFolder, reportFolder} {
			for object, err := range p.list(ctx, folder) {
				if err != nil {
					return nil, err
				}
				leftSizes[object.name] = object.bytes
			}
		}
	}
	return p.putFiles(ctx, base, objects, leftSizes)
}

// putFiles uploads files for [push.upload]. The first map has the names of the objects in the pointer's list, by folder
// and hash. The second map has the sizes of objects that an interrupted push may have left, by name.
func (p *push) putFiles(ctx context.Context, base string, objects map[string]string, leftSizes map[string]int64) (
	[]File, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	files := make([]File, 0, len(p.snap.Files))
	for _, f := range p.snap.Files {
		folder := objectFolder
		switch {
		case f.Path == manifest.WarehouseName:
			folder = warehouseFolder
		case isReply(f.Path):
			folder = restoreFolder
		}
		key := strings.TrimSuffix(folder, "/") + f.SHA256
		object, isKnown := objects[key]
		switch {
		case isKnown:
		case folder == warehouseFolder:
			object = fmt.Sprintf("%s%d-%.12s.duckdb", folder, p.snap.Manifest.Generation, f.SHA256)
		default:
			object = folder + base + "/" + f.SHA256
		}
		objects[key] = object // another file may have the same content
		files = append(files, File{f.Path, object, f.Bytes, f.SHA256})
		size, isThere := leftSizes[object]
		switch {
		case isKnown:
		case isThere && size == f.Bytes:
			p.toSync(object) // the interrupted push may have died before it synced the object
		default:
			g.Go(func() error {
				return p.putNew(ctx, object, content{f.Bytes, f.SHA256, "application/octet-stream",
					func() (io.ReadCloser, error) { return p.snap.Open(f) }})
			})
		}
	}
	return files, g.Wait()
}

// putNew writes an object, and counts it as uploaded.
func (p *push) putNew(ctx context.Context, name string, c content) error {
	err := p.put(ctx, name, c)
	if err == nil {
		p.toSync(name)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.done.Uploaded++
	}
	return err
}

// toSync records an object to be synced before the pointer is written.
func (p *push) toSync(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = append(p.written, name)
}

// putPage uploads the report page. If the page cannot be made, the store is pushed without it.
func (p *push) putPage(ctx context.Context, e *Entry) error {
	if p.Page == nil {
		return nil
	}
	page, pageErr := p.Page(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The page shows the store's newest generation, which must still be the snapshot's generation.
	now, err := load.ReadSnapshot(p.Dir)
	switch {
	case err != nil:
		return err
	case now.Root().SHA256 != p.snap.Root().SHA256:
		return load.ErrMoved
	case pageErr != nil:
		p.done.PageErr = pageErr
		return nil
	}
	e.Report = &Object{fmt.Sprintf("%s%d.html", reportFolder, e.Generation), int64(len(page)), durable.HashBytes(page)}
	return p.putNew(ctx, e.Report.Name, textOf(pageType, page))
}

const pageType = "text/html; charset=utf-8"
