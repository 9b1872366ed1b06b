package payouts

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"spendsync/schema"
)

// fault is an error in one file: this file is not used, but the other files are. Errors of any other type end the
// reading of all files.
type fault struct{ error }

// readFile reads a file and decides whether it can be used. If so, it adds the rows that fit to the scratch database.
func (r *reader) readFile(ctx context.Context, f *File, id int) error {
	c, err := r.unpack(ctx, f.Path, filepath.Join(r.db.Dir, "file"))
	now, failed := os.Stat(f.Path)
	if failed != nil {
		err = fmt.Errorf("it cannot be read: %w (SPENDSYNC_PAYOUTS names it)", errors.Unwrap(failed))
	} else if now.Size() != f.size || !now.ModTime().Equal(f.modified) {
		err = errors.New("it changed while it was read: write it under another name and rename it")
	}
	if err != nil {
		return fault{err}
	}
	var heading, verdict [][]string
	if err = r.spool(ctx, c, c.tables, firstLines); err == nil {
		err = r.db.Exec(ctx, fmt.Sprintf("SET VARIABLE file = %d; SET VARIABLE path = %s; SET VARIABLE unit = '%s'; "+
			"SET VARIABLE zero = DATE '%s'", id, schema.QuoteText(f.Path), c.unit, c.zero), embedded("heading.sql"))
	}
	if err == nil {
		heading, err = r.db.Texts(ctx, "SELECT tab, is_export, columns, variable, why, fill FROM outcome")
	}
	if err != nil {
		return err
	}
	is := heading[0]
	f.IsExport, f.Columns, f.Variable = is[1] == "true", is[2], is[3]
	if is[4] != "" {
		return fault{errors.New(is[4])}
	}
	tab := atoi(is[0])
	if err = r.spool(ctx, c, c.tables[tab:tab+1], math.MaxInt); err == nil {
		err = r.db.Exec(ctx, embedded("records.sql"), is[5], embedded("judge.sql"), embedded("verdict.sql"))
	}
	if err == nil {
		verdict, err = r.db.Texts(ctx, "FROM decided")
	}
	if err != nil {
		return err
	}
	if f.Rows = verdict[0][1]; verdict[0][0] != "" {
		return fault{errors.New(verdict[0][0])}
	}
	return nil
}

// firstLines is the number of lines in which the heading is searched. No report has more lines above its table.
const firstLines = 200

// maxRecord is longer than any record, in bytes.
const maxRecord = 1 << 20

// spool writes the records of tables to the file that the view record reads: of each table the given number at most.
// The cells of a record become one text, with \x1f between them.
func (r *reader) spool(ctx context.Context, c *content, tables []eachRecord, limit int) error {
	out, err := os.Create(filepath.Join(r.db.Dir, "records"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	for tab, each := range tables {
		failed := each(func(line int, cells []string) error {
			for i, cell := range cells {
				cells[i] = strings.ReplaceAll(strings.TrimFunc(cell, isBlank), "\x1f", " ")
			}
			// DuckDB wants line ends of one kind.
			text := strings.ReplaceAll(strings.Join(cells, "\x1f"), "\r", "\n")
			switch {
			case line > limit || len(text) > maxRecord && limit == firstLines: // perhaps of a wrong separator
				return io.EOF
			case len(text) > maxRecord:
				return fault{fmt.Errorf("%s %d: it has more than %d bytes: a quote in it may not end", c.unit, line,
					maxRecord)}
			}
			return w.Write([]string{strconv.Itoa(tab), strconv.Itoa(line), text})
		})
		if failed != io.EOF {
			err = errors.Join(err, failed)
		}
	}
	w.Flush()
	return errors.Join(err, w.Error(), out.Close())
}

// isBlank reports whether a character is trimmed at both ends of a cell: a blank or a byte order mark. A line feed
// stays, for only a quoted cell has one.
func isBlank(c rune) bool { return c != '\n' && unicode.IsSpace(c) || c == '\ufeff' }
