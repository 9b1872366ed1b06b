package duck

import (
	"context"
	"database/sql"

	"spendsync/schema"
)

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
