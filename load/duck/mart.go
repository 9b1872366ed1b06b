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

// MartColumns returns the select list that converts the columns of the mart's view to the types of its Parquet table.
// Ratios, which are floats in the view, are rounded to six decimals. A ratio beyond the range of its Parquet type
// becomes NULL, so that it does not make the run fail.
func MartColumns(m *schema.Table) string {
	var list []string
	for _, c := range m.Columns {
		cast := "CAST"
		if c.Nullable {
			cast = "TRY_CAST"
		}
		list = append(list, fmt.Sprintf("%[1]s(%[2]s AS %[3]s) AS %[2]s", cast, schema.Quote(c.Name), c.DuckDB()))
	}
	return strings.Join(list, ", ")
}

// martGroup is the number of rows in a row group of a mart's file. DuckDB holds a row group in memory while it writes.
// DuckDB's default is six times as large and adds 100 MB to a run's peak.
const martGroup = 20_480

// WriteMart writes the Parquet file of a mart for an account, and for a month if the mart has monthly files. It returns
// the number of rows. The file is sorted by the key, has the table's field IDs, and has the same bytes for the same
// rows. The file is not synced.
func (ms Models) WriteMart(ctx context.Context, m *schema.Table, account string, month schema.Date, path string) (
	rows int64, err error) {
	where := "account_id = " + schema.QuoteText(account)
	if m.Partition == schema.ByMonth {
		where += fmt.Sprintf(" AND report_date >= DATE '%s' AND report_date < DATE '%s'", month, (month + 31).Month())
	}
	var ids []string
	for _, c := range m.Columns {
		ids = append(ids, fmt.Sprintf("%s: %d", schema.Quote(c.Name), c.FieldID))
	}
	var metadata []string
	for _, kv := range parquet.Metadata(m) {
		metadata = append(metadata, schema.Quote(kv[0])+": "+schema.QuoteText(kv[1]))
	}
	q := fmt.Sprintf("COPY (SELECT %s FROM mart.%s WHERE %s ORDER BY %s) TO %s (FORMAT parquet, COMPRESSION zstd, "+
		"ROW_GROUP_SIZE %d, WRITE_BLOOM_FILTER false, USE_TMP_FILE false, FIELD_IDS {%s}, KV_METADATA {%s})",
		MartColumns(m), schema.Quote(m.View), where, strings.Join(m.KeyNames(), ", "), schema.QuoteText(path),
		martGroup, strings.Join(ids, ", "), strings.Join(metadata, ", "))
	err = ms.w.WithMemory(ctx, func() error {
		result, err := ms.w.conn.ExecContext(ctx, q)
		if err != nil {
			return duckErr(q, err)
		}
		if rows, err = result.RowsAffected(); err != nil {
			return err
		}
		return refuseNulls(ctx, ms.w.conn, m, path)
	})
	return rows, err
}

// refuseNulls returns an error if the file has a NULL in a column that must not be NULL. DuckDB does not check this,
// because it declares every column of a Parquet file as optional.
func refuseNulls(ctx context.Context, conn *sql.Conn, m *schema.Table, path string) error {
	var required []string
	for _, c := range m.Columns {
		if !c.Nullable {
			required = append(required, c.Name)
		}
	}
	q := fmt.Sprintf("SELECT path_in_schema FROM parquet_metadata(%s) WHERE stats_null_count > 0 AND "+
		"path_in_schema IN (%s) LIMIT 1", schema.QuoteText(path), schema.QuoteTexts(required))
	var column string
	switch err := conn.QueryRowContext(ctx, q).Scan(&column); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return duckErr(q, err)
	}
	return fmt.Errorf("mart.%s gives a NULL in %s", m.View, column)
}
