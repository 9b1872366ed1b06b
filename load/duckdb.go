package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/marcboeker/go-duckdb/v2"

	"spendsync/schema"
)

// openEngine starts a DuckDB without a file of its own; files are attached to it
// under the name w. Attaching takes the path as a text, where a data source name
// would give '?' and '%' a meaning. The engine reaches the files below dir and
// nothing else: no other file, no network, no extension.
func openEngine(ctx context.Context, o Options, dir, tempDir string) (*sql.Conn, func() error, error) {
	if info, err := os.Stat(o.attach); err == nil && info.Size() < smallFile {
		o.DuckDBThreads = 1
	}
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	stop := func() error { return errors.Join(conn.Close(), db.Close()) }
	settings := []string{
		// Nothing is fetched, loaded or remembered behind our back.
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
		"SET allow_community_extensions = false",
		"SET allow_persistent_secrets = false",
		// Rows carry their key; keeping their order would double the time to load.
		fmt.Sprintf("SET preserve_insertion_order = %t", o.keepOrder),
		"SET temp_directory = " + schema.QuoteText(tempDir),
		"SET TimeZone = 'UTC'",
		"SET allowed_directories = [" + schema.QuoteText(dir) + "]",
	}
	if o.DuckDBMemory != "" {
		settings = append(settings, "SET memory_limit = "+schema.QuoteText(o.DuckDBMemory))
	}
	if o.DuckDBThreads > 0 {
		settings = append(settings, fmt.Sprintf("SET threads = %d", o.DuckDBThreads))
	}
	if o.attach != "" {
		settings = append(settings, "ATTACH "+schema.QuoteText(o.attach)+" AS w (READ_ONLY)", "USE w")
	}
	settings = append(settings, "SET enable_external_access = false", "SET lock_configuration = true")
	if err := execAll(ctx, conn, settings); err != nil {
		stop()
		return nil, nil, err
	}
	return conn, stop, nil
}

// smallFile is how many bytes of a DuckDB file one processor answers from sooner than
// several that wait for each other.
const smallFile = 64 << 20

// execAll runs statements in order and stops at the first error. Every error
// counts: a COMMIT after a failed statement reports success and rolls back.
func execAll(ctx context.Context, conn *sql.Conn, statements []string) error {
	for _, q := range statements {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return duckErr(q, err)
		}
	}
	return nil
}

func duckErr(statement string, err error) error {
	if len(statement) > 120 {
		statement = statement[:120] + "..."
	}
	err = fmt.Errorf("duckdb: %s: %w", strings.Join(strings.Fields(statement), " "), err)
	var de *duckdb.Error
	if errors.As(err, &de) && (de.Type == duckdb.ErrorTypeIO || diskTrouble.MatchString(de.Msg)) {
		return fmt.Errorf("%w: %w", err, ErrStorage)
	}
	return err
}

// diskTrouble knows the file system's errors inside DuckDB's, which gives them
// the kind of whatever it was doing: a full disk at COMMIT is a transaction error.
var diskTrouble = regexp.MustCompile(`(?i)no space left|could not (write|read|sync|open|create|truncate)|input/output error|read-only file system|disk quota`)

// tableLoad is what happens to one table of the DuckDB file: rows go, then rows
// come, from Parquet files only.
type tableLoad struct {
	table *schema.Table
	drop  string   // condition on the rows that go; empty: none
	files []string // absolute paths
}

func (l tableLoad) statements(fresh bool) (statements []string) {
	if l.drop != "" && !fresh {
		statements = append(statements, "DELETE FROM "+l.table.SQLName()+" WHERE "+l.drop)
	}
	if len(l.files) > 0 {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s",
			l.table.SQLName(), l.table.SQLColumns(), readParquetSQL(l.files)))
	}
	return statements
}

// buildWarehouse brings the DuckDB file at path to a new state and closes it with
// everything in the file and nothing in a log. An empty path is built from
// nothing. The rows come in one transaction, then the views are made, unless the
// file has them (nil); last is asked what else is to come, when they can answer.
//
// A view that cannot be made is left out, and told of: the numbers are safe
// without it.
func buildWarehouse(ctx context.Context, path string, fresh bool, loads []tableLoad, views []View, o Options, last func(*sql.Conn, []error) ([]tableLoad, error)) (err error) {
	if fresh && o.Blanks != nil {
		made, err := o.Blanks.write(ctx, path, o)
		if err != nil {
			return err
		}
		if made {
			views = nil
		}
	}
	w, err := openWarehouse(ctx, path, o.dir, o)
	if err != nil {
		return err
	}
	defer func() { err = w.stop(err) }()
	if err := w.makeTables(ctx); err != nil {
		return err
	}
	if err := w.load(ctx, fresh, loads); err != nil {
		return err
	}
	var troubles []error
	if views != nil {
		if troubles, err = makeViews(ctx, w.conn, views); err != nil {
			return err
		}
	}
	more, err := last(w.conn, troubles)
	if err != nil {
		return err
	}
	if err := w.load(ctx, fresh, more); err != nil {
		return err
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	return o.disk.syncFile(path)
}

// warehouse is a DuckDB file that is written to, attached as w.
type warehouse struct {
	path string
	conn *sql.Conn
	end  func() error
	disk disk
}

// openWarehouse opens the file at path, or makes it. The engine reaches the files
// below dir.
func openWarehouse(ctx context.Context, path, dir string, o Options) (*warehouse, error) {
	conn, end, err := openEngine(ctx, o, dir, path+".tmp")
	if err != nil {
		return nil, err
	}
	w := &warehouse{path: path, conn: conn, end: end, disk: o.disk}
	if err := execAll(ctx, conn, []string{"ATTACH " + schema.QuoteText(path) + " AS w", "USE w"}); err != nil {
		return nil, w.stop(err)
	}
	return w, nil
}

// stop ends the engine, whatever the outcome was.
func (w *warehouse) stop(outcome error) error { return errors.Join(outcome, w.end()) }

// makeTables makes the tables that the file lacks: one of an earlier version lacks
// those that came since.
func (w *warehouse) makeTables(ctx context.Context) error {
	have, err := tablesOf(ctx, w.conn)
	if err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA IF NOT EXISTS ops"}
	for _, t := range schema.Tables {
		if !have[t.FullName()] {
			statements = append(statements, t.CreateSQL()...)
		}
	}
	return execTogether(ctx, w.conn, statements)
}

// load moves rows, in one transaction.
func (w *warehouse) load(ctx context.Context, fresh bool, loads []tableLoad) error {
	var statements []string
	for _, l := range loads {
		statements = append(statements, l.statements(fresh)...)
	}
	return execTogether(ctx, w.conn, statements)
}

// finish closes the file with nothing left in a log.
func (w *warehouse) finish(ctx context.Context) error {
	if err := execAll(ctx, w.conn, []string{"CHECKPOINT w", "USE memory", "DETACH w"}); err != nil {
		return err
	}
	// Closing proves nothing, an absent log does.
	left, err := w.disk.exists(w.path + ".wal")
	if err != nil {
		return err
	}
	if left {
		return fmt.Errorf("duckdb left a write-ahead log beside %s: %w", filepath.Base(w.path), ErrStorage)
	}
	return nil
}

// execTogether runs statements in one transaction, which is undone at the first
// error.
func execTogether(ctx context.Context, conn *sql.Conn, statements []string) error {
	if err := execAll(ctx, conn, slices.Concat([]string{"BEGIN"}, statements, []string{"COMMIT"})); err != nil {
		// After a failed COMMIT there may be nothing to undo.
		_, _ = conn.ExecContext(ctx, "ROLLBACK")
		return err
	}
	return nil
}

// makeViews makes the views anew, all at once or, where one fails, each by
// itself, in place of those that an earlier release had. The troubles are those of
// views; an error is the storage's.
func makeViews(ctx context.Context, conn *sql.Conn, views []View) (troubles []error, err error) {
	statements, err := dropsOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	if err := execTogether(ctx, conn, statements); err != nil {
		return nil, err
	}
	statements = nil
	for _, v := range views {
		statements = append(statements, v.createSQL()...)
	}
	if err := execTogether(ctx, conn, statements); err != nil {
		for _, v := range views {
			if err := execTogether(ctx, conn, v.createSQL()); err != nil {
				if ctx.Err() != nil || errors.Is(err, ErrStorage) {
					return nil, err
				}
				troubles = append(troubles, fmt.Errorf("the view %s.%s could not be made: %w", v.Schema, v.Name, err))
			}
		}
	}
	comments, err := columnComments(ctx, conn, views)
	if err != nil {
		return nil, err
	}
	return troubles, execTogether(ctx, conn, comments)
}

// tablesOf are the tables of the attached file, by their full names.
func tablesOf(ctx context.Context, conn *sql.Conn) (map[string]bool, error) {
	const q = "SELECT if(schema_name = 'main', '', schema_name || '.') || table_name FROM duckdb_tables() WHERE database_name = 'w'"
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

// createSQL makes the view, or the table macro.
func (v View) createSQL() []string {
	name := schema.Quote(v.Schema) + "." + schema.Quote(v.Name)
	create := []string{"CREATE SCHEMA IF NOT EXISTS " + schema.Quote(v.Schema)}
	if v.Parameters != "" {
		return append(create, fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS TABLE %s", name, v.Parameters, v.SQL))
	}
	return append(create,
		fmt.Sprintf("CREATE OR REPLACE VIEW %s AS %s", name, v.SQL),
		fmt.Sprintf("COMMENT ON VIEW %s IS %s", name, schema.QuoteText(v.Doc)))
}

// dropsOf remove every view and table macro of the attached file.
func dropsOf(ctx context.Context, conn *sql.Conn) (statements []string, err error) {
	const q = `SELECT 'DROP VIEW ' || format('"{}"."{}"', schema_name, view_name) FROM duckdb_views() WHERE database_name = 'w' AND NOT internal
		UNION ALL SELECT DISTINCT 'DROP MACRO TABLE ' || format('"{}"."{}"', schema_name, function_name) FROM duckdb_functions() WHERE database_name = 'w' AND function_type = 'table_macro' AND NOT internal`
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return nil, duckErr(q, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		statements = append(statements, s)
	}
	return statements, rows.Err()
}

// columnComments comment every column of the views that there is something to
// say about.
func columnComments(ctx context.Context, conn *sql.Conn, views []View) ([]string, error) {
	docs := map[[2]string]map[string]string{}
	for _, v := range views {
		docs[[2]string{v.Schema, v.Name}] = v.Columns
	}
	const q = "SELECT c.schema_name, c.table_name, c.column_name FROM duckdb_columns() AS c JOIN duckdb_views() AS v USING (database_name, schema_name) WHERE v.view_name = c.table_name AND c.database_name = 'w' AND NOT v.internal"
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return nil, duckErr(q, err)
	}
	defer rows.Close()
	var statements []string
	for rows.Next() {
		var in, view, column string
		if err := rows.Scan(&in, &view, &column); err != nil {
			return nil, err
		}
		if doc := docs[[2]string{in, view}][column]; doc != "" {
			statements = append(statements, fmt.Sprintf("COMMENT ON COLUMN %s.%s.%s IS %s", schema.Quote(in), schema.Quote(view), schema.Quote(column), schema.QuoteText(doc)))
		}
	}
	return statements, rows.Err()
}

// readParquetSQL names the files outright: the values are in the files, never in
// their paths.
func readParquetSQL(files []string) string {
	quoted := make([]string, len(files))
	for i, f := range files {
		quoted[i] = schema.QuoteText(f)
	}
	return "read_parquet([" + strings.Join(quoted, ", ") + "], hive_partitioning = false)"
}

// warehouseCheck is what a finished DuckDB file must show.
type warehouseCheck struct {
	manifest *Manifest
	// changed are the days to sum, by account; nil: every day.
	changed map[string]map[schema.Date]bool
	// keys says to look for a key that occurs twice on a day, too. A publication need
	// not: the files that it loads were proven to have none, and no row is there that
	// is not counted.
	keys bool
}

// checkWarehouse opens the file again, read-only, and compares it with the
// manifest: every day by its count, the changed ones by their exact sums, the
// other tables by their counts.
func checkWarehouse(ctx context.Context, path string, c warehouseCheck, o Options) (err error) {
	conn, stop, err := openEngine(ctx, o, o.dir, path+".tmp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := execAll(ctx, conn, []string{"ATTACH " + schema.QuoteText(path) + " AS w (READ_ONLY)", "USE w"}); err != nil {
		return damaged(warehouseName, mendRebuild, "it does not open: %v", err)
	}
	for _, check := range []func(context.Context, *sql.Conn, warehouseCheck) error{checkCounts, checkDays} {
		if err := check(ctx, conn, c); err != nil {
			return err
		}
	}
	return execAll(ctx, conn, []string{"USE memory", "DETACH w"})
}

// checkCounts compares the rows of every table and account with the files that
// the manifest names. History that got shorter shows here.
func checkCounts(ctx context.Context, conn *sql.Conn, c warehouseCheck) error {
	want := map[[2]string]int64{}
	for name, a := range c.manifest.Accounts {
		for _, f := range a.Files {
			if f.Kind == KindParquet && f.Rows > 0 && martNamed(f.Table) == nil {
				want[[2]string{f.Table, name}] += f.Rows
			}
		}
	}
	for _, t := range schema.Tables {
		if t.Partition == schema.InMemory {
			continue
		}
		rows, err := conn.QueryContext(ctx, "SELECT account_id, count(*) FROM "+t.SQLName()+" GROUP BY account_id")
		if err != nil {
			return damaged(warehouseName, mendRebuild, "%s cannot be counted: %v", t.FullName(), err)
		}
		for rows.Next() {
			var account string
			var n int64
			if err := rows.Scan(&account, &n); err != nil {
				return errors.Join(err, rows.Close())
			}
			key := [2]string{t.Name, account}
			if want[key] != n {
				rows.Close()
				return damaged(warehouseName, mendRebuild, "%s of account %s has %d rows, its Parquet files have %d", t.FullName(), account, n, want[key])
			}
			delete(want, key)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return damaged(warehouseName, mendRebuild, "%s cannot be counted: %v", t.FullName(), err)
		}
	}
	for key, n := range want {
		return damaged(warehouseName, mendRebuild, "%s of account %s has no rows, its Parquet files have %d", key[0], key[1], n)
	}
	return nil
}

// checkDays compares every day's count, and the exact sums of the changed ones.
func checkDays(ctx context.Context, conn *sql.Conn, c warehouseCheck) error {
	type dayKey struct {
		account string
		day     schema.Date
	}
	seen := map[dayKey]int64{}
	t := schema.SpendDaily.SQLName()
	rows, err := conn.QueryContext(ctx, "SELECT account_id, (report_date - DATE '1970-01-01')::BIGINT, count(*) FROM "+t+" GROUP BY ALL")
	if err != nil {
		return damaged(warehouseName, mendRebuild, "spend_daily cannot be counted: %v", err)
	}
	for rows.Next() {
		var k dayKey
		var n int64
		if err := rows.Scan(&k.account, &k.day, &n); err != nil {
			return errors.Join(err, rows.Close())
		}
		seen[k] = n
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return damaged(warehouseName, mendRebuild, "spend_daily cannot be counted: %v", err)
	}
	for account, a := range c.manifest.Accounts {
		for d, k := range a.Days {
			key := dayKey{account, d}
			if seen[key] != k.Sums.Rows {
				return damaged(warehouseName, mendRebuild, "spend %s of account %s has %d rows, its Parquet file has %d", d, account, seen[key], k.Sums.Rows)
			}
			delete(seen, key)
		}
	}
	for k, n := range seen {
		return damaged(warehouseName, mendRebuild, "spend %s of account %s has %d rows, and no Parquet file", k.day, k.account, n)
	}
	for account, a := range c.manifest.Accounts {
		days := map[schema.Date]bool{}
		for _, d := range a.DayList() {
			// The count has shown it where there are none.
			if a.Days[d].Sums.Rows > 0 && (c.changed == nil || c.changed[account][d]) {
				days[d] = true
			}
		}
		if err := checkSums(ctx, conn, account, a, days); err != nil {
			return err
		}
		if !c.keys {
			continue
		}
		for d := range days {
			if err := checkKeys(ctx, conn, account, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSums compares the exact sums of days.
func checkSums(ctx context.Context, conn *sql.Conn, account string, a *Account, days map[schema.Date]bool) error {
	if len(days) == 0 {
		return nil
	}
	// The sum travels as text: exact.
	q := fmt.Sprintf(`SELECT (report_date - DATE '1970-01-01')::BIGINT, count(*), sum(spend)::VARCHAR, sum(clicks)::BIGINT, sum(impressions)::BIGINT, sum(conversions)::BIGINT
		FROM %s WHERE %s GROUP BY report_date`, schema.SpendDaily.SQLName(), daysSQL(account, "report_date", days))
	unsummed := func(err error) error {
		return damaged(warehouseName, mendRebuild, "spend of account %s cannot be summed: %v", account, err)
	}
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return unsummed(err)
	}
	defer rows.Close()
	summed := 0
	for ; rows.Next(); summed++ {
		var d schema.Date
		var got Sums
		var spend string
		var clicks, impressions, conversions sql.Null[int64]
		if err := rows.Scan(&d, &got.Rows, &spend, &clicks, &impressions, &conversions); err != nil {
			return unsummed(err)
		}
		if err := got.Spend.UnmarshalText([]byte(spend)); err != nil {
			return unsummed(err)
		}
		got.Clicks, got.Impressions, got.Conversions = schema.Null[int64](clicks), schema.Null[int64](impressions), schema.Null[int64](conversions)
		if want := a.Days[d].Sums; got != want {
			return damaged(warehouseName, mendRebuild, "spend %s of account %s adds up to %+v, its Parquet file to %+v", d, account, got, want)
		}
	}
	if err := rows.Err(); err != nil {
		return unsummed(err)
	}
	if summed != len(days) {
		return damaged(warehouseName, mendRebuild, "spend of account %s has rows on %d of %d days", account, summed, len(days))
	}
	return nil
}

// checkKeys looks for a key that occurs twice. It asks for one day at a time, so
// that it needs memory for a day.
func checkKeys(ctx context.Context, conn *sql.Conn, account string, d schema.Date) error {
	q := fmt.Sprintf(`SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM %s WHERE account_id = %s AND report_date = DATE '%s'
		GROUP BY campaign_id, creative_id, source_id)`, schema.SpendDaily.SQLName(), schema.QuoteText(account), d)
	var most int64
	if err := conn.QueryRowContext(ctx, q).Scan(&most); err != nil {
		return damaged(warehouseName, mendRebuild, "the keys of %s of account %s cannot be counted: %v", d, account, err)
	}
	if most > 1 {
		return damaged(warehouseName, mendRebuild, "spend %s of account %s: a key occurs %d times", d, account, most)
	}
	return nil
}

// daysSQL is the condition for some days of an account.
func daysSQL(account, column string, days map[schema.Date]bool) string {
	var list []string
	for d := range days {
		list = append(list, "DATE '"+d.String()+"'")
	}
	return "account_id = " + schema.QuoteText(account) + " AND " + schema.Quote(column) + " IN (" + strings.Join(list, ", ") + ")"
}
