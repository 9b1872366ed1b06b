package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"slices"
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

// openEngine starts DuckDB in memory; files are attached under the name w. ATTACH takes a path literally, whereas '?'
// and '%' have a meaning in a data source name. The engine can reach the files below dir and nothing else: no other
// file, no network, no extension.
func openEngine(ctx context.Context, o Options, dir, tempDir string) (*sql.Conn, func() error, error) {
	if o.attach != "" {
		if info, err := os.Stat(o.attach); err == nil && info.Size() < smallFile {
			o.Threads = 1
		}
	}
	// A setting in the connection string needs no statement of its own. There, a limit of the threads also takes effect
	// before DuckDB starts any thread. DuckDB must not fetch, load or remember anything by itself. Loading does not
	// preserve the order of rows: each row is identified by its key, and loading is twice as fast without the order.
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
		// The cache identifies a file by its modification time in seconds. If a file is rewritten within a second,
		// DuckDB would mix blocks of both versions.
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

// writing are the settings of an engine that writes a file. By default, DuckDB makes a checkpoint for every 16 MB of
// changes, and would write a small account's file three times. FSST compression makes the file 3 % smaller, but takes a
// quarter of a checkpoint's time.
var writing = []string{"SET checkpoint_threshold = '64MB'", "SET disabled_compression_methods = 'fsst'"}

// smallFile is the size of a DuckDB file below which queries are faster with a single thread.
const smallFile = 64 << 20

// attachToRead returns the statements that open a finished DuckDB file as w. USE makes w the default database, in which
// the views look for their tables.
func attachToRead(path string) (statements []string) {
	return []string{"ATTACH " + schema.QuoteText(path) + " AS w (READ_ONLY)", "USE w"}
}

// execAll runs statements in order and stops at the first error. It must not go on: if a statement of a transaction has
// failed, COMMIT reports success although it rolls back.
func execAll(ctx context.Context, conn *sql.Conn, statements []string) error {
	for _, q := range statements {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return duckErr(q, err)
		}
	}
	return nil
}

// scanRows scans each row of a query into the cells, and calls a function after each row.
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

// texts yields the names of a query's columns as the first row, and then its rows as texts. A row is valid until the
// next iteration. Nothing follows an error.
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

// unread returns an error about reading the DuckDB file. The error says that the file is damaged, unless DuckDB reports
// that memory or the disk failed.
func unread(err error, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	var de *duckdb.Error
	if IsOutOfMemory(err) || errors.As(err, &de) && diskTrouble.MatchString(de.Msg) {
		return duckErr(message, err)
	}
	return durable.Damaged(FileName, durable.RepairRebuild, "%s: %v", message, err)
}

// diskTrouble matches errors of the file system in DuckDB's messages. DuckDB gives such an error the type of the failed
// operation: for example, a full disk at COMMIT is a transaction error.
var diskTrouble = regexp.MustCompile(`(?i)no space left|fsync failed|could not ` +
	`(write|read|sync|open|create|truncate)|input/output error|read-only file system|disk quota`)

// IsOutOfMemory reports whether DuckDB ran out of memory. At COMMIT such an error has another type, so the text is
// checked too.
func IsOutOfMemory(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeOutOfMemory ||
		strings.Contains(de.Msg, "Out of Memory Error"))
}

// atOnce joins statements into one text, because DuckDB sets up its parser once for each text. The setup takes a sixth
// of the time of a COMMENT statement.
func atOnce(statements []string) []string {
	if len(statements) == 0 {
		return nil
	}
	return []string{strings.Join(statements, ";\n")}
}

// execTogether runs statements in one transaction, which it rolls back at the first error.
func execTogether(ctx context.Context, conn *sql.Conn, statements []string) error {
	err := execAll(ctx, conn, slices.Concat([]string{"BEGIN"}, statements, []string{"COMMIT"}))
	if err != nil {
		// Ignore the error of ROLLBACK: after a failed COMMIT there may be no transaction.
		_, _ = conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}

// IsUnknownName reports whether a statement names a table, a view or a column that the file lacks, for example because
// another version wrote the file.
func IsUnknownName(err error) bool {
	var de *duckdb.Error
	return errors.As(err, &de) && (de.Type == duckdb.ErrorTypeCatalog || de.Type == duckdb.ErrorTypeBinder)
}
