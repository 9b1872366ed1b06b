package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
)

// VerifyParquet compares the files below parquet/, which readers glob, with the newest generation. It returns the
// damage of each file that differs, is missing or does not belong there, ordered by path. If the push of the newest
// generation has not finished these files, VerifyParquet logs a warning and does not compare them.
func (b *Bucket) VerifyParquet(ctx context.Context, log *slog.Logger) ([]*durable.Damage, error) {
	for range pullTries {
		before, err := b.readPointer(ctx)
		if err == nil && before == nil {
			err = fmt.Errorf("%s: %w", b.address, ErrNothing)
		}
		if err != nil {
			return nil, err
		}
		done, err := b.readPushed(ctx)
		if err != nil {
			return nil, err
		}
		if done.Pointer == nil || done.Pointer.Files != before.Files {
			log.Warn("the files for readers were not compared: a push of this generation has not finished; the next "+
				"'spendsync push' finishes it", "generation", before.Generation)
			return nil, nil
		}
		damages, err := b.verifyParquet(ctx, before.Entry)
		if err != nil && !errors.Is(err, errNotFound) {
			return nil, err
		}
		// If a push has written a newer pointer meanwhile, the files are compared again.
		after, readErr := b.readPointer(ctx)
		if readErr != nil || after != nil && after.Files == before.Files {
			return damages, errors.Join(err, readErr)
		}
	}
	return nil, fmt.Errorf("%s: pushes replace its files faster than they can be read: %w", b.address, ErrUnavailable)
}

func (b *Bucket) verifyParquet(ctx context.Context, e Entry) (damages []*durable.Damage, err error) {
	l, err := b.readList(ctx, e)
	if err != nil {
		return nil, err
	}
	wanted := parquetOf(l)
	for object, err := range b.list(ctx, parquetFolder) {
		if err != nil {
			return nil, err
		}
		if _, ok := wanted[object.name]; !ok {
			damages = append(damages, b.damaged(object.name, "generation %d has no such file", e.Generation))
		}
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	var mu sync.Mutex
	for name, f := range wanted {
		g.Go(func() error {
			h := sha256.New()
			err := b.get(within, name, func(_ object, r io.Reader) error {
				h.Reset()
				_, err := io.Copy(h, r)
				return err
			})
			isMissing := errors.Is(err, errNotFound)
			if err != nil && !isMissing {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if isMissing {
				damages = append(damages, b.lost(name))
			} else if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
				damages = append(damages, b.damaged(name, "its bytes are not those of generation %d", e.Generation))
			}
			return nil
		})
	}
	err = g.Wait()
	slices.SortFunc(damages, func(x, y *durable.Damage) int { return strings.Compare(x.Path, y.Path) })
	return damages, err
}
