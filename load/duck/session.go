package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/oklog/ulid/v2"

	"spendsync/load/duck/caveat"
	"spendsync/load/durable"
	"spendsync/schema"
)

// Session runs queries on the published DuckDB file. All results are from the generation that was published when the
// session started. The file is opened as in [Ask]; the queries are our own and are not checked first.
type Session struct {
	conn    *sql.Conn
	stop    func() error
	tempDir string
}

// OpenSession opens the published DuckDB file read-only. The session must be closed.
func OpenSession(ctx context.Context, dir string, o Options) (*Session, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, durable.Storage(err)
	}
	path := filepath.Join(dir, FileName)
	if !durable.Exists(path) {
		return nil, fmt.Errorf("%s: %w", dir, durable.ErrEmpty)
	}
	s := &Session{tempDir: filepath.Join(os.TempDir(), "spendsync-session-"+ulid.Make().String())}
	o.keepOrder, o.attach = true, path
	if s.conn, s.stop, err = openEngine(ctx, o, s.tempDir, s.tempDir); err != nil {
		return nil, openErr(err)
	}
	return s, nil
}

// Close ends the session.
func (s *Session) Close() error {
	return errors.Join(s.stop(), removeScratch(s.tempDir))
}

// Query returns the whole result of a query in memory.
func (s *Session) Query(ctx context.Context, query string) (a TextTable, err error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT COLUMNS(*)::VARCHAR FROM (\n"+query+"\n)")
	if err != nil {
		return a, stopped(ctx, duckErr(query, err))
	}
	defer rows.Close()
	if a.Columns, err = rows.Columns(); err != nil {
		return a, err
	}
	for rows.Next() {
		row := make([]schema.Null[string], len(a.Columns))
		cells := make([]any, len(row))
		texts := make([]*string, len(row))
		for i := range cells {
			cells[i] = &texts[i]
		}
		if err := rows.Scan(cells...); err != nil {
			return a, err
		}
		for i, t := range texts {
			if t != nil {
				row[i] = schema.Some(*t)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	return a, stopped(ctx, rows.Err())
}

// Caveats returns how the answer to a statement is easily misread, without answering it.
func (s *Session) Caveats(ctx context.Context, statement string) ([]caveat.Finding, error) {
	p, err := parse(ctx, s.conn, "statement", statement)
	if err != nil {
		return nil, err
	}
	return (&caveatFinder{conn: s.conn}).find(ctx, p.tree), nil
}

// Keep computes the kept views of schema mart once, of one account, and holds their rows in memory for the
// asked views and all later queries: these find no row of another account, until Keep is
// called for that one. views must be the views of the file, with the same SQL.
// Views in neither list cannot be queried any more, except those that the listed views use.
func (s *Session) Keep(ctx context.Context, account string, views []View, asked, kept []string) error {
	k := &keeping{views, asked, kept, account}
	tables, err := s.Query(ctx, "SELECT c.schema_name, c.table_name, bool_or(c.column_name = 'account_id') FROM "+
		"duckdb_columns() AS c JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name) WHERE "+
		"c.database_name = 'w' GROUP BY ALL")
	if err != nil {
		return err
	}
	return execAll(ctx, s.conn, k.statements(tables.Rows))
}
