package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/marcboeker/go-duckdb/v2"

	"spendsync/load/durable"
	"spendsync/schema"
)

// openEngine starts a DuckDB without a file of its own; files are attached to it
// under the name w. Attaching takes the path as a text, where a data source name
// would give '?' and '%' a meaning. The engine reaches the files below dir and
// nothing else: no other file, no network, no extension.
func openEngine(ctx context.Context, o Options, dir, tempDir string) (*sql.Conn, func() error, error) {
	if o.attach != "" {
		if info, err := os.Stat(o.attach); err == nil && info.Size() < smallFile {
			o.DuckDBThreads = 1
		}
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
		settings = append(settings, attachToRead(o.attach)...)
	}
	settings = append(settings, "SET enable_external_access = false")
	if !o.moreLater {
		settings = append(settings, "SET lock_configuration = true")
	}
	if err := execAll(ctx, conn, settings); err != nil {
		stop()
		return nil, nil, err
	}
	return conn, stop, nil
}

// smallFile is how many bytes of a DuckDB file one processor answers from sooner than
// several that wait for each other.
const smallFile = 64 << 20

// attachToRead opens a finished DuckDB file under the name w. A view finds its tables only
// in the database that is in use.
func attachToRead(path string) (statements []string) {
	return []string{"ATTACH " + schema.QuoteText(path) + " AS w (READ_ONLY)", "USE w"}
}

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

// unread says what could not be looked at in a DuckDB file: it is damaged, unless it was
// memory or the disk that failed.
func unread(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	var de *duckdb.Error
	if isOutOfMemory(err) || errors.As(err, &de) && diskTrouble.MatchString(de.Msg) {
		return duckErr(what, err)
	}
	return durable.Damaged(warehouseName, durable.MendRebuild, "%s: %v", what, err)
}

// diskTrouble knows the file system's errors inside DuckDB's, which gives them
// the kind of whatever it was doing: a full disk at COMMIT is a transaction error.
var diskTrouble = regexp.MustCompile(`(?i)no space left|fsync failed|could not (write|read|sync|open|create|truncate)|input/output error|read-only file system|disk quota`)

// tableLoad is what happens to one table of the DuckDB file: rows go, then rows
// come, from Parquet files only.
type tableLoad struct {
	table *schema.Table
	drop  string   // condition on the rows that go; empty: none
	stale []string // files with the keys of rows that go
	files []string // absolute paths
	only  string   // condition on the rows that come; empty: all of the files
	sums  string   // question whose rows come, of tables that have got theirs

	set     string // what changes in rows that stay; empty: nothing does
	where   string // which
	setRows int64  // how many
}

func (l tableLoad) statements(fresh bool) (statements []string) {
	if l.drop != "" && !fresh {
		statements = append(statements, "DELETE FROM "+l.table.SQLName()+" WHERE "+l.drop)
	}
	if len(l.stale) > 0 && !fresh {
		// Nothing but the keys: with any other condition DuckDB takes the table for
		// the smaller side and builds its hash table from it.
		var same []string
		for _, name := range l.table.KeyNames() {
			same = append(same, fmt.Sprintf("t.%[1]s = stale.%[1]s", schema.Quote(name)))
		}
		statements = append(statements, fmt.Sprintf("DELETE FROM %s AS t USING %s AS stale WHERE %s",
			l.table.SQLName(), readParquetSQL(l.table, l.stale), strings.Join(same, " AND ")))
	}
	if l.sums != "" {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (%s) %s", l.table.SQLName(), l.table.SQLColumns(), l.sums))
	}
	if len(l.files) > 0 {
		only := l.only
		if only != "" {
			only = " WHERE " + only
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s%s",
			l.table.SQLName(), l.table.SQLColumns(), readParquetSQL(l.table, l.files), only))
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
//
// The file is durable, and no longer attached, when check is asked whether it is what
// it must be.
func buildWarehouse(ctx context.Context, path string, fresh bool, loads []tableLoad, views []View, o Options, last func(*warehouse, []error) ([]tableLoad, error), check func(*sql.Conn) error) (err error) {
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
	if err := w.loadAll(ctx, fresh, loads); err != nil {
		return err
	}
	var troubles []error
	if views != nil {
		if troubles, err = makeViews(ctx, w.conn, views); err != nil {
			return err
		}
	}
	more, err := last(w, troubles)
	if err != nil {
		return err
	}
	if err := w.load(ctx, fresh, more); err != nil {
		return err
	}
	// What comes cannot be done a second time.
	if err := w.takeAll(ctx); err != nil {
		return err
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	if err := o.disk.SyncFile(path); err != nil {
		return err
	}
	return check(w.conn)
}

// warehouse is a DuckDB file that is written to or looked through, attached as w.
type warehouse struct {
	path   string
	conn   *sql.Conn
	end    func() error
	disk   durable.Disk
	shares []string // of memory, that DuckDB has not been given yet
	spared bool     // the disk may have no room for what the memory has none for
}

// withRoom does something, and again with more memory as long as DuckDB has too little
// for it and may have more. What it had done by then must be undone.
func (w *warehouse) withRoom(ctx context.Context, do func() error) error {
	for {
		err := do()
		if len(w.shares) == 0 || !isOutOfMemory(err) && !(w.spared && errors.Is(err, ErrStorage)) {
			return err
		}
		if err := w.take(ctx, 0); err != nil {
			return err
		}
	}
}

// takeAll gives DuckDB all the memory that it may have.
func (w *warehouse) takeAll(ctx context.Context) error {
	if len(w.shares) == 0 {
		return nil
	}
	return w.take(ctx, len(w.shares)-1)
}

func (w *warehouse) take(ctx context.Context, share int) error {
	q := "SET memory_limit = " + schema.QuoteText(w.shares[share])
	w.shares = w.shares[share+1:]
	return execAll(ctx, w.conn, []string{q})
}

// isOutOfMemory knows DuckDB's error by its kind, or by what it says where it happened at
// COMMIT.
func isOutOfMemory(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeOutOfMemory || strings.Contains(de.Msg, "Out of Memory Error"))
}

// openWarehouse opens the file at path, or makes it. The engine reaches the files
// below dir.
func openWarehouse(ctx context.Context, path, dir string, o Options) (*warehouse, error) {
	w, err := startWarehouse(ctx, path, dir, o)
	if err != nil {
		return nil, err
	}
	if err := execAll(ctx, w.conn, []string{"ATTACH " + schema.QuoteText(path) + " AS w", "USE w"}); err != nil {
		return nil, w.stop(err)
	}
	return w, nil
}

// startWarehouse starts the engine for the file at path, and leaves it to be attached.
func startWarehouse(ctx context.Context, path, dir string, o Options) (*warehouse, error) {
	shares := []string{o.DuckDBMemory}
	if o.DuckDBMemory != "" { // DuckDB cannot be told to choose again
		shares = slices.Concat(o.DuckDBShares, shares)
	}
	o.DuckDBMemory, o.moreLater = shares[0], len(shares) > 1
	conn, end, err := openEngine(ctx, o, dir, path+".tmp")
	if err != nil {
		return nil, err
	}
	return &warehouse{path: path, conn: conn, end: end, disk: o.disk, shares: shares[1:]}, nil
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
	statements := []string{"CREATE SCHEMA IF NOT EXISTS ops", "CREATE SCHEMA IF NOT EXISTS mart"}
	for _, t := range schema.Tables {
		if !have[t.FullName()] {
			statements = append(statements, t.CreateSQL()...)
		}
	}
	return execTogether(ctx, w.conn, statements)
}

// loadAll moves rows, and then makes the sums of them: from rows that a transaction has
// yet to commit they take more memory.
func (w *warehouse) loadAll(ctx context.Context, fresh bool, loads []tableLoad) error {
	var rows, sums []tableLoad
	for _, l := range loads {
		if l.sums == "" {
			rows = append(rows, l)
		} else {
			sums = append(sums, l)
		}
	}
	if err := w.load(ctx, fresh, rows); err != nil || len(sums) == 0 {
		return err
	}
	return w.load(ctx, fresh, sums)
}

// load moves rows, in one transaction.
func (w *warehouse) load(ctx context.Context, fresh bool, loads []tableLoad) error {
	var statements []string
	for _, l := range loads {
		statements = append(statements, l.statements(fresh)...)
	}
	move := func() error {
		for _, l := range loads {
			if err := l.change(ctx, w.conn); err != nil {
				return err
			}
		}
		return execAll(ctx, w.conn, statements)
	}
	return w.withRoom(ctx, func() error { return together(ctx, w.conn, move) })
}

// errOtherRows says that a DuckDB file which has the bytes that were published has not
// the rows that it must have.
var errOtherRows = errors.New("it has other rows than it must have")

// change sets values in rows that stay.
func (l tableLoad) change(ctx context.Context, conn *sql.Conn) error {
	if l.set == "" {
		return nil
	}
	q := "UPDATE " + l.table.SQLName() + " SET " + l.set + " WHERE " + l.where
	result, err := conn.ExecContext(ctx, q)
	if err != nil {
		return duckErr(q, err)
	}
	if changed, err := result.RowsAffected(); err != nil || changed != l.setRows {
		return errors.Join(fmt.Errorf("%s: %d rows would change of %d: %w", l.table.FullName(), changed, l.setRows, errOtherRows), err)
	}
	return nil
}

// finish closes the file with nothing left in a log.
func (w *warehouse) finish(ctx context.Context) error {
	if err := execAll(ctx, w.conn, []string{"CHECKPOINT w", "USE memory", "DETACH w"}); err != nil {
		return err
	}
	// Closing proves nothing, an absent log does.
	left, err := w.disk.Exists(w.path + ".wal")
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
	return together(ctx, conn, func() error { return execAll(ctx, conn, statements) })
}

// together does something in one transaction, which is undone where it fails.
func together(ctx context.Context, conn *sql.Conn, do func() error) error {
	err := execAll(ctx, conn, []string{"BEGIN"})
	if err == nil {
		err = do()
	}
	if err == nil {
		err = execAll(ctx, conn, []string{"COMMIT"})
	}
	if err != nil {
		// After a failed COMMIT there may be nothing to undo.
		_, _ = conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
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

// readParquetSQL names the files outright: the values are in the files, never in
// their paths.
func readParquetSQL(t *schema.Table, files []string) string {
	quoted := make([]string, len(files))
	for i, f := range files {
		quoted[i] = schema.QuoteText(f)
	}
	options := ", hive_partitioning = false"
	if fields := t.FieldsSQL(); fields != "" {
		options += ", schema = " + fields
	}
	return "read_parquet([" + strings.Join(quoted, ", ") + "]" + options + ")"
}

// daysSQL is the condition for some days of an account. Days that follow each other are
// a span: of a list DuckDB makes a join.
func daysSQL(account, column string, days map[schema.Date]bool) string {
	sorted := slices.Sorted(maps.Keys(days))
	var which string
	if first, last := sorted[0], sorted[len(sorted)-1]; int(last-first) == len(sorted)-1 {
		which = fmt.Sprintf("BETWEEN DATE '%s' AND DATE '%s'", first, last)
	} else {
		list := make([]string, len(sorted))
		for i, d := range sorted {
			list[i] = "DATE '" + d.String() + "'"
		}
		which = "IN (" + strings.Join(list, ", ") + ")"
	}
	return fmt.Sprintf("account_id = %s AND %s %s", schema.QuoteText(account), schema.Quote(column), which)
}
