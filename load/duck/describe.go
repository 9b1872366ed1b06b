package duck

import (
	"context"
	"os"
)

// ColumnsOfViews returns the columns of each view in the options, by the full name of the view. Macros are left out.
// ColumnsOfViews creates the views in an empty database in memory, so it needs no store.
func ColumnsOfViews(ctx context.Context, o Options) (columns map[string][]Column, err error) {
	o.Memory, o.FirstMemory, o.Dir = "", "", os.TempDir()
	w, err := start(ctx, "", o)
	if err != nil {
		return nil, err
	}
	defer func() { err = w.Stop(err) }()
	if err := w.Exec(ctx, "ATTACH ':memory:' AS w", "USE w"); err != nil {
		return nil, err
	}
	if err := w.makeTables(ctx); err != nil {
		return nil, err
	}
	for _, v := range o.Views {
		v.IsTable, v.ByMonth = false, false                             // a view has the same columns as the table
		if err := execAll(ctx, w.conn, v.createSQL()[:1]); err != nil { // without its comment
			return nil, err
		}
	}
	const q = "SELECT c.schema_name || '.' || c.table_name, c.column_name, c.data_type FROM duckdb_columns() AS c " +
		"JOIN duckdb_views() AS v ON v.database_name = c.database_name AND v.schema_name = c.schema_name AND " +
		"v.view_name = c.table_name WHERE c.database_name = 'w' AND NOT v.internal ORDER BY 1, c.column_index"
	columns = map[string][]Column{}
	var view string
	var c Column
	if err := scanRows(ctx, w.conn, q, func() error {
		columns[view] = append(columns[view], c)
		return nil
	}, &view, &c.Name, &c.Type); err != nil {
		return nil, duckErr(q, err)
	}
	return columns, nil
}
