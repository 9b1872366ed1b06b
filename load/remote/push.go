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

// transfers is how many objects are on their way at a time.
const transfers = 8

// pushTries is how often a push restarts, because another push or a new generation of the store came in between.
const pushTries = 8

// PushOptions select the files to push.
type PushOptions struct {
	Dir        string // of the store; it is only read
	AcceptLoss bool   // replace a newer generation or another history
	Full       bool   // upload every file, also those that the bucket should have
	Begun      bool   // a push of this store to this bucket has ended before: an empty one is [ErrVanished]
	// Page returns the report page of the store's generation. nil: no page is pushed.
	Page     func(ctx context.Context) (page []byte, err error)
	LockWait time.Duration // how long to wait for another push to a folder
	Log      *slog.Logger
	// Pause waits before the store is read again while it publishes; nil: a fifth of a second.
	Pause func(context.Context) error
}

// Pushed is what a push has done.
type Pushed struct {
	Generation  int64          `json:"generation"`
	PublishedAt schema.Instant `json:"published_at"`
	Uploaded    int            `json:"objects_uploaded"`
	Removed     int            `json:"objects_removed"`
	Readable    int            `json:"generations_readable"`
	New         bool           `json:"new"` // the bucket did not have the generation
	Traffic
	// PageErr is the reason for a missing report page.
	PageErr error `json:"-"`
}

// Push brings the bucket to the generation that a store has published.
func (b *Bucket) Push(ctx context.Context, o PushOptions) (done *Pushed, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	if o.Begun { // before the lock, which makes the folder
		if is, err := b.readPointer(ctx); err == nil && is == nil {
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

// push is one attempt, from one pointer and one generation of the store.
type push struct {
	*Bucket
	PushOptions
	snap  *load.Snapshot
	lists map[Object]*list // that an attempt has read or written
	done  Pushed

	mu      sync.Mutex
	base    []byte   // the pointer that this push replaces
	written []string // objects that must be durable before the pointer
}

// readListOnce returns the list of a generation's files. One that this push has read or written is not read again.
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
	was, err := p.before(ctx)
	if err != nil {
		return nil, err
	}
	m := p.snap.Manifest
	p.done.Generation, p.done.PublishedAt = m.Generation, m.PublishedAt
	same := was != nil && was.Manifest == p.snap.Root().SHA256
	if err := p.mayReplace(was); err != nil {
		return nil, err
	}
	state, err := p.readPushed(ctx)
	if err != nil {
		return nil, err
	}
	ended := same && !p.Full && state.Pointer != nil && state.Pointer.Files == was.Files
	if !same || p.Full {
		if was, err = p.publish(ctx, was); err != nil {
			return nil, err
		}
	} else if !ended {
		p.Log.Info("ending what an interrupted push has begun")
	}
	if !ended {
		if err := p.finish(ctx, was, state); err != nil {
			return nil, err
		}
	}
	p.done.Readable, p.done.Traffic = len(was.Generations), p.Traffic()
	return &p.done, nil
}

// before reads the pointer that this push replaces; nil: there is none, or its loss is accepted.
func (p *push) before(ctx context.Context) (*seen, error) {
	was, err := p.readPointer(ctx)
	if p.AcceptLoss && errors.Is(err, durable.ErrDamaged) {
		// The generations that it named cannot be told from what interrupted pushes have left.
		return nil, p.remove(ctx, []string{pointerName})
	}
	return was, err
}

// mayReplace refuses to replace a newer generation, or another history.
func (p *push) mayReplace(is *seen) error {
	m := p.snap.Manifest
	if is == nil || is.Manifest == p.snap.Root().SHA256 || p.AcceptLoss {
		return nil
	}
	was := is.Pointer
	if m.Generation < was.Generation {
		return fmt.Errorf("the bucket has generation %d of %s, and this store %d of %s: %w", was.Generation,
			was.PublishedAt, m.Generation, m.PublishedAt, ErrOlder)
	}
	return continues(p.Dir, m, was)
}

// publish uploads what the bucket lacks, and writes the pointer.
func (p *push) publish(ctx context.Context, was *seen) (*seen, error) {
	files, err := p.upload(ctx, was)
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
	e.Files = Object{fmt.Sprintf("%s%d-%.12s.json", generationFolder, m.Generation, hashOf(text)), int64(len(text)),
		hashOf(text)}
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
	if was != nil {
		for _, old := range was.Generations {
			if old.Manifest != e.Manifest { // or this push has written the same generation again
				next.Generations = append(next.Generations, old)
			}
		}
		next.Generations = retain(next.Generations)
		tag, p.base = was.tag, was.text
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

// replacePointer writes the pointer in place of the one with a tag. Where the storage cannot compare, the push does,
// right before it writes.
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

// afterRefusal finds out whether a pointer that was refused is there all the same: the reply to an
// attempt may have been lost, and the next attempt then met the pointer that it had written.
func (p *push) afterRefusal(ctx context.Context, text []byte, err error) (*seen, error) {
	if !errors.Is(err, errChanged) && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	is, readErr := p.readPointer(ctx)
	if readErr == nil && is != nil && bytes.Equal(is.text, text) {
		p.done.New = true
		return is, nil
	}
	return nil, err
}

// upload uploads the files that the bucket lacks. What the pointer's list names is there. What an
// interrupted push from the same pointer has uploaded is there, too: its folder is called by that.
func (p *push) upload(ctx context.Context, was *seen) ([]File, error) {
	base, have := "first", map[string]string{}
	if was != nil {
		base = was.base()
		if !p.Full {
			l, err := p.readListOnce(ctx, was.Entry)
			if err != nil {
				return nil, err
			}
			for _, f := range l.Files {
				have[path.Dir(path.Dir(f.Object))+f.SHA256] = f.Object
			}
		}
	}
	there := map[string]int64{} // with its bytes; also what belongs to single generations
	if !p.Full {
		for _, folder := range []string{objectFolder + base + "/", restoreFolder + base + "/", warehouseFolder,
			generationFolder, reportFolder} {
			for object, err := range p.list(ctx, folder) {
				if err != nil {
					return nil, err
				}
				there[object.name] = object.bytes
			}
		}
	}
	return p.putFiles(ctx, base, have, there)
}

// putFiles uploads the files that the bucket lacks. have are objects of files that it has, by their folder and hash,
// and there those that a push from the same pointer may have left.
func (p *push) putFiles(ctx context.Context, base string, have map[string]string, there map[string]int64) ([]File,
	error) {
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
		object, isKnown := have[key]
		switch {
		case isKnown:
		case folder == warehouseFolder:
			object = fmt.Sprintf("%s%d-%.12s.duckdb", folder, p.snap.Manifest.Generation, f.SHA256)
		default:
			object = folder + base + "/" + f.SHA256
		}
		have[key] = object // another file may have the same bytes
		files = append(files, File{f.Path, object, f.Bytes, f.SHA256})
		size, isThere := there[object]
		switch {
		case isKnown:
		case isThere && size == f.Bytes:
			p.toSync(object) // the push that wrote it died before it did
		default:
			g.Go(func() error {
				return p.putNew(ctx, object, content{f.Bytes, f.SHA256, "application/octet-stream",
					func() (io.ReadCloser, error) { return p.snap.Open(f) }})
			})
		}
	}
	return files, g.Wait()
}

// putNew writes an object that the bucket lacks.
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

// toSync marks an object that must be durable before the pointer.
func (p *push) toSync(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = append(p.written, name)
}

// putPage uploads the report page. A store whose page cannot be made is pushed without.
func (p *push) putPage(ctx context.Context, e *Entry) error {
	if p.Page == nil {
		return nil
	}
	page, pageErr := p.Page(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The page is made from the folder: it must not be of a later generation.
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
	e.Report = &Object{fmt.Sprintf("%s%d.html", reportFolder, e.Generation), int64(len(page)), hashOf(page)}
	return p.putNew(ctx, e.Report.Name, textOf(pageType, page))
}

const pageType = "text/html; charset=utf-8"
