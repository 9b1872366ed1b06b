package job

import (
	"context"
	"fmt"
	"slices"

	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Accept accepts what the store shows under a name, so that it ends no run with exit 4 any more: a form of difference
// up to its present size, or a day that is partial or doubtful, by its date, as it is stored. undo takes that back. It
// publishes a generation, and asks nothing of the service. unknown returns the error for a name that is not among the
// given ones.
func (j Job) Accept(
	ctx context.Context, name string, undo bool, unknown func(known []string) error,
) (*Result, error) {
	start := j.Now()
	store, err := j.openStored(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	account := store.Account()
	accept := account.Accepting
	if undo {
		accept = account.TakingBack
	}
	notes, text, ok := accept(name, schema.InstantOf(start), j.RunID)
	if !ok {
		return nil, unknown(account.Acceptable(schema.InstantOf(start), undo))
	}
	area, err := store.Begin(j.RunID)
	if err != nil {
		return nil, err
	}
	defer area.Discard()
	var row schema.Run
	part := load.Part{Change: manifest.Change{Since: ReachFrom(start), Notes: slices.Clone(notes)}}
	_, err = store.Publish(ctx, load.Publication{Area: area, Parts: []load.Part{part},
		Record: func(o load.Preview) load.RunRecord {
			row = endOf(j, "accept", start, exit.OK, fmt.Sprintf("published generation %d: %s", o.Generation, text))
			row.Published, row.Generation = true, o.Generation
			return load.RunRecord{Run: row}
		}})
	if err != nil {
		return nil, err
	}
	return &Result{Run: row}, nil
}
