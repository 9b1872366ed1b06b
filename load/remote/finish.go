package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
	"spendsync/schema"
)

// sweepEvery is how often the bucket is searched for objects that nothing names, and sweepAge how old
// these must be: a younger one may belong to a push that has not written its pointer yet. checkEvery is how often the
// files that readers glob are compared with the generation.
const (
	sweepEvery = 24 * time.Hour
	sweepAge   = 24 * time.Hour
	checkEvery = 24 * time.Hour
)

// isDue reports whether work that was last done at a time is due again.
func isDue(last schema.Instant, every time.Duration, now time.Time) bool {
	age := now.Sub(last.Time())
	return age >= every || age < 0
}

// readPushed reads how far the last push got; without one that ended it is empty.
func (b *Bucket) readPushed(ctx context.Context) (*pushed, error) {
	text, _, err := b.read(ctx, pushedName, "")
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
// removal of generations that are no longer readable. Each step may be repeated; pushed.json records the end.
func (p *push) finish(ctx context.Context, is *seen, state *pushed) error {
	now := p.Now()
	checked, check := state.CheckedAt, false
	switch {
	case checked == 0:
		checked = schema.InstantOf(now)
	case isDue(checked, checkEvery, now):
		checked, check = schema.InstantOf(now), true
	}
	is, l, err := p.mirror(ctx, is, state, check)
	if err != nil {
		return err
	}
	if state.Pointer != nil {
		if err := p.retire(ctx, is.Pointer, state.Pointer); err != nil {
			return err
		}
	}
	swept := state.SweptAt
	switch {
	case swept == 0:
		swept = schema.InstantOf(now)
	case isDue(swept, sweepEvery, now):
		if err := p.sweep(ctx, is, l); err != nil {
			return err
		}
		swept = schema.InstantOf(now)
	}
	text, err := json.Marshal(pushed{is.Pointer, swept, checked})
	if err != nil {
		return err
	}
	return p.put(ctx, pushedName, textOf("application/json", text))
}

// mirror brings the Parquet files at their store's names, and index.html, to the pointer's generation. If
// another push has written a pointer meanwhile, what this one wrote may be older than what that one
// did: it is written again.
func (p *push) mirror(ctx context.Context, is *seen, state *pushed, check bool) (*seen, *list, error) {
	shown, err := p.shownBefore(ctx, state, check)
	if err != nil {
		return nil, nil, err
	}
	for {
		l, err := p.readListOnce(ctx, is.Entry)
		if err != nil {
			return nil, nil, err
		}
		wanted := parquetOf(l)
		if err := p.show(ctx, wanted, shown); err != nil {
			return nil, nil, err
		}
		if is.Report != nil {
			if err := p.copy(ctx, indexName, is.Report.Name); err != nil {
				return nil, nil, err
			}
		}
		now, err := p.readPointer(ctx, "")
		switch {
		case err != nil:
			return nil, nil, err
		case p.done.New && (now == nil || bytes.Equal(now.text, p.base)):
			return nil, nil, p.lost(pointerName)
		case now == nil:
			return is, l, nil
		case now.Files == is.Files:
			return now, l, nil
		}
		p.Log.Info("another push has written a pointer meanwhile", "generation", now.Generation)
		forget(shown, wanted)
		is = now
	}
}

// shownBefore returns the files that globbing readers see before this push shows others, with their content if that is
// known: by the list of the generation that the last push has shown or, if check is set, by their bytes.
func (p *push) shownBefore(ctx context.Context, state *pushed, check bool) (shown map[string]File, err error) {
	shown = map[string]File{}
	if state.Pointer != nil && !p.Full {
		if check {
			err = p.checkAndTell(ctx, state.Pointer.Entry, shown)
		} else if l, listErr := p.readListOnce(ctx, state.Pointer.Entry); listErr == nil {
			shown = parquetOf(l)
		} else {
			err = listErr
		}
		if err == nil || !errors.Is(err, errNotFound) && !errors.Is(err, durable.ErrDamaged) {
			return shown, err
		}
	}
	for object, err := range p.list(ctx, parquetFolder) {
		if err != nil {
			return nil, err
		}
		shown[object.name] = File{} // of unknown content
	}
	return shown, nil
}

// checkAndTell compares the files that globbing readers see with a generation, and warns of those that differ.
func (p *push) checkAndTell(ctx context.Context, e Entry, shown map[string]File) error {
	faults, err := p.check(ctx, e, func(f File) { shown[f.Path] = f })
	for _, fault := range faults {
		p.Log.Warn("a file that readers glob is not the generation's; it is mended", "object", fault.Path, "reason",
			fault.What)
	}
	p.done.Mended = len(faults)
	return err
}

// forget drops what is known of the content of files: what this push has just written or removed is not what another
// one wrote, or will.
func forget(shown, wanted map[string]File) {
	for name, f := range wanted {
		if shown[name].SHA256 != f.SHA256 {
			f = File{}
		}
		shown[name] = f
	}
	for name := range shown {
		if _, ok := wanted[name]; !ok {
			shown[name] = File{}
		}
	}
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

// retire removes what generations had to themselves that are no longer readable.
func (p *push) retire(ctx context.Context, is, was *Pointer) error {
	named := namedBy(is)
	gone := map[string]bool{}
	for _, e := range was.Generations {
		for _, name := range e.names() {
			if !named[name] {
				gone[name] = true
			}
		}
	}
	return p.removeAll(ctx, slices.Sorted(maps.Keys(gone)))
}

// namedBy are the objects that a pointer names.
func namedBy(is *Pointer) map[string]bool {
	named := map[string]bool{}
	for _, e := range is.Generations {
		for _, name := range e.names() {
			named[name] = true
		}
	}
	return named
}

// sweep removes objects that no readable generation names: those of retired generations, and what an
// interrupted push has left. Their age is measured by the storage's own clock.
func (p *push) sweep(ctx context.Context, is *seen, l *list) error {
	named := namedBy(is.Pointer)
	for name := range parquetOf(l) {
		named[name] = true
	}
	for _, e := range is.Generations {
		files, err := p.readListOnce(ctx, e)
		if errors.Is(err, durable.ErrDamaged) || errors.Is(err, errNotFound) {
			p.Log.Warn("nothing is swept: the objects of a generation are not known", "error", err)
			return nil
		} else if err != nil {
			return err
		}
		for _, f := range files.Files {
			named[f.Object] = true
		}
	}
	var gone []string
	for _, folder := range []string{objectFolder, restoreFolder, warehouseFolder, generationFolder, reportFolder,
		parquetFolder} {
		for object, err := range p.list(ctx, folder) {
			if err != nil {
				return err
			}
			if !named[object.name] && is.at.Sub(object.at) > sweepAge {
				gone = append(gone, object.name)
			}
		}
	}
	return p.removeAll(ctx, gone)
}

func (p *push) removeAll(ctx context.Context, names []string) error {
	p.done.Removed += len(names)
	if len(names) == 0 {
		return nil
	}
	return p.remove(ctx, names)
}
