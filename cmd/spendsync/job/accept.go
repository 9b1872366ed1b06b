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

// Accept makes a note of the account stand at once, or withdraws it, so that it ends runs with exit 4 again. It
// publishes that as a generation, and asks nothing of the service. unknown returns the error for a note that is not
// among the given ones.
func (j Job) Accept(
	ctx context.Context, name string, withdraw bool, unknown func(known []manifest.Note) error,
) (*Result, error) {
	start := j.Now()
	store, err := j.openStored(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	notes := slices.Clone(store.Account().Notes)
	i := slices.IndexFunc(notes, func(n manifest.Note) bool { return n.Name == name })
	if i < 0 {
		return nil, unknown(notes)
	}
	text := fmt.Sprintf("accepted %s: it is a standing note", name)
	notes[i].Decision = schema.NoteAccepted
	if withdraw {
		text = fmt.Sprintf("withdrew %s: it ends runs with exit %d again", name, exit.Partial)
		notes[i].Decision = schema.NoteWithdrawn
	}
	area, err := store.Begin(j.RunID)
	if err != nil {
		return nil, err
	}
	defer area.Discard()
	var row schema.Run
	part := load.Part{Change: manifest.Change{Since: ReachFrom(start), Notes: notes}}
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
