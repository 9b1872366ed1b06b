package duck

import (
	"context"
	"database/sql"

	"spendsync/schema"
)

// Build brings the DuckDB file at path to a new state and closes it with everything in
// the file and nothing in a log. A fresh one is built from nothing. The rows come in one
// transaction, then the views are made, unless the file has them (nil); afterViews runs
// once the views exist and returns the remaining loads.
//
// A view that cannot be made is left out and handed to afterViews: the numbers are safe
// without it.
//
// The file is durable, and no longer attached, when check looks whether it is what it
// must be.
func Build(
	ctx context.Context, path string, fresh bool, loads []Load, views []View, o Options,
	afterViews func(w *Warehouse, viewErrors []error) ([]Load, error), check func(*Warehouse) error,
) (err error) {
	if fresh && o.Blanks != nil {
		made, err := o.Blanks.write(ctx, path, o)
		if err != nil {
			return err
		}
		if made {
			views = nil
		}
	}
	w, err := Open(ctx, path, o)
	if err != nil {
		return err
	}
	defer func() { err = w.Stop(err) }()
	if err := w.makeTables(ctx); err != nil {
		return err
	}
	if err := w.loadAll(ctx, fresh, loads); err != nil {
		return err
	}
	var viewErrors []error
	if views != nil {
		if viewErrors, err = makeViews(ctx, w.conn, views); err != nil {
			return err
		}
	}
	more, err := afterViews(w, viewErrors)
	if err != nil {
		return err
	}
	if err := w.load(ctx, fresh, more); err != nil {
		return err
	}
	// What comes cannot be done a second time.
	if err := w.takeAll(ctx); err != nil {
		return err
	}
	if err := w.Finish(ctx); err != nil {
		return err
	}
	if err := o.Disk.SyncFile(path); err != nil {
		return err
	}
	return check(w)
}

// makeTables makes the tables that the file lacks: one of an earlier version lacks
// those that came since.
func (w *Warehouse) makeTables(ctx context.Context) error {
	have, err := tablesOf(ctx, w.conn)
	if err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA IF NOT EXISTS ops", "CREATE SCHEMA IF NOT EXISTS mart"}
	for _, t := range schema.Tables {
		if !have[t.FullName()] {
			statements = append(statements, t.CreateSQL()...)
		}
	}
	return execTogether(ctx, w.conn, statements)
}

// loadAll moves rows, and then makes the sums of them: from rows that a transaction has
// yet to commit they take more memory.
func (w *Warehouse) loadAll(ctx context.Context, fresh bool, loads []Load) error {
	var rows, sums []Load
	for _, l := range loads {
		if _, ok := l.(Derive); ok {
			sums = append(sums, l)
		} else {
			rows = append(rows, l)
		}
	}
	if err := w.load(ctx, fresh, rows); err != nil || len(sums) == 0 {
		return err
	}
	return w.load(ctx, fresh, sums)
}

// load moves rows, in one transaction.
func (w *Warehouse) load(ctx context.Context, fresh bool, loads []Load) error {
	var statements []string
	for _, l := range loads {
		statements = append(statements, l.Statements(fresh)...)
	}
	move := func() error {
		for _, l := range loads {
			if a, ok := l.(Amend); ok {
				if err := a.do(ctx, w.conn); err != nil {
					return err
				}
			}
		}
		return execAll(ctx, w.conn, statements)
	}
	return w.WithMemory(ctx, func() error { return together(ctx, w.conn, move) })
}

// tablesOf are the tables of the attached file, by their full names.
func tablesOf(ctx context.Context, conn *sql.Conn) (map[string]bool, error) {
	const q = "SELECT if(schema_name = 'main', '', schema_name || '.') || table_name FROM duckdb_tables() WHERE " +
		"database_name = 'w'"
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return nil, duckErr(q, err)
	}
	defer rows.Close()
	have := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		have[name] = true
	}
	return have, rows.Err()
}
