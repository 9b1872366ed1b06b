package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
)

// CheckShown compares the Parquet files at their store's names, which readers glob and no pull reads, with the newest
// generation: their names, sizes and hashes.
func (b *Bucket) CheckShown(ctx context.Context) ([]*durable.Damage, error) {
	for {
		is, err := b.readPointer(ctx, "")
		if err != nil || is == nil {
			return nil, err
		}
		faults, err := b.check(ctx, is.Entry, func(File) {})
		if err != nil || len(faults) == 0 {
			return nil, err
		}
		// A push replaces them after the pointer.
		now, err := b.readPointer(ctx, "")
		if err != nil {
			return nil, err
		}
		state, err := b.readPushed(ctx)
		if err != nil {
			return nil, err
		}
		if now != nil && now.Files == is.Files && state.Pointer != nil && state.Pointer.Files == is.Files {
			return faults, nil
		}
		if state.Pointer == nil || now != nil && state.Pointer.Files != now.Files {
			return nil, nil // the push has not got so far, or died; the next one ends its work
		}
	}
}

// check compares the Parquet files at their store's names with a generation. It tells shown of each object that is
// there: with its content if that is the generation's, else without.
func (b *Bucket) check(ctx context.Context, e Entry, shown func(File)) (faults []*durable.Damage, err error) {
	l, err := b.readList(ctx, e)
	if err != nil {
		return nil, err
	}
	missing := parquetOf(l)
	var mu sync.Mutex
	found := func(f File, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if shown(f); format != "" {
			faults = append(faults, b.damaged(f.Path, format, args...))
		}
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for o, err := range b.list(ctx, parquetFolder) {
		if err != nil {
			return nil, errors.Join(err, g.Wait())
		}
		want, ok := missing[o.name]
		delete(missing, o.name)
		unknown := File{Path: o.name}
		switch {
		case !ok:
			found(unknown, "it is not of generation %d, and readers that take every file count it", e.Generation)
			continue
		case o.bytes != want.Bytes:
			found(unknown, "it has %d bytes, and should have %d", o.bytes, want.Bytes)
			continue
		}
		g.Go(func() error {
			sum := sha256.New()
			err := b.get(within, o.name, func(r io.Reader) error {
				sum.Reset()
				_, err := io.Copy(sum, r)
				return err
			})
			switch {
			case errors.Is(err, errNotFound):
				found(unknown, "it is missing")
			case err != nil:
				return err
			case hex.EncodeToString(sum.Sum(nil)) != want.SHA256:
				found(unknown, "its bytes are not those that were pushed")
			default:
				found(want, "")
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		faults = append(faults, b.damaged(name, "it is missing"))
	}
	return faults, nil
}
