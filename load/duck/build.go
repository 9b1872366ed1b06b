package duck

import (
	"context"
	"fmt"
)

// Build brings the DuckDB file at path to a new state: its tables, the rows of the loads, in
// one transaction, and the views, unless the file has them (nil). An empty one is built from
// nothing. The file stays open, to be asked and to be given what follows from the answers:
// [Warehouse.Finish] closes it, and [Warehouse.Stop] ends the engine in any case.
//
// Only the loads are done by as many threads as the options have, and all else by one: of
// several, DuckDB lets those that have nothing to do ask for work without a pause.
//
// The viewErrors are of views that cannot be made. They are left out: the numbers are safe
// without them.
func Build(
	ctx context.Context, path string, empty bool, loads []ReplacePartition, amends []Amend,
	views []View, o Options,
) (w *Warehouse, viewErrors []error, err error) {
	threads := o.Threads
	o.Threads, o.unlocked = 1, threads != 1
	attach, addViews := Open, replaceViews
	if empty {
		attach, addViews = create, makeViews
	}
	if empty && o.Blanks != nil {
		made, err := o.Blanks.write(ctx, path, o)
		if err != nil {
			return nil, nil, err
		}
		if made {
			attach, views = Open, nil
		}
	}
	if w, err = attach(ctx, path, o); err != nil {
		return nil, nil, err
	}
	w.empty = empty
	err = w.fill(ctx, loads, amends, threads)
	if err == nil && views != nil {
		viewErrors, err = addViews(ctx, w.conn, views)
	}
	if err != nil {
		return nil, nil, w.Stop(err)
	}
	return w, viewErrors, nil
}

func (w *Warehouse) fill(ctx context.Context, loads []ReplacePartition, amends []Amend, threads int) error {
	if err := w.setThreads(ctx, threads); err != nil {
		return err
	}
	if err := w.amend(ctx, amends); err != nil {
		return err
	}
	if err := w.loadAll(ctx, loads); err != nil {
		return err
	}
	return w.setThreads(ctx, 1)
}

// setThreads sets how many threads the engine has; 0 is one per processor.
func (w *Warehouse) setThreads(ctx context.Context, n int) error {
	switch n {
	case w.threads:
		return nil
	case 0:
		w.threads = n
		return w.Exec(ctx, "RESET threads")
	}
	w.threads = n
	return w.Exec(ctx, fmt.Sprintf("SET threads = %d", n))
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
