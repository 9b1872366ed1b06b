package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"spendsync/load/durable"
)

// Session runs our own queries on the published DuckDB file. Unlike [Ask], it does not check the queries first. All
// results are from the generation that was published when the session started.
type Session struct {
	conn    *sql.Conn
	stop    func() error
	tempDir string
	scratch *durable.Scratch // a private folder, which few queries need; nil if none could be created
}

// MaxSpill bounds the data that a session moves from memory into its folder.
const MaxSpill = "1GiB"

// OpenSession opens the published DuckDB file read-only. The session must be closed.
func OpenSession(ctx context.Context, dir string, o Options) (*Session, error) {
	return openSession(ctx, dir, FileName, o)
}

// openSession opens a DuckDB file below the data directory.
func openSession(ctx context.Context, dir, name string, o Options) (*Session, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, durable.Storage(err)
	}
	path := filepath.Join(dir, name)
	if !durable.Exists(path) {
		return nil, fmt.Errorf("%s: %w", dir, durable.ErrEmpty)
	}
	s := &Session{tempDir: filepath.Join(os.TempDir(), "spendsync-without")}
	if s.scratch, err = durable.MakeScratch(""); err == nil {
		s.tempDir = s.scratch.Dir
	}
	o.keepOrder, o.attach, o.maxSpill = true, path, MaxSpill
	if s.conn, s.stop, err = openEngine(ctx, o, s.tempDir, s.tempDir); err != nil {
		s.stop = func() error { return nil }
		return nil, errors.Join(openErr(err), s.Close())
	}
	return s, nil
}

// Close ends the session.
func (s *Session) Close() error {
	err := s.stop()
	if s.scratch != nil {
		err = errors.Join(err, s.scratch.Remove())
	}
	return err
}

// Query returns the whole result of a query in memory.
func (s *Session) Query(ctx context.Context, query string) (a TextTable, err error) {
	for row, err := range texts(ctx, s.conn, query) {
		if err != nil {
			return a, stopped(ctx, duckErr(query, err))
		}
		a.Rows = append(a.Rows, slices.Clone(row))
	}
	for _, name := range a.Rows[0] {
		a.Columns = append(a.Columns, name.V)
	}
	a.Rows = a.Rows[1:]
	return a, nil
}

// Define runs statements of our own that later queries need, for example CREATE MACRO. The statements change only the
// engine's memory.
func (s *Session) Define(ctx context.Context, statements ...string) error {
	return execAll(ctx, s.conn, statements)
}
