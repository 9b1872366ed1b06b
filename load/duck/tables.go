package duck

import (
	"context"

	"spendsync/schema"
)

// makeTables makes the tables of an empty file.
func (w *Warehouse) makeTables(ctx context.Context) error {
	statements := []string{"CREATE SCHEMA ops", "CREATE SCHEMA int", "CREATE SCHEMA mart", madeTable}
	for _, t := range schema.Tables {
		statements = append(statements, t.CreateSQL()...)
	}
	return execTogether(ctx, w.conn, atOnce(statements))
}
