package duck

import (
	"context"
	"slices"
	"sync"
)

// Build brings the DuckDB file at path to a new state. It applies the amends and the loads,
// and creates the views again unless views is nil. If empty is set, it makes the file
// first. The file stays open for queries and further loads: [Warehouse.Finish]
// closes it, and [Warehouse.Stop] ends the engine in any case.
//
// viewErrors names the views that could not be created. They are left out, as the numbers
// are safe without them.
func Build(
	ctx context.Context, path string, empty bool, loads []ReplacePartition, amends []Amend,
	views []View, o Options,
) (w *Warehouse, viewErrors []error, err error) {
	if empty {
		if viewErrors, err = makeBlank(ctx, path, views, o); err != nil {
			return nil, nil, err
		}
		views = nil // the file has them
	}
	if w, err = Open(ctx, path, o); err != nil {
		return nil, nil, err
	}
	w.empty = empty
	err = w.amend(ctx, amends)
	// Rows that follow from others come in a transaction of their own: from rows that a transaction has yet to commit
	// they take more memory.
	for _, follow := range []bool{false, true} {
		if err == nil {
			err = w.Load(ctx, slices.DeleteFunc(slices.Clone(loads), func(l ReplacePartition) bool {
				return (l.Query != "") != follow
			}))
		}
	}
	if err == nil && views != nil {
		viewErrors, err = replaceViews(ctx, w.conn, views)
	}
	if err != nil {
		return nil, nil, w.Stop(err)
	}
	return w, viewErrors, nil
}

// blanks are the files that [makeBlank] made in this process, by the definition of their views. To make one takes
// longer than to fill it with the rows of a small account, and tests make a thousand.
var blanks sync.Map // string -> []byte

// makeBlank makes the DuckDB file at path with every table and view, and without rows.
func makeBlank(ctx context.Context, path string, views []View, o Options) (viewErrors []error, err error) {
	definition := Options{Views: views}.ViewsDefinition()
	if made, ok := blanks.Load(definition); ok {
		_, _, err := o.Disk.WriteFile(path, made.([]byte))
		return nil, err
	}
	w, err := create(ctx, path, o)
	if err != nil {
		return nil, err
	}
	viewErrors, err = makeViews(ctx, w.conn, views)
	if err == nil {
		err = w.Exec(ctx, "CHECKPOINT w", "USE memory", "DETACH w")
	}
	if err = w.Stop(err); err != nil || len(viewErrors) > 0 {
		return viewErrors, err
	}
	made, err := o.Disk.ReadFile(path, maxBlank)
	if err == nil {
		blanks.Store(definition, made)
	}
	return nil, err
}

// maxBlank bounds the size of a file without rows: it is 1 MB with all our views.
const maxBlank = 64 << 20

// Load replaces partitions in one transaction.
func (w *Warehouse) Load(ctx context.Context, loads []ReplacePartition) error {
	var statements []string
	for _, l := range loads {
		statements = append(statements, l.Statements(w.empty)...)
	}
	return w.WithMemory(ctx, func() error { return execTogether(ctx, w.conn, statements) })
}
