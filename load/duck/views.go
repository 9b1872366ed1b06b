package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// replaceViews makes the views again, in place of those that an earlier release had, with the tables' comments. The
// viewErrors are those of views; an error is the storage's.
func replaceViews(ctx context.Context, conn *sql.Conn, views []View) (viewErrors []error, err error) {
	statements, err := dropsOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, t := range schema.Tables {
		statements = append(statements, t.CommentSQL())
	}
	if err := execTogether(ctx, conn, statements); err != nil {
		return nil, err
	}
	return makeViews(ctx, conn, views)
}

// makeViews creates the views in a file that has none: all at once or, if one fails, one by
// one.
func makeViews(ctx context.Context, conn *sql.Conn, views []View) (viewErrors []error, err error) {
	var statements []string
	for _, v := range views {
		statements = append(statements, v.createSQL()...)
	}
	if err := execTogether(ctx, conn, statements); err != nil {
		for _, v := range views {
			if err := execTogether(ctx, conn, v.createSQL()); err != nil {
				if ctx.Err() != nil || errors.Is(err, durable.ErrStorage) {
					return nil, err
				}
				viewErrors = append(viewErrors, fmt.Errorf("the view %s.%s could not be made: %w", v.Schema,
					v.Name, err))
			}
		}
	}
	comments, err := columnComments(ctx, conn, views)
	if err != nil {
		return nil, err
	}
	for _, ofView := range comments {
		// Each comment on a column makes another copy of its whole view, which stays until
		// the transaction has ended.
		if err := execTogether(ctx, conn, atOnce(ofView)); err != nil {
			return nil, err
		}
	}
	return viewErrors, nil
}

// createSQL makes the view, the table of a stored one, or the table macro.
func (v View) createSQL() []string {
	name := schema.Quote(v.Schema) + "." + schema.Quote(v.Name)
	create := []string{"CREATE SCHEMA IF NOT EXISTS " + schema.Quote(v.Schema)}
	if v.Parameters != "" {
		return append(create, fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS TABLE %s", name, v.Parameters, v.SQL),
			fmt.Sprintf("COMMENT ON MACRO TABLE %s IS %s", name, schema.QuoteText(v.Doc)))
	}
	kind, body := "VIEW", v.SQL
	if v.Stored {
		kind, body = "TABLE", v.SQL+"\nWITH NO DATA"
	}
	return append(create,
		fmt.Sprintf("CREATE OR REPLACE %s %s AS %s", kind, name, body),
		fmt.Sprintf("COMMENT ON %s %s IS %s", kind, name, schema.QuoteText(v.Doc)))
}

// Part is a condition on the rows of a stored view, and the query that returns these rows.
type Part struct{ Where, Query string }

// Parts returns the parts of an account's rows of a stored view: one, or one per span of a
// view by day. The query of such a part reads main.spend_daily only within the span: DuckDB
// would not push the condition down to each place that names the table.
func (v View) Parts(account string, spans []manifest.DaySpan) (parts []Part) {
	where := "account_id = " + schema.QuoteText(account)
	if !v.ByDay {
		return []Part{{where, "FROM (\n" + v.SQL + "\n) WHERE " + where}}
	}
	for _, s := range spans {
		its := fmt.Sprintf("%s AND report_date BETWEEN DATE '%s' AND DATE '%s'", where, s.First, s.Last)
		asked := strings.ReplaceAll(v.SQL, "main.spend_daily", "(FROM main.spend_daily WHERE "+its+")")
		parts = append(parts, Part{its, "FROM (\n" + asked + "\n) WHERE " + its})
	}
	return parts
}

// Delta is the changed rows of main.spend_daily.
type Delta struct {
	Deleted  []string // files with the keys of deleted rows
	Inserted string   // condition on the new rows
}

// Store computes an account's rows of a stored view and replaces those in its table: of a
// view by day only on the days of the spans, of a view with a key only for the keys of the
// changed rows. delta is nil if the changed rows are not known.
func (w *Warehouse) Store(ctx context.Context, v View, account string, spans []manifest.DaySpan, delta *Delta) error {
	name := schema.Quote(v.Schema) + "." + schema.Quote(v.Name)
	var statements []string
	if delta != nil && v.Key != nil {
		statements = v.storeKeys(name, account, delta)
	} else {
		for _, p := range v.Parts(account, spans) {
			statements = append(statements, "DELETE FROM "+name+" WHERE "+p.Where, "INSERT INTO "+name+" "+p.Query)
		}
	}
	return w.WithMemory(ctx, func() error {
		return together(ctx, w.conn, func() error { return execAll(ctx, w.conn, statements) })
	})
}

// storeKeys returns the statements that replace the keys of changed rows. Computing all keys again makes a usual hour
// of 300,000 rows 8 % dearer, and one of three million 14 %.
func (v View) storeKeys(name, account string, delta *Delta) []string {
	where := "t.account_id = " + schema.QuoteText(account)
	key, same := strings.Join(v.Key, ", "), where
	for _, c := range v.Key {
		same += fmt.Sprintf(" AND t.%[1]s = k.%[1]s", c)
	}
	changed := "SELECT " + key + " FROM main.spend_daily WHERE " + delta.Inserted
	if len(delta.Deleted) > 0 {
		changed += " UNION SELECT " + key + " FROM " + FilesSQL(delta.Deleted)
	}
	// The account is a condition outside: next to the key it would make DuckDB compare every pair of rows.
	its := "(FROM main.spend_daily SEMI JOIN temp.changed USING (" + key + "))"
	return []string{
		"CREATE OR REPLACE TEMP TABLE changed AS SELECT DISTINCT " + key + " FROM (" + changed + ")",
		"DELETE FROM " + name + " AS t USING temp.changed AS k WHERE " + same,
		"INSERT INTO " + name + " FROM (\n" + strings.ReplaceAll(v.SQL, "main.spend_daily", its) + "\n) AS t WHERE " +
			where,
		"DROP TABLE temp.changed",
	}
}

// dropsOf remove every view, stored or not, and table macro of the attached file.
func dropsOf(ctx context.Context, conn *sql.Conn) (statements []string, err error) {
	var tables []string
	for _, t := range schema.Tables {
		tables = append(tables, schema.QuoteText(t.Name))
	}
	q := `SELECT 'DROP VIEW ' || format('"{}"."{}"', schema_name, view_name) FROM duckdb_views() WHERE
		database_name = 'w' AND NOT internal
		UNION ALL SELECT DISTINCT 'DROP MACRO TABLE ' || format('"{}"."{}"', schema_name, function_name) FROM
		duckdb_functions() WHERE database_name = 'w' AND function_type = 'table_macro' AND NOT internal
		UNION ALL SELECT 'DROP TABLE ' || format('"{}"."{}"', schema_name, table_name) FROM duckdb_tables() WHERE
		database_name = 'w' AND schema_name = 'mart' AND table_name NOT IN (` + strings.Join(tables, ", ") + ")"
	var s string
	if err := scanRows(ctx, conn, q, func() error {
		statements = append(statements, s)
		return nil
	}, &s); err != nil {
		return nil, duckErr(q, err)
	}
	return statements, nil
}

// columnComments returns the comments on the views' columns, view by view. Columns without a comment are left out.
func columnComments(ctx context.Context, conn *sql.Conn, views []View) (statements [][]string, err error) {
	docs := map[[2]string]map[string]string{}
	for _, v := range views {
		docs[[2]string{v.Schema, v.Name}] = v.Columns
	}
	const q = "SELECT c.schema_name, c.table_name, c.column_name FROM duckdb_columns() AS c WHERE c.database_name = " +
		"'w' AND NOT c.internal ORDER BY 1, 2"
	var last [2]string
	var in, view, column string
	if err := scanRows(ctx, conn, q, func() error {
		if name := [2]string{in, view}; name != last {
			statements, last = append(statements, nil), name
		}
		if doc := docs[last][column]; doc != "" {
			of := &statements[len(statements)-1]
			*of = append(*of, fmt.Sprintf("COMMENT ON COLUMN %s.%s.%s IS %s", schema.Quote(in), schema.Quote(view),
				schema.Quote(column), schema.QuoteText(doc)))
		}
		return nil
	}, &in, &view, &column); err != nil {
		return nil, duckErr(q, err)
	}
	return statements, nil
}
