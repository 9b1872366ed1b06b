package duck

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"spendsync/load/durable"
	"spendsync/schema"
)

// TextTable is a result in memory, with every value as text.
type TextTable struct {
	Columns []string
	Rows    [][]schema.Null[string]
}

// Query is one SQL statement that only reads, with options for its execution.
type Query struct {
	SQL string
	// Params maps the names of the parameters in the SQL, without the $, to their values. All values are text, so the
	// SQL must cast them, for example $days::INTEGER. If Params is empty, the SQL has no parameters.
	Params map[string]string
	// Once means that the result goes straight to [Result.WriteParquet] or [Result.WriteCSV] without being stored
	// first. It has no effect on SQL with parameters.
	Once bool
	// CaveatsAt asks for [Result.Caveats] at this time: how recent and complete the data behind the answer is. If it is
	// zero, the result has no caveats.
	CaveatsAt time.Time
	// Days selects the days that the caveats are about. It is an SQL condition on main.spend AS s and main.today AS t.
	// If Days is empty, the days are taken from the columns of the answer.
	Days string
	// Account is the account whose rows the query sees, see [AccountFile]. If it is empty, the query sees all accounts.
	Account string
	// RowsParam names the parameter that limits the number of rows. It is empty if there is no such parameter.
	RowsParam string
	// Ready marks a question that is part of this program. Such a question needs the models of this version, see
	// [Session.CheckModels].
	Ready bool
	// MaxRows limits the rows of the answer, unless it is 0. The engine stops early if it can.
	MaxRows int64
}

// Column is a column of an answer. Names are unique within an answer.
type Column struct {
	Name string
	Type string // DuckDB's name of the type, for example DECIMAL(18,6) or TIMESTAMP WITH TIME ZONE
}

// Nested reports whether the column's type is a list, a struct, a map or a union. The text of such a value is JSON.
func (c Column) Nested() bool {
	return strings.HasSuffix(c.Type, "]") || strings.HasPrefix(c.Type, "STRUCT(") ||
		strings.HasPrefix(c.Type, "MAP(") || strings.HasPrefix(c.Type, "UNION(")
}

// Result is an answer that the engine holds in memory, or in a folder below [os.TempDir] if the answer exceeds the
// memory limit.
type Result struct {
	Columns []Column
	Count   int64     // number of rows; 0 if Query.Once was in effect
	Total   int64     // number of rows that the answer would have without RowsParam's limit
	Caveats []Caveats // one per account, if the query asked for them

	s      *Session
	isView bool // whether Query.Once is in effect: the answer is computed when it is written
}

// QueryError is an error in the query itself.
type QueryError struct {
	Message string
	Excerpt string // the line of the query with the error, and a mark below it; may be empty
	// NeedsMore means that the query needs more memory or disk space than its limits.
	NeedsMore bool
}

func (e *QueryError) Error() string { return e.Message }

// Ask runs one query on the published DuckDB file. It opens the file read-only, with a locked configuration, so the
// query cannot reach anything else: no other file, no network, no extension. An error in the query itself is a
// [*QueryError]. The result must be closed.
func Ask(ctx context.Context, dir string, q Query, o Options) (r *Result, err error) {
	open := OpenSession
	if q.Account != "" {
		open = func(ctx context.Context, dir string, o Options) (*Session, error) {
			return openAccount(ctx, dir, q.Account, o)
		}
	}
	s, err := open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	r = &Result{s: s}
	if q.Ready {
		err = s.CheckModels(ctx, o)
	}
	if err == nil {
		err = r.check(ctx, q)
	}
	if err == nil {
		err = r.answer(ctx, q)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !q.CaveatsAt.IsZero() {
		r.Caveats = r.caveats(ctx, q)
	}
	return r, nil
}

// openErr explains why the published file does not open: another process has it open for writing, or it is damaged.
func openErr(err error) error {
	switch text := err.Error(); {
	case !errors.Is(err, durable.ErrStorage) || strings.Contains(text, "Permission denied"):
		return err
	case strings.Contains(text, "Could not set lock"):
		return fmt.Errorf("%s: somebody has it open for writing (%v): %w", FileName, err, durable.ErrLocked)
	}
	return durable.Damaged(FileName, durable.RepairRebuild, "it does not open: %v", err)
}

// Close releases the resources of the result.
func (r *Result) Close() error { return r.s.Close() }

// stopped returns the context's error if the context has ended, and otherwise the given error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the query was stopped: %w", ctx.Err())
	}
	return err
}

// answer computes the answer into a temporary table, which the engine can move to disk. The driver would hold the whole
// answer in memory.
func (r *Result) answer(ctx context.Context, q Query) error {
	// query() takes the SQL as a value, so brackets and comments in the SQL cannot break out. It does not support
	// parameters, so SQL with parameters goes into brackets instead. Such SQL is always our own.
	from, args := "query("+schema.QuoteText(q.SQL)+")", []any(nil)
	if len(q.Params) > 0 {
		from = "(\n" + q.SQL + "\n)"
		for name, value := range q.Params {
			args = append(args, sql.Named(name, value))
		}
	}
	if q.MaxRows > 0 {
		from += fmt.Sprintf(" LIMIT %d", q.MaxRows)
	}
	kind := "TABLE"
	if q.Once && args == nil {
		kind, r.isView = "VIEW", true
	}
	if _, err := r.s.conn.ExecContext(ctx, "CREATE TEMP "+kind+" answer AS FROM "+from, args...); err != nil {
		return stopped(ctx, queryErr(err, false))
	}
	if kind == "TABLE" {
		if err := r.s.conn.QueryRowContext(ctx, "SELECT count(*) FROM temp.answer").Scan(&r.Count); err != nil {
			return stopped(ctx, duckErr("count the answer", err))
		}
		if err := r.countAll(ctx, q); err != nil {
			return err
		}
	}
	var c Column
	if err := scanRows(ctx, r.s.conn, "SELECT column_name, column_type FROM (DESCRIBE temp.answer)", func() error {
		r.Columns = append(r.Columns, c)
		return nil
	}, &c.Name, &c.Type); err != nil {
		return stopped(ctx, duckErr("describe the answer", err))
	}
	return nil
}

// noLimit exceeds the number of rows of any answer.
const noLimit = "2147483647"

// countAll sets Total. If the answer has as many rows as its limit, countAll runs the query again without the limit.
func (r *Result) countAll(ctx context.Context, q Query) error {
	r.Total = r.Count
	if q.RowsParam == "" || q.Params[q.RowsParam] != fmt.Sprint(r.Count) {
		return nil
	}
	args := []any{sql.Named(q.RowsParam, noLimit)}
	for name, value := range q.Params {
		if name != q.RowsParam {
			args = append(args, sql.Named(name, value))
		}
	}
	err := r.s.conn.QueryRowContext(ctx, "SELECT count(*) FROM (\n"+q.SQL+"\n)", args...).Scan(&r.Total)
	if err != nil {
		return stopped(ctx, duckErr("count the rows without a limit", err))
	}
	return nil
}

// excerpt matches the end of a DuckDB error: a line of the SQL and a mark below it.
var excerpt = regexp.MustCompile(`(?s)\n\nLINE \d+: .*$`)

// queryErr returns a [*QueryError] if the query is at fault, and another error if the file or the engine is. The
// argument asAsked means that DuckDB saw the unmodified query.
func queryErr(err error, asAsked bool) error {
	var de *duckdb.Error
	if !errors.As(err, &de) || de.Type == duckdb.ErrorTypeFatal || de.Type == duckdb.ErrorTypeInternal {
		return fmt.Errorf("duckdb: %w", err)
	}
	if de.Type == duckdb.ErrorTypeIO || diskTrouble.MatchString(de.Msg) {
		return fmt.Errorf("duckdb: %w: %w", err, durable.ErrStorage)
	}
	q := &QueryError{Message: excerpt.ReplaceAllString(de.Msg, "")}
	if q.NeedsMore = de.Type == duckdb.ErrorTypeOutOfMemory; q.NeedsMore {
		// DuckDB suggests settings, but the reader cannot change any.
		q.Message, _, _ = strings.Cut(q.Message, "Possible solutions:")
		q.Message = "it needs more memory than it may have, or more than " + MaxSpill + " of temporary files: " +
			q.Message
	}
	// If the query was wrapped in another statement, the excerpt would show that statement.
	if asAsked {
		q.Excerpt = strings.TrimPrefix(excerpt.FindString(de.Msg), "\n\n")
	}
	return q
}

// rowsPerPage is the number of rows of an answer that are in memory at a time.
const rowsPerPage = 5 * 2048

// Rows yields the rows of the answer in order. It holds one page of rows in memory. Values are in DuckDB's text form,
// nested values in JSON. Nothing follows an error.
func (r *Result) Rows(ctx context.Context) iter.Seq2[[]schema.Null[string], error] {
	return func(yield func([]schema.Null[string], error) bool) {
		for from := int64(0); from < r.Count; from += rowsPerPage {
			page, err := r.page(ctx, from)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// page reads up to rowsPerPage rows of the answer. It selects them by rowid: the answer is a new table, whose rowids
// are 0, 1, 2 and so on, in order.
func (r *Result) page(ctx context.Context, from int64) (page [][]schema.Null[string], err error) {
	if err := ctx.Err(); err != nil {
		return nil, stopped(ctx, err)
	}
	texts := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		texts[i] = c.TextSQL()
	}
	q := fmt.Sprintf("SELECT %s FROM temp.answer WHERE rowid >= %d AND rowid < %d ORDER BY rowid",
		strings.Join(texts, ", "), from, from+rowsPerPage)
	// Use the driver directly: database/sql would double the time.
	err = r.s.conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(ctx, q, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		values := make([]driver.Value, len(texts))
		for {
			if err := rows.Next(values); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			row := make([]schema.Null[string], len(values))
			for i, v := range values {
				row[i].V, row[i].Valid = v.(string)
			}
			page = append(page, row)
		}
	})
	if err != nil {
		return nil, stopped(ctx, duckErr("read the answer", err))
	}
	return page, nil
}

// decimals matches the decimal types in a nested type. Each is widened before to_json, which converts wide decimals
// exactly, but narrow ones through a float.
var decimals = regexp.MustCompile(`DECIMAL\(\d+,(\d+)\)`)

// TextSQL returns the SQL for the column's value as text, which all output formats share: instants and times as in RFC
// 3339, and a digit before every decimal point.
func (c Column) TextSQL() string {
	name := schema.Quote(c.Name)
	if !c.Nested() {
		text := "(" + name + "::VARCHAR)"
		var width, scale int
		switch _, err := fmt.Sscanf(c.Type, "DECIMAL(%d,%d)", &width, &scale); {
		case err == nil && width == scale: // DuckDB prints .5 for 0.5
			return "replace(if(" + text + "[1] = '.', '0', '') || " + text + ", '-.', '-0.')"
		case c.Type == "TIMESTAMP WITH TIME ZONE":
			utc := "left(" + text + ", -3)"
			return fmt.Sprintf("CASE WHEN NOT suffix(%s, '+00') THEN %[1]s WHEN contains(%[1]s, '(') THEN "+
				"regexp_replace(%[2]s, ' ', 'T') || 'Z' ELSE replace(%[2]s, ' ', 'T') || 'Z' END", text, utc)
		case strings.HasPrefix(c.Type, "TIME"), c.Type == "DATE":
			return "regexp_replace(" + text + ", ' ', 'T')"
		}
		return text
	}
	if decimals.MatchString(c.Type) && !strings.Contains(c.Type, "ENUM(") {
		name += "::" + decimals.ReplaceAllString(c.Type, "DECIMAL(38,$1)")
	}
	return "to_json(" + name + ")::VARCHAR"
}

// WriteParquet writes the result as one Parquet file, compressed by zstd, with the types of its columns. Types that
// Parquet cannot hold exactly become decimals or texts.
func (r *Result) WriteParquet(ctx context.Context, w io.Writer) error {
	columns := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = c.parquetSQL() + " AS " + schema.Quote(c.Name)
	}
	return r.copyOut(ctx, w, "SELECT "+strings.Join(columns, ", ")+" FROM temp.answer",
		"FORMAT parquet, COMPRESSION zstd")
}

// WriteCSV writes a line of headings, and a line for each row. Both slices contain SQL expressions of type text.
func (r *Result) WriteCSV(ctx context.Context, w io.Writer, headings, cells []string) error {
	return r.copyOut(ctx, w, "SELECT "+strings.Join(headings, ", ")+" UNION ALL SELECT "+strings.Join(cells, ", ")+
		" FROM temp.answer", "FORMAT csv, HEADER false")
}

// copyOut makes the engine write the rows to a file in the engine's folder, the only folder that the engine may write
// to. It then copies the file to w.
func (r *Result) copyOut(ctx context.Context, w io.Writer, rows, options string) error {
	if r.s.scratch == nil {
		return fmt.Errorf("%s: %w: %w", os.TempDir(), durable.ErrTempDir, durable.ErrStorage)
	}
	path := filepath.Join(r.s.tempDir, "answer.written")
	q := fmt.Sprintf("COPY (%s) TO %s (%s)", rows, schema.QuoteText(path), options)
	if _, err := r.s.conn.ExecContext(ctx, q); err != nil {
		return stopped(ctx, queryErr(err, false))
	}
	f, err := os.Open(path)
	if err != nil {
		return durable.Storage(err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// parquetSQL returns the SQL for the column's value in a type that Parquet holds without loss. For example, DuckDB
// would write a HUGEINT, the type of every sum of counts, as a float.
func (c Column) parquetSQL() string {
	inexact := strings.Contains(c.Type, "HUGEINT") || strings.Contains(c.Type, "INTERVAL") ||
		strings.Contains(c.Type, "BIGNUM")
	switch {
	case c.Type == "HUGEINT", c.Type == "UHUGEINT":
		return schema.Quote(c.Name) + "::DECIMAL(38,0)"
	case inexact, strings.Contains(c.Type, "UNION("), c.Type == "BIT", strings.HasPrefix(c.Type, "TIME WITH"):
		return c.TextSQL()
	}
	return schema.Quote(c.Name)
}
