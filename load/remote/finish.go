package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/schema"
)

// abandonedAfter applies to DuckDB files, lists and pages that no readable generation names. After this time such a
// file is always removed. Before, it may belong to a push that has not written its pointer yet, so it is removed only
// if its generation is older than the pointer's.
const abandonedAfter = 24 * time.Hour

// readPushed reads pushed.json; the result is empty if no push has completed.
func (b *Bucket) readPushed(ctx context.Context) (*pushed, error) {
	text, _, err := b.read(ctx, pushedName, maxSmall)
	if errors.Is(err, errNotFound) {
		return &pushed{}, nil
	} else if err != nil {
		return nil, err
	}
	state := &pushed{}
	if json.Unmarshal(text, state) != nil {
		return &pushed{}, nil // it is not JSON: act as if no push had completed
	}
	return state, nil
}

// finish does the work that follows writing the pointer: it updates the files below parquet/ and index.html, and once a
// day removes objects that are no longer needed. Each step may be repeated. At the end it writes pushed.json.
func (p *push) finish(ctx context.Context, pointer *seen, state *pushed) error {
	pointer, err := p.mirror(ctx, pointer, state)
	if err != nil {
		return err
	}
	if p.Full || state.Pointer == nil || dayOf(state.Pointer) != dayOf(pointer.Pointer) {
		if err := p.sweep(ctx, pointer); err != nil {
			return err
		}
	}
	text, err := json.Marshal(pushed{pointer.Pointer})
	if err != nil {
		return err
	}
	return p.put(ctx, pushedName, textOf("application/json", text))
}

// mirror updates the files below parquet/ and index.html to the pointer's generation. If another push has written a new
// pointer meanwhile, this push may have overwritten newer files, so mirror starts again from the new pointer.
func (p *push) mirror(ctx context.Context, pointer *seen, state *pushed) (*seen, error) {
	shown, err := p.shownBefore(ctx, state)
	if err != nil {
		return nil, err
	}
	for {
		l, err := p.readListOnce(ctx, pointer.Entry)
		if err != nil {
			return nil, err
		}
		wanted := parquetOf(l)
		if err := p.show(ctx, wanted, shown); err != nil {
			return nil, err
		}
		if pointer.Report != nil {
			if err := p.copy(ctx, indexName, pointer.Report.Name); err != nil {
				return nil, err
			}
		}
		now, err := p.readPointer(ctx)
		switch {
		case err != nil:
			return nil, err
		case p.done.New && (now == nil || bytes.Equal(now.text, p.base)):
			return nil, p.lost(pointerName)
		case now == nil:
			return pointer, nil
		case now.Files == pointer.Files:
			return now, nil
		}
		p.Log.Info("another push has written a pointer meanwhile", "generation", now.Generation)
		if shown, err = p.listShown(ctx); err != nil {
			return nil, err
		}
		pointer = now
	}
}

// shownBefore returns the files that are below parquet/ now. It takes the files from the list of the last completed
// push. If that list is lost, or the option Full is set, it lists the objects below parquet/, whose content is then
// unknown.
func (p *push) shownBefore(ctx context.Context, state *pushed) (map[string]File, error) {
	if state.Pointer != nil && !p.Full {
		l, err := p.readListOnce(ctx, state.Pointer.Entry)
		if err == nil {
			return parquetOf(l), nil
		}
		if !errors.Is(err, errNotFound) && !errors.Is(err, durable.ErrDamaged) {
			return nil, err
		}
	}
	return p.listShown(ctx)
}

// listShown lists the files below parquet/. Their content is unknown.
func (p *push) listShown(ctx context.Context) (map[string]File, error) {
	shown := map[string]File{}
	for object, err := range p.list(ctx, parquetFolder) {
		if err != nil {
			return nil, err
		}
		shown[object.name] = File{}
	}
	return shown, nil
}

// show updates the files below parquet/. The first map has the new files, and the second one has the present files.
func (p *push) show(ctx context.Context, wanted, shown map[string]File) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for name, f := range wanted {
		if before, ok := shown[name]; !ok || before.SHA256 != f.SHA256 {
			g.Go(func() error { return p.copy(within, name, f.Object) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var unwanted []string
	for name := range shown {
		if _, ok := wanted[name]; !ok {
			unwanted = append(unwanted, name)
		}
	}
	return p.removeAll(ctx, unwanted)
}

// parquetOf returns the files of a list that belong below parquet/, by name.
func parquetOf(l *list) map[string]File {
	files := map[string]File{}
	for _, f := range l.Files {
		if isParquet(f.Path) {
			files[f.Path] = f
		}
	}
	return files
}

func dayOf(pointer *Pointer) schema.Date { return schema.DateOf(pointer.PublishedAt.Time()) }

// sweep removes the objects that no readable generation names. Such objects belong to generations that are no longer
// kept, or to pushes that died or were overtaken. A concurrent push may have started from the same pointer; sweep keeps
// the objects that such a push may have written.
func (p *push) sweep(ctx context.Context, pointer *seen) error {
	needed := map[string]bool{}
	for _, e := range pointer.Generations {
		l, err := p.readList(ctx, e) // not cached, because about thirty lists would stay in memory
		if errors.Is(err, durable.ErrDamaged) || errors.Is(err, errNotFound) {
			return nil // the generation's objects are unknown, so nothing can be removed
		} else if err != nil {
			return err
		}
		for _, f := range l.Files {
			needed[f.Object] = true
		}
		for _, name := range e.names() {
			needed[name] = true
		}
	}
	var unnamed []string
	for _, folder := range []string{objectFolder, restoreFolder, warehouseFolder, generationFolder, reportFolder} {
		for o, err := range p.list(ctx, folder) {
			if err != nil {
				return err
			}
			if !needed[o.name] && !mayBeUsed(o, folder, pointer) {
				unnamed = append(unnamed, o.name)
			}
		}
	}
	return p.removeAll(ctx, unnamed)
}

// mayBeUsed reports whether a running push that started from the given pointer may have written an object. Objects with
// a hash as their name are in a folder that is named after that pointer. Other objects are named after their
// generation.
func mayBeUsed(o object, folder string, from *seen) bool {
	if folder == objectFolder || folder == restoreFolder {
		return strings.HasPrefix(o.name, folder+from.base()+"/")
	}
	var generation int64
	_, _ = fmt.Sscan(path.Base(o.name), &generation) // stays 0 if another program wrote the object
	return generation >= from.Generation && from.at.Sub(o.at) < abandonedAfter
}

func (p *push) removeAll(ctx context.Context, names []string) error {
	p.done.Removed += len(names)
	if len(names) == 0 {
		return nil
	}
	return p.remove(ctx, names)
}
