// Package ducktest queries a published DuckDB file in tests. It is not part of package loadtest, so tests that use only
// loadtest need not link DuckDB.
package ducktest

import (
	"context"
	"errors"

	"spendsync/load/duck"
)

// Query runs a query on the published DuckDB file with [duck.Ask], and returns the whole answer.
func Query(ctx context.Context, dir, query string) (a duck.TextTable, err error) {
	r, err := duck.Ask(ctx, dir, duck.Query{SQL: query}, duck.Options{Threads: 1})
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, c := range r.Columns {
		a.Columns = append(a.Columns, c.Name)
	}
	for row, err := range r.Rows(ctx) {
		if err != nil {
			return a, err
		}
		a.Rows = append(a.Rows, row)
	}
	return a, nil
}
