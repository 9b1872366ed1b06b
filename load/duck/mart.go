package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"spendsync/load/parquet"
	"spendsync/schema"
)

// MartColumns returns the columns of the mart's view in the types of the table: ratios, which are
// floats in a view, are rounded to six decimals.
func MartColumns(m schema.Mart) string {
	var list []string
	for _, c := range m.Columns {
		list = append(list, fmt.Sprintf("CAST(%[1]s AS %[2]s) AS %[1]s", schema.Quote(c.Name), c.DuckDB()))
	}
	return strings.Join(list, ", ")
}

// MartSQL is the condition for the rows of the parts of a mart from one to another.
func MartSQL(m schema.Mart, account string, from, to schema.Date) string {
	c := "account_id = " + schema.QuoteText(account)
	if m.Partition == schema.ByMonth {
		c += fmt.Sprintf(" AND report_date >= DATE '%s' AND report_date < DATE '%s'", from, (to + 31).Month())
	}
	return c
}

// MartFile is one Parquet file of a mart: its path, the condition on its rows, and how many
// there were once it is written.
type MartFile struct {
	Path  string
	Where string
	Rows  int64
}

// WriteMart copies rows of a mart's table to Parquet files. The files are not synced: sorted by the key, with the
// table's field ids, and with the same bytes for the same rows.
func (w *Warehouse) WriteMart(ctx context.Context, m schema.Mart, files []MartFile) error {
	view := fmt.Sprintf("SELECT %s FROM mart.%s", MartColumns(m), schema.Quote(m.View))
	for i := range files {
		if err := w.WithMemory(ctx, func() error { return w.copyMart(ctx, m, view, &files[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// martGroup is how many rows of a mart are in a row group. The writer holds one in memory:
// DuckDB's own size, six times as large, adds 100 MB to the peak of a run.
const martGroup = 20_480

// copyMart writes the rows of a query to one file.
func (w *Warehouse) copyMart(ctx context.Context, m schema.Mart, query string, f *MartFile) error {
	var ids []string
	for _, c := range m.Columns {
		ids = append(ids, fmt.Sprintf("%s: %d", schema.Quote(c.Name), c.FieldID))
	}
	var says []string
	for _, kv := range parquet.Metadata(m.Table) {
		says = append(says, schema.Quote(kv[0])+": "+schema.QuoteText(kv[1]))
	}
	q := fmt.Sprintf("COPY (%s WHERE %s ORDER BY %s) TO %s (FORMAT parquet, COMPRESSION zstd, "+
		"ROW_GROUP_SIZE %d, WRITE_BLOOM_FILTER false, USE_TMP_FILE false, FIELD_IDS {%s}, KV_METADATA {%s})", query,
		f.Where, strings.Join(m.KeyNames(), ", "), schema.QuoteText(f.Path), martGroup, strings.Join(ids, ", "),
		strings.Join(says, ", "))
	result, err := w.conn.ExecContext(ctx, q)
	if err != nil {
		return duckErr(q, err)
	}
	if f.Rows, err = result.RowsAffected(); err != nil {
		return err
	}
	return refuseNulls(ctx, w.conn, m, f.Path)
}

// refuseNulls refuses a file with a NULL where the table has none: DuckDB declares every
// column optional.
func refuseNulls(ctx context.Context, conn *sql.Conn, m schema.Mart, path string) error {
	var required []string
	for _, c := range m.Columns {
		if !c.Nullable {
			required = append(required, schema.QuoteText(c.Name))
		}
	}
	q := fmt.Sprintf("SELECT path_in_schema FROM parquet_metadata(%s) WHERE stats_null_count > 0 AND "+
		"path_in_schema IN (%s) LIMIT 1", schema.QuoteText(path), strings.Join(required, ", "))
	var column string
	switch err := conn.QueryRowContext(ctx, q).Scan(&column); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return duckErr(q, err)
	}
	return fmt.Errorf("mart.%s gives a NULL in %s", m.View, column)
}
