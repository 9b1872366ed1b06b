package duck

import (
	"context"
	"database/sql"
	"errors"

	"spendsync/load/durable"
)

// Scratch is an engine with a private folder. The engine can read files there, and uses the folder for data that
// exceeds the engine's memory limit.
type Scratch struct {
	Dir string // the private folder; Close removes it

	conn   *sql.Conn
	stop   func() error
	folder *durable.Scratch
}

// OpenScratch starts an engine that can read the files in its private folder. If the path of a DuckDB file is given,
// the engine also opens that file, read-only, under the name w. The Scratch must be closed.
func OpenScratch(ctx context.Context, o Options, attach string) (s *Scratch, err error) {
	folder, err := durable.MakeScratch(o.TempDir)
	if err != nil {
		return nil, err
	}
	s = &Scratch{Dir: folder.Dir, folder: folder}
	o.keepOrder, o.attach = true, attach
	if s.conn, s.stop, err = openEngine(ctx, o, s.Dir, s.Dir); err != nil {
		return nil, errors.Join(openErr(err), folder.Remove())
	}
	return s, nil
}

// Close ends the engine and removes its folder.
func (s *Scratch) Close() error { return errors.Join(s.stop(), s.folder.Remove()) }

// Exec runs statements in order and stops at the first error.
func (s *Scratch) Exec(ctx context.Context, statements ...string) error {
	for _, q := range statements {
		if _, err := s.conn.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Each calls a function with the names of a query's columns and then with each row, as texts; NULL is empty.
func (s *Scratch) Each(ctx context.Context, query string, use func(row []string) error) error {
	for values, err := range texts(ctx, s.conn, query) {
		if err != nil {
			return err
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = v.V
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return nil
}

// Texts returns the rows of a query as texts, without the names of the columns; NULL is empty.
func (s *Scratch) Texts(ctx context.Context, query string) (rows [][]string, err error) {
	if err = s.Each(ctx, query, func(row []string) error { rows = append(rows, row); return nil }); err != nil {
		return nil, err
	}
	return rows[1:], nil // the first row holds the names of the columns
}
