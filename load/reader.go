package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"spendsync/schema"
)

// Answer is what a question gives: every value as text, NULL as absent.
type Answer struct {
	Columns []string
	Rows    [][]schema.Null[string]
}

// Query asks the published DuckDB file one question. The file is opened
// read-only, and the question reaches nothing else.
func Query(ctx context.Context, dir, question string) (a Answer, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return a, storage(err)
	}
	path := filepath.Join(dir, warehouseName)
	if !exists(path) {
		return a, fmt.Errorf("%s: %w", dir, ErrEmpty)
	}
	conn, stop, err := openEngine(ctx, Options{keepOrder: true}, dir, filepath.Join(dir, "staging", "query.tmp"))
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := execAll(ctx, conn, []string{
		"ATTACH " + schema.QuoteText(path) + " AS w (READ_ONLY)", "USE w",
	}); err != nil {
		return a, err
	}
	rows, err := conn.QueryContext(ctx, "SELECT COLUMNS(*)::VARCHAR FROM (\n"+question+"\n)")
	if err != nil {
		return a, duckErr(question, err)
	}
	defer rows.Close()
	if a.Columns, err = rows.Columns(); err != nil {
		return a, err
	}
	for rows.Next() {
		row := make([]schema.Null[string], len(a.Columns))
		cells := make([]any, len(row))
		texts := make([]*string, len(row))
		for i := range cells {
			cells[i] = &texts[i]
		}
		if err := rows.Scan(cells...); err != nil {
			return a, err
		}
		for i, s := range texts {
			if s != nil {
				row[i] = schema.Some(*s)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	return a, rows.Err()
}
