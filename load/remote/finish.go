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

// abandonedAfter is how old a DuckDB file, a list or a page of a later generation must be that the pointer does not
// name before it is removed. A younger one may belong to a push that has not written its pointer yet.
const abandonedAfter = 24 * time.Hour

// readPushed reads how far the last push got; without one that ended it is empty.
func (b *Bucket) readPushed(ctx context.Context) (*pushed, error) {
	text, _, err := b.read(ctx, pushedName, maxSmall)
	if errors.Is(err, errNotFound) {
		return &pushed{}, nil
	} else if err != nil {
		return nil, err
	}
	is := &pushed{}
	if json.Unmarshal(text, is) != nil {
		return &pushed{}, nil // everything is done again
	}
	return is, nil
}

// finish makes the changes that follow the pointer: the Parquet files at their store's names, index.html, and the
// removal, once a day, of what is no longer readable. Each step may be repeated; pushed.json records the end.
func (p *push) finish(ctx context.Context, is *seen, state *pushed) error {
	is, err := p.mirror(ctx, is, state)
	if err != nil {
		return err
	}
	if p.Full || state.Pointer == nil || dayOf(state.Pointer) != dayOf(is.Pointer) {
		if err := p.sweep(ctx, is); err != nil {
			return err
		}
	}
	text, err := json.Marshal(pushed{is.Pointer})
	if err != nil {
		return err
	}
	return p.put(ctx, pushedName, textOf("application/json", text))
}

// mirror brings the Parquet files at their store's names, and index.html, to the pointer's generation. If
// another push has written a pointer meanwhile, what this one wrote may be older than what that one
// did: it is written again.
func (p *push) mirror(ctx context.Context, is *seen, state *pushed) (*seen, error) {
	shown, err := p.shownBefore(ctx, state)
	if err != nil {
		return nil, err
	}
	for {
		l, err := p.readListOnce(ctx, is.Entry)
		if err != nil {
			return nil, err
		}
		wanted := parquetOf(l)
		if err := p.show(ctx, wanted, shown); err != nil {
			return nil, err
		}
		if is.Report != nil {
			if err := p.copy(ctx, indexName, is.Report.Name); err != nil {
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
			return is, nil
		case now.Files == is.Files:
			return now, nil
		}
		p.Log.Info("another push has written a pointer meanwhile", "generation", now.Generation)
		if shown, err = p.listShown(ctx); err != nil {
			return nil, err
		}
		is = now
	}
}

// shownBefore returns the files that globbing readers see before this push shows others: those of the generation that
// the last push has shown. If that is unknown, or everything is pushed again, their content is unknown.
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

// listShown lists the files that globbing readers see; their content is unknown.
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

// show copies the files that differ from the shown ones, and removes unwanted ones.
func (p *push) show(ctx context.Context, wanted, shown map[string]File) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for name, f := range wanted {
		if was, ok := shown[name]; !ok || was.SHA256 != f.SHA256 {
			g.Go(func() error { return p.copy(within, name, f.Object) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var gone []string
	for name := range shown {
		if _, ok := wanted[name]; !ok {
			gone = append(gone, name)
		}
	}
	return p.removeAll(ctx, gone)
}

// parquetOf are the files that readers glob, by their names.
func parquetOf(l *list) map[string]File {
	files := map[string]File{}
	for _, f := range l.Files {
		if isParquet(f.Path) {
			files[f.Path] = f
		}
	}
	return files
}

func dayOf(is *Pointer) schema.Date { return schema.DateOf(is.PublishedAt.Time()) }

// sweep removes the objects that no readable generation names: those of retired ones, and those of pushes that died or
// lost against another. A push from the present pointer may be under way: what it writes stays.
func (p *push) sweep(ctx context.Context, is *seen) error {
	named := map[string]bool{}
	for _, e := range is.Generations {
		l, err := p.readList(ctx, e) // not kept: there are some thirty
		if errors.Is(err, durable.ErrDamaged) || errors.Is(err, errNotFound) {
			return nil // its objects cannot be told apart, and stay
		} else if err != nil {
			return err
		}
		for _, f := range l.Files {
			named[f.Object] = true
		}
		for _, name := range e.names() {
			named[name] = true
		}
	}
	var gone []string
	for _, folder := range []string{objectFolder, restoreFolder, warehouseFolder, generationFolder, reportFolder} {
		for o, err := range p.list(ctx, folder) {
			if err != nil {
				return err
			}
			if !named[o.name] && !mayBeUsed(o, folder, is) {
				gone = append(gone, o.name)
			}
		}
	}
	return p.removeAll(ctx, gone)
}

// mayBeUsed reports whether a push from a pointer may use an object. Its objects by hash are in a folder that is called
// by the pointer; its DuckDB file, list and page by its generation.
func mayBeUsed(o object, folder string, from *seen) bool {
	if folder == objectFolder || folder == restoreFolder {
		return strings.HasPrefix(o.name, folder+from.base()+"/")
	}
	var generation int64
	_, _ = fmt.Sscan(path.Base(o.name), &generation) // of an object of another program: 0
	return generation >= from.Generation && from.at.Sub(o.at) < abandonedAfter
}

func (p *push) removeAll(ctx context.Context, names []string) error {
	p.done.Removed += len(names)
	if len(names) == 0 {
		return nil
	}
	return p.remove(ctx, names)
}
