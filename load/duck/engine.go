package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// EngineVersion returns the version of the DuckDB that is linked in.
func EngineVersion() string { return strings.TrimPrefix(bindings.LibraryVersion(), "v") }

// FileName is the name of the DuckDB file in a data directory.
const FileName = manifest.WarehouseName

// openEngine starts a DuckDB without a file of its own; files are attached to it under the name w. Attaching takes the
// path literally, whereas '?' and '%' have a meaning in a data source name. The engine reaches the files below dir and
// nothing else: no other file, no network, no extension.
func openEngine(ctx context.Context, o Options, dir, tempDir string) (*sql.Conn, func() error, error) {
	if o.attach != "" {
		if info, err := os.Stat(o.attach); err == nil && info.Size() < smallFile {
			o.Threads = 1
		}
	}
	// Settings in the connection string cost no statement, and no thread starts only to be ended.
	// DuckDB must not fetch, load or remember anything by itself. Rows carry their key; keeping
	// their order would double the time to load.
	config := fmt.Sprintf("?autoinstall_known_extensions=false&autoload_known_extensions=false"+
		"&allow_community_extensions=false&allow_persistent_secrets=false&preserve_insertion_order=%t", o.keepOrder)
	if o.Threads > 0 {
		config += fmt.Sprintf("&threads=%d", o.Threads)
	}
	connector, err := duckdb.NewConnector(config, nil)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, nil, fmt.Errorf("starting DuckDB: %w", err)
	}
	stop := func() error { return errors.Join(conn.Close(), db.Close()) }
	settings := []string{
		"SET temp_directory = " + schema.QuoteText(tempDir),
		"SET TimeZone = 'UTC'",
		// The cache knows a file by its time in seconds: a file that is written again within that second is read as a
		// mix of both.
		"SET enable_external_file_cache = false",
		"SET allowed_directories = [" + schema.QuoteText(dir) + "]",
	}
	if o.Memory != "" {
		settings = append(settings, "SET memory_limit = "+schema.QuoteText(o.Memory))
	}
	if o.writes {
		settings = append(settings, writing...)
	}
	if o.maxSpill != "" {
		settings = append(settings, "SET max_temp_directory_size = "+schema.QuoteText(o.maxSpill))
	}
	if o.attach != "" {
		settings = append(settings, attachToRead(o.attach)...)
	}
	settings = append(settings, "SET enable_external_access = false")
	if !o.unlocked {
		settings = append(settings, "SET lock_configuration = true")
	}
	if err := execAll(ctx, conn, settings); err != nil {
		stop()
		return nil, nil, err
	}
	return conn, stop, nil
}

// writing are the settings of an engine that writes a file. A checkpoint for each 16 MB of changes would write a small
// account's file three times. FSST saves 3 % of a file and takes a quarter of the time of a checkpoint.
var writing = []string{"SET checkpoint_threshold = '64MB'", "SET disabled_compression_methods = 'fsst'"}

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

// scanRows scans each row of a query into the cells, and then calls take.
func scanRows(ctx context.Context, conn *sql.Conn, q string, take func() error, cells ...any) error {
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts yields the names of a query's columns, and then its rows as texts, each valid until the next one. Nothing
// follows an error.
func texts(ctx context.Context, conn *sql.Conn, query string) iter.Seq2[[]schema.Null[string], error] {
	return func(yield func([]schema.Null[string], error) bool) {
		rows, err := conn.QueryContext(ctx, "SELECT COLUMNS(*)::VARCHAR FROM (\n"+query+"\n)")
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			yield(nil, err)
			return
		}
		row, values, cells := make([]schema.Null[string], len(names)), make([]sql.Null[string], len(names)),
			make([]any, len(names))
		for i := range cells {
			row[i], cells[i] = schema.Some(names[i]), &values[i]
		}
		for yield(row, nil) {
			if !rows.Next() {
				if err := rows.Err(); err != nil {
					yield(nil, err)
				}
				return
			}
			if err := rows.Scan(cells...); err != nil {
				yield(nil, err)
				return
			}
			for i, v := range values {
				row[i] = schema.Null[string](v)
			}
		}
	}
}

func duckErr(statement string, err error) error {
	if len(statement) > 120 {
		statement = statement[:120] + "..."
	}
	err = fmt.Errorf("duckdb: %s: %w", strings.Join(strings.Fields(statement), " "), err)
	var de *duckdb.Error
	if errors.As(err, &de) && (de.Type == duckdb.ErrorTypeIO || diskTrouble.MatchString(de.Msg)) {
		return fmt.Errorf("%w: %w", err, durable.ErrStorage)
	}
	return err
}

// unread returns the error of reading a DuckDB file: damage, unless memory or the disk failed.
func unread(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	var de *duckdb.Error
	if IsOutOfMemory(err) || errors.As(err, &de) && diskTrouble.MatchString(de.Msg) {
		return duckErr(what, err)
	}
	return durable.Damaged(FileName, durable.RepairRebuild, "%s: %v", what, err)
}

// diskTrouble knows the file system's errors inside DuckDB's, which gives them
// the kind of whatever it was doing: a full disk at COMMIT is a transaction error.
var diskTrouble = regexp.MustCompile(`(?i)no space left|fsync failed|could not ` +
	`(write|read|sync|open|create|truncate)|input/output error|read-only file system|disk quota`)

// IsOutOfMemory reports whether DuckDB ran out of memory. An error at COMMIT has another kind
// and is known by its text.
func IsOutOfMemory(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeOutOfMemory ||
		strings.Contains(de.Msg, "Out of Memory Error"))
}

// atOnce joins statements to one text: DuckDB's parser is set up once for each text, which is a
// sixth of what a comment takes.
func atOnce(statements []string) []string {
	if len(statements) == 0 {
		return nil
	}
	return []string{strings.Join(statements, ";\n")}
}

// execTogether runs statements in one transaction, which is undone at the first
// error.
func execTogether(ctx context.Context, conn *sql.Conn, statements []string) error {
	return together(ctx, conn, func() error { return execAll(ctx, conn, statements) })
}

// together calls do in one transaction, which it rolls back if do fails.
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

// IsUnknownName reports whether a statement names a table, a view or a column that the file lacks: another version
// wrote it.
func IsUnknownName(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeCatalog || de.Type == duckdb.ErrorTypeBinder)
}
