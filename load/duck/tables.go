package duck

import (
	"context"

	"spendsync/schema"
)

// makeTables creates the schemas and tables of a new file.
func (w *Warehouse) makeTables(ctx context.Context) error {
	statements := []string{"CREATE SCHEMA ops", "CREATE SCHEMA int", "CREATE SCHEMA mart", madeTable}
	for _, t := range schema.Tables {
		statements = append(statements, t.CreateSQL()...)
	}
	return execTogether(ctx, w.conn, atOnce(statements))
}
