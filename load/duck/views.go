package duck

import (
	"context"
	"database/sql"
	"fmt"

	"spendsync/schema"
)

// Drop drops all models and macros of the file, because the definitions of the models have changed. It also updates the
// comments of the stored tables.
func (ms Models) Drop(ctx context.Context) error {
	statements, err := dropsOf(ctx, ms.w.conn)
	if err != nil {
		return err
	}
	for _, t := range schema.Tables {
		statements = append(statements, t.CommentSQL())
	}
	return ms.replace(ctx, append(statements, "DELETE FROM int.made"))
}

// CommentColumns adds comments to the columns of all models except those of schema int, which are internal.
func (ms Models) CommentColumns(ctx context.Context, views []View) error {
	comments, err := columnComments(ctx, ms.w.conn, views)
	if err != nil {
		return err
	}
	var tables []string
	for _, v := range views {
		// Each comment on a column of a view copies the whole view, and the copies stay until the end of the
		// transaction. So each view has its own transaction. The tables share one.
		if v.IsTable {
			tables = append(tables, comments[v.Full()]...)
		} else if err := ms.replace(ctx, atOnce(comments[v.Full()])); err != nil {
			return err
		}
	}
	return ms.replace(ctx, atOnce(tables))
}

// createSQL returns the statements that create the model and its comment. A table gets its rows as well, unless it is
// made by months.
func (v View) createSQL() []string {
	name := schema.Quote(v.Schema) + "." + schema.Quote(v.Name)
	if v.IsValue {
		return []string{fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS %s", name, v.Parameters, v.SQL),
			fmt.Sprintf("COMMENT ON MACRO %s IS %s", name, schema.QuoteText(v.Doc))}
	}
	if v.Parameters != "" {
		return []string{fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS TABLE %s", name, v.Parameters, v.SQL),
			fmt.Sprintf("COMMENT ON MACRO TABLE %s IS %s", name, schema.QuoteText(v.Doc))}
	}
	kind, body := "VIEW", v.SQL
	if v.IsTable {
		kind = "TABLE"
	}
	if v.ByMonth {
		body += "\nWITH NO DATA"
	}
	return []string{fmt.Sprintf("CREATE OR REPLACE %s %s AS %s", kind, name, body),
		fmt.Sprintf("COMMENT ON %s %s IS %s", kind, name, schema.QuoteText(v.Doc))}
}

// dropsOf returns the statements that drop all models and macros of the attached file.
func dropsOf(ctx context.Context, conn *sql.Conn) (statements []string, err error) {
	var tables []string
	for _, t := range schema.Tables {
		tables = append(tables, t.Name)
	}
	q := `SELECT 'DROP VIEW ' || format('"{}"."{}"', schema_name, view_name) FROM duckdb_views() WHERE
		database_name = 'w' AND NOT internal
		UNION ALL SELECT DISTINCT if(function_type = 'macro', 'DROP MACRO ', 'DROP MACRO TABLE ') ||
		format('"{}"."{}"', schema_name, function_name) FROM duckdb_functions() WHERE database_name = 'w' AND
		function_type IN ('macro', 'table_macro') AND NOT internal
		UNION ALL SELECT 'DROP TABLE ' || format('"{}"."{}"', schema_name, table_name) FROM duckdb_tables() WHERE
		database_name = 'w' AND schema_name IN ('int', 'mart') AND table_name NOT IN ('made', ` +
		schema.QuoteTexts(tables) + ")"
	var s string
	if err := scanRows(ctx, conn, q, func() error {
		statements = append(statements, s)
		return nil
	}, &s); err != nil {
		return nil, duckErr(q, err)
	}
	return statements, nil
}

// columnComments returns the COMMENT statements for the columns of models, by model.
func columnComments(ctx context.Context, conn *sql.Conn, views []View) (map[string][]string, error) {
	docs, statements := map[string]map[string]string{}, map[string][]string{}
	for _, v := range views {
		if v.Schema != "int" {
			docs[v.Full()] = v.Columns
		}
	}
	const q = "SELECT c.schema_name, c.table_name, c.column_name FROM duckdb_columns() AS c WHERE c.database_name = " +
		"'w' AND NOT c.internal ORDER BY 1, 2, c.column_index"
	var in, model, column string
	if err := scanRows(ctx, conn, q, func() error {
		if doc := docs[in+"."+model][column]; doc != "" {
			statements[in+"."+model] = append(statements[in+"."+model], fmt.Sprintf("COMMENT ON COLUMN %s.%s.%s IS %s",
				schema.Quote(in), schema.Quote(model), schema.Quote(column), schema.QuoteText(doc)))
		}
		return nil
	}, &in, &model, &column); err != nil {
		return nil, duckErr(q, err)
	}
	return statements, nil
}
