package duck

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/oklog/ulid/v2"
)

// Scratch is an engine with a folder of its own, in which it reads files, and keeps what exceeds its memory limit.
type Scratch struct {
	Dir string // exists, and is removed by Close; the engine reads the files in it

	conn *sql.Conn
	stop func() error
}

// OpenScratch starts an engine that reads files in its folder, the DuckDB file named attach, as w, and nothing else.
// attach may be empty. It must be closed.
func OpenScratch(ctx context.Context, o Options, attach string) (s *Scratch, err error) {
	s = &Scratch{Dir: filepath.Join(o.TempDir, "spendsync-files-"+ulid.Make().String())}
	if o.TempDir == "" {
		s.Dir = filepath.Join(os.TempDir(), filepath.Base(s.Dir))
	}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return nil, err
	}
	o.keepOrder, o.attach = true, attach
	if s.conn, s.stop, err = openEngine(ctx, o, s.Dir, s.Dir); err != nil {
		return nil, errors.Join(openErr(err), os.RemoveAll(s.Dir))
	}
	return s, nil
}

// Close ends the engine and removes its folder.
func (s *Scratch) Close() error { return errors.Join(s.stop(), os.RemoveAll(s.Dir)) }

// Exec runs statements in order and stops at the first error.
func (s *Scratch) Exec(ctx context.Context, statements ...string) error {
	for _, q := range statements {
		if _, err := s.conn.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Rows returns the rows of a query as texts, NULL as an empty one. A row is valid until the next one. Nothing follows
// an error.
func (s *Scratch) Rows(ctx context.Context, query string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		var row []string // nil: the names come first
		for values, err := range texts(ctx, s.conn, query) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range row {
				row[i] = values[i].V
			}
			if row != nil && !yield(row, nil) {
				return
			}
			row = slices.Grow(row, len(values))[:len(values)]
		}
	}
}
