package duck

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/duckdb/duckdb-go/v2"

	"spendsync/load/parquet"
	"spendsync/schema"
)

// TableRecords yields the rows of a table of the file that meet a condition, in the order
// of the key. Each record is valid only in its turn of the loop; a table without such rows yields an empty one.
// An error ends the loop.
func (w *Warehouse) TableRecords(ctx context.Context, t *schema.Table, where string) iter.Seq2[arrow.Record, error] {
	return tableRecords(ctx, w.conn, t, fmt.Sprintf("SELECT %s FROM w.%s", t.SQLColumns(), t.SQLName()), where)
}

func tableRecords(ctx context.Context, conn *sql.Conn, t *schema.Table, query, where string) iter.Seq2[arrow.Record,
	error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := eachRecord(ctx, conn, t, query, where, func(rec arrow.Record) bool {
			return yield(rec, nil)
		}); err != nil {
			yield(nil, err)
		}
	}
}

func eachRecord(ctx context.Context, conn *sql.Conn, t *schema.Table, query, where string,
	yield func(arrow.Record) bool) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.Arrow)
	defer b.Release()
	var wanted []string
	puts := make([]func(any), len(t.Columns))
	for i, c := range t.Columns {
		expression, put := recordCell(c, b.Field(i))
		wanted, puts[i] = append(wanted, expression+" AS "+schema.Quote(c.Name)), put
	}
	give := func() bool {
		rec := b.NewRecord()
		defer rec.Release()
		return yield(rec)
	}
	q := fmt.Sprintf("CREATE OR REPLACE TEMP TABLE answer AS SELECT %s FROM (%s WHERE %s) AS rows",
		strings.Join(wanted, ", "), query, where)
	if err := execAll(ctx, conn, []string{q}); err != nil {
		return err
	}
	parts, all, err := answerParts(ctx, conn, t.KeyNames())
	if err != nil {
		return err
	}
	asked := query[strings.LastIndexByte(query, ' ')+1:]
	n := 0
	put := func(cells []any) (more bool, err error) {
		for i, v := range cells {
			switch {
			case v != nil:
				puts[i](v)
			case t.Columns[i].Nullable:
				b.Field(i).AppendNull()
			default:
				return false, fmt.Errorf("%s gives a NULL in %s", asked, t.Columns[i].Name)
			}
		}
		n++
		return n%parquet.RecordRows != 0 || give(), nil
	}
	for _, part := range parts {
		q := fmt.Sprintf("FROM temp.answer WHERE %s ORDER BY %s", part, strings.Join(t.KeyNames(), ", "))
		if more, err := eachRow(ctx, conn, q, len(puts), put); err != nil || !more {
			return err
		}
	}
	if n != all {
		return fmt.Errorf("%s: %d rows came of %d", asked, n, all)
	}
	if n == 0 || n%parquet.RecordRows != 0 {
		give()
	}
	return execAll(ctx, conn, []string{"DROP TABLE temp.answer"})
}

// answerRows is the number of result rows fetched at a time. The driver holds fetched rows in
// memory, without a limit; DuckDB holds the rest, on disk if need be.
const answerRows = 4 * parquet.RecordRows

// answerParts returns conditions on the key that cut temp.answer into parts, in the order of the
// key, and the number of its rows. The rows of the table have no order: an engine that builds keeps
// none.
func answerParts(ctx context.Context, conn *sql.Conn, keys []string) (parts []string, all int, err error) {
	q := "SELECT count(*) FROM temp.answer"
	if err := conn.QueryRowContext(ctx, q).Scan(&all); err != nil {
		return nil, 0, duckErr(q, err)
	}
	if all <= answerRows {
		return []string{"true"}, all, nil
	}
	q = fmt.Sprintf("SELECT %[1]s FROM (SELECT %[1]s, row_number() OVER (ORDER BY %[1]s) AS n FROM temp.answer) "+
		"WHERE n > 1 AND n %% %[2]d = 1 ORDER BY n",
		strings.Join(keys, ", "), answerRows)
	from := "true"
	_, err = eachRow(ctx, conn, q, len(keys), func(first []any) (bool, error) {
		values := make([]string, len(first))
		for i, v := range first {
			switch v := v.(type) {
			case string:
				values[i] = schema.QuoteText(v)
			case int64:
				values[i] = fmt.Sprint(v)
			default:
				return false, fmt.Errorf("%v, a %T, is in a key", v, v)
			}
		}
		parts = append(parts, from+" AND "+beyondKey(keys, values, "<", "<"))
		from = beyondKey(keys, values, ">", ">=")
		return true, nil
	})
	return append(parts, from), all, err
}

// beyondKey is the condition that a key lies to one side of values: by the first operator
// that one of its columns does, by the second that the last does. (DuckDB compares a row
// of columns with one value, and not with two.)
func beyondKey(keys, values []string, is, last string) string {
	if len(keys) == 1 {
		return fmt.Sprintf("%s %s %s", keys[0], last, values[0])
	}
	return fmt.Sprintf("(%[1]s %[2]s %[3]s OR (%[1]s = %[3]s AND %[4]s))", keys[0], is, values[0],
		beyondKey(keys[1:], values[1:], is, last))
}

// eachRow asks and hands on each row, whose cells are lent, until there are no more or
// none are wanted.
func eachRow(ctx context.Context, conn *sql.Conn, q string, columns int, take func(cells []any) (more bool,
	err error)) (more bool, err error) {
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return false, duckErr(q, err)
	}
	defer rows.Close()
	cells, into := make([]any, columns), make([]any, columns)
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		if more, err := take(cells); err != nil || !more {
			return false, err
		}
	}
	if err := rows.Err(); err != nil {
		return false, duckErr(q, err)
	}
	return true, nil
}

// recordCell returns the SQL expression that reads a column of the table's type as a text, an
// integer, a decimal or a flag, and the function that appends such a value to its array.
func recordCell(c schema.Column, b array.Builder) (expression string, put func(any)) {
	name := schema.Quote(c.Name)
	switch b := b.(type) {
	case *array.StringBuilder:
		return name, func(v any) { b.Append(v.(string)) }
	case *array.Int64Builder:
		return name, func(v any) { b.Append(v.(int64)) }
	case *array.BooleanBuilder:
		return name, func(v any) { b.Append(v.(bool)) }
	case *array.Decimal128Builder:
		return name, func(v any) { b.Append(decimal128.FromI64(v.(duckdb.Decimal).Value.Int64())) }
	case *array.Date32Builder:
		return fmt.Sprintf("CAST(%s - DATE '1970-01-01' AS BIGINT)", name),
			func(v any) { b.Append(arrow.Date32(v.(int64))) }
	case *array.TimestampBuilder:
		return fmt.Sprintf("epoch_us(%s)", name), func(v any) { b.Append(arrow.Timestamp(v.(int64))) }
	}
	panic(fmt.Sprintf("duck: no cell for %s", b.Type()))
}
