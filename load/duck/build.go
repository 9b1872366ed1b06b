package duck

import "context"

// Build brings the DuckDB file at path to a new state. It applies the amends and the loads,
// and creates the views again unless views is nil. If empty is set, it creates the file with
// its tables first. The file stays open for queries and further loads: [Warehouse.Finish]
// closes it, and [Warehouse.Stop] ends the engine in any case.
//
// viewErrors names the views that could not be created. They are left out, as the numbers
// are safe without them.
func Build(
	ctx context.Context, path string, empty bool, loads []ReplacePartition, amends []Amend,
	views []View, o Options,
) (w *Warehouse, viewErrors []error, err error) {
	attach, addViews := Open, replaceViews
	if empty {
		attach, addViews = create, makeViews
	}
	if w, err = attach(ctx, path, o); err != nil {
		return nil, nil, err
	}
	w.empty = empty
	err = w.fill(ctx, loads, amends)
	if err == nil && views != nil {
		viewErrors, err = addViews(ctx, w.conn, views)
	}
	if err != nil {
		return nil, nil, w.Stop(err)
	}
	return w, viewErrors, nil
}

func (w *Warehouse) fill(ctx context.Context, loads []ReplacePartition, amends []Amend) error {
	if err := w.amend(ctx, amends); err != nil {
		return err
	}
	return w.loadAll(ctx, loads)
}

// loadAll inserts rows from files, and then, in a transaction of its own, those that follow from them: from rows
// that a transaction has yet to commit they take more memory.
func (w *Warehouse) loadAll(ctx context.Context, loads []ReplacePartition) error {
	var files, queries []ReplacePartition
	for _, l := range loads {
		if l.Query != "" {
			queries = append(queries, l)
		} else {
			files = append(files, l)
		}
	}
	if err := w.Load(ctx, files); err != nil || len(queries) == 0 {
		return err
	}
	return w.Load(ctx, queries)
}

// Load replaces partitions in one transaction.
func (w *Warehouse) Load(ctx context.Context, loads []ReplacePartition) error {
	var statements []string
	for _, l := range loads {
		statements = append(statements, l.Statements(w.empty)...)
	}
	return w.WithMemory(ctx, func() error { return execTogether(ctx, w.conn, statements) })
}
