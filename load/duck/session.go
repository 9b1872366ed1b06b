package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/oklog/ulid/v2"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Session asks the published DuckDB file one question after the other. All answers
// are of one generation: that of the file as it was when the session began. The
// file is opened as by [Ask]; the questions are ours and not checked before.
type Session struct {
	opts    Options
	file    os.FileInfo // the DuckDB file that is open
	conn    *sql.Conn
	stop    func() error
	tempDir string
	kept    *keeping // nil: nothing
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
	s.opts = o
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) open(ctx context.Context) (err error) {
	if s.file, err = os.Stat(s.opts.attach); err != nil {
		return durable.Storage(err)
	}
	if s.conn, s.stop, err = openEngine(ctx, s.opts, s.tempDir, s.tempDir); err != nil {
		return openErr(err)
	}
	if s.kept != nil {
		return s.keep(ctx, s.kept)
	}
	return nil
}

// Close ends the session.
func (s *Session) Close() error {
	return errors.Join(s.stop(), removeScratch(s.tempDir))
}

// Query answers one question, all of it in memory.
//
// DuckDB 1.4 can fail by chance where several processors share a window ("INTERNAL
// Error: Attempted to access index 0 within vector of size 0"), and answers nothing
// more after that. Such a question is asked once more, of one processor.
func (s *Session) Query(ctx context.Context, question string) (Answer, error) {
	var a Answer
	err := s.retried(ctx, func() (err error) {
		a, err = s.query(ctx, question)
		return err
	})
	return a, err
}

// Keep answers the kept views of schema mart once and holds their rows in memory: the questions
// that follow, and the asked views, find them answered. The views are those of the file, with
// the same SQL. A view that is in neither list, and that none of them asks, can't be asked any
// more.
func (s *Session) Keep(ctx context.Context, views []View, asked, kept []string) error {
	k := &keeping{views, asked, kept}
	if err := s.retried(ctx, func() error { return s.keep(ctx, k) }); err != nil {
		return err
	}
	s.kept = k
	return nil
}

func (s *Session) keep(ctx context.Context, k *keeping) error {
	tables, err := s.query(ctx, "SELECT t.schema_name, t.table_name FROM duckdb_tables() AS t WHERE "+
		"t.database_name = 'w'")
	if err != nil {
		return err
	}
	return execAll(ctx, s.conn, k.statements(tables.Rows))
}

func (s *Session) retried(ctx context.Context, ask func() error) error {
	err := ask()
	var broken *duckdb.Error
	if !errors.As(err, &broken) || broken.Type != duckdb.ErrorTypeInternal || s.opts.Threads == 1 {
		return err
	}
	if now, err := os.Stat(s.opts.attach); err != nil || !os.SameFile(now, s.file) {
		return broken // another generation: its answers would not go with those before
	}
	s.opts.Threads = 1
	_ = s.stop() // what it could say of its end, it has said
	if err := s.open(ctx); err != nil {
		s.stop = func() error { return nil }
		return err
	}
	return ask()
}

func (s *Session) query(ctx context.Context, question string) (a Answer, err error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT COLUMNS(*)::VARCHAR FROM (\n"+question+"\n)")
	if err != nil {
		return a, stopped(ctx, duckErr(question, err))
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
