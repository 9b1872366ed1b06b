package payouts

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// readFile reads and judges a file, and takes the rows that fit. wrong is why none is taken.
func (r *reader) readFile(ctx context.Context, f *File, id int) (wrong, err error) {
	t, wrong, err := r.open(ctx, f)
	if t == nil || err != nil {
		return wrong, err
	}
	for row, err := range r.db.Rows(ctx, `SELECT is_export AND lacks IS NULL, why, columns, variable, remark, undeclared
		FROM heading, unreadable, shown_columns LEFT JOIN suggestion ON true LEFT JOIN undeclared ON true`) {
		if err != nil {
			return nil, err
		}
		f.IsExport, f.Columns = row[0] == "true", strings.Clone(row[2])
		if row[1] != "" {
			wrong = errors.New(strings.Clone(row[1]))
			if f.Variable, f.Remark = strings.Clone(row[3]), strings.Clone(row[4]); f.Variable != "" {
				wrong = fmt.Errorf("%w; declare %s", wrong, f.Variable)
			}
		} else if row[5] != "" {
			r.find(Remark, 0, f.Path+": not declared, and so not read: "+row[5])
		}
	}
	if wrong != nil {
		return wrong, nil
	}
	if wrong, err = r.stage(ctx, t, id); wrong != nil || err != nil {
		return wrong, err
	}
	wrong, err = r.judge(ctx, f)
	if err == nil && wrong == nil {
		err = r.findAll(ctx, f.Path+": ", "FROM file_finding WHERE getvariable('is_export')")
	}
	return wrong, errors.Join(err, r.db.Exec(ctx, fmt.Sprintf(`INSERT INTO file VALUES (%d, %s, '%s');
		INSERT INTO set_aside SELECT file, n, day, why, raw FROM judged WHERE %t AND class = 'unread' ORDER BY n
			LIMIT 50;
		DELETE FROM line WHERE file = %[1]d AND NOT (%[4]t AND class IN ('fit', 'unknown')); DROP TABLE raw`,
		id, schema.QuoteText(f.Path), t.unit, wrong == nil)))
}

// targets are the columns of the table raw that hold the declared cells.
var targets = []string{"day", "until", "campaign", "creative", "source", "state", "currency", "cut", "clicks",
	"conversions", "approved", "held", "refused", "amount"}

// stage gives the engine the declared cells of a table as texts, which it converts and judges.
func (r *reader) stage(ctx context.Context, t *table, id int) (wrong, err error) {
	types, cells := "n: 'BIGINT', bad: 'VARCHAR'", "file_row_number + 1 AS n, '' AS bad"
	for _, target := range targets {
		var parts []string
		for _, pos := range t.at[target] {
			parts = append(parts, "of_parquet("+schema.Quote(t.names[pos])+")")
		}
		types += fmt.Sprintf(", %s: 'VARCHAR'", target)
		cells += fmt.Sprintf(", %s AS %s", cmp.Or(strings.Join(parts, " || chr(31) || "), "''"), target)
	}
	from := fmt.Sprintf("(SELECT %s FROM read_parquet(%s, file_row_number = true, hive_partitioning = false))", cells,
		schema.QuoteText(t.parquet))
	if t.parquet == "" {
		if from, wrong = r.spool(types, t.cells()); wrong != nil {
			return wrong, nil
		}
	}
	return nil, r.db.Exec(ctx, "CREATE TEMP TABLE raw AS FROM "+from, fmt.Sprintf("SET VARIABLE file = %d; "+
		"SET VARIABLE is_export = %t", id, t.isExport), judgeSQL, verdictSQL)
}

// blanks are around a cell and no part of it.
const blanks = " \t\r\n\u00a0"

// cells returns the declared cells of the records behind the heading, each with its line and why it is broken.
func (t *table) cells() iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		last := slices.Max(slices.Concat(slices.Collect(maps.Values(t.at))...))
		cells := make([]string, 2+len(targets))
		for rec, err := range t.records {
			if err == nil && (rec.line <= t.line || t.isHeading(rec.cells)) {
				continue
			}
			cells[0], cells[1] = strconv.Itoa(rec.line), t.isBroken(rec.cells, last)
			for k, target := range targets {
				cells[2+k] = ""
				for i, pos := range t.at[target] {
					if i > 0 {
						cells[2+k] += "\x1f"
					}
					if pos < len(rec.cells) {
						cells[2+k] += strings.Trim(rec.cells[pos], blanks)
					}
				}
			}
			if !yield(cells, err) {
				return
			}
		}
	}
}

// isHeading reports whether cells are those of the heading, which files that were put together repeat.
func (t *table) isHeading(cells []string) bool {
	return slices.EqualFunc(cells, t.names, func(cell, name string) bool { return strings.Trim(cell, blanks) == name })
}

// spool writes records to a file of the engine's, and returns the table function that reads them.
func (r *reader) spool(columns string, records iter.Seq2[[]string, error]) (from string, err error) {
	path := filepath.Join(r.db.Dir, "records")
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer out.Close()
	w := csv.NewWriter(out)
	for rec, err := range records {
		if err == nil {
			err = w.Write(rec)
		}
		if err != nil {
			return "", err
		}
	}
	w.Flush()
	return fmt.Sprintf(`read_csv(%s, auto_detect=false, header=false, delim=',', quote='"', escape='"', nullstr='\x01',
		parallel=false, buffer_size=4194304, max_line_size=4194304, columns={%s})`, schema.QuoteText(path), columns),
		w.Error()
}

// judge decides whether a file is taken. wrong is why it is not, with the likely cause first.
func (r *reader) judge(ctx context.Context, f *File) (wrong, err error) {
	for row, err := range r.db.Rows(ctx, "SELECT why, rows FROM verdict, shown_rows") {
		if err != nil {
			return nil, err
		}
		if f.Rows = strings.Clone(row[1]); row[0] != "" {
			wrong = errors.New(strings.Clone(row[0]))
		}
	}
	return wrong, nil
}
