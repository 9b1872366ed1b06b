package payouts

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// heading is the line of a table that names its columns.
type heading struct {
	line     int
	isExport bool
	names    []string
	at       [][]int         // for each element of targets, the positions of its columns
	last     int             // the last of these positions
	declared map[string]bool // the names of these columns
}

// targets lists the columns of the table raw in the scratch database. This table has the declared cells of a file.
var targets = []string{"day", "until", "campaign", "creative", "source", "state", "currency", "cut", "clicks",
	"conversions", "approved", "held", "refused", "amount"}

// firstNumber is the index in targets at which the counts and amounts begin.
const firstNumber = 8

// readFile reads and judges a file, and takes the rows that fit. The result wrong tells why no row is taken.
func (r *reader) readFile(ctx context.Context, f *File, id int) (wrong, err error) {
	before, wrong := os.Stat(f.Path)
	if wrong != nil {
		return fmt.Errorf("it cannot be read: %w (SPENDSYNC_PAYOUTS names it)", errors.Unwrap(wrong)), nil
	}
	tables, wrong := r.unpack(ctx, f.Path, filepath.Join(r.db.Dir, "file"))
	if after, failed := os.Stat(f.Path); failed != nil || before.Size() != after.Size() ||
		!before.ModTime().Equal(after.ModTime()) {
		return errors.New("it changed while it was read: write it under another name and rename it"), nil
	}
	if wrong != nil {
		return wrong, nil
	}
	t, h, err := r.findHeading(ctx, tables)
	if err != nil || t == nil {
		return errors.New("it is empty: not even a heading is in it"), err
	}
	if wrong, err = r.judgeHeading(ctx, f); wrong == nil && err == nil {
		wrong, err = r.stage(ctx, t, h, id)
	}
	if wrong != nil || err != nil {
		return wrong, err
	}
	said, err := r.db.Texts(ctx, "SELECT why, rows FROM verdict, shown_rows")
	if err != nil {
		return nil, err
	}
	if f.Rows = said[0][1]; said[0][0] != "" {
		wrong = errors.New(said[0][0])
	} else if err = r.findAll(ctx, f.Path+": ", "FROM file_finding WHERE getvariable('is_export')"); err != nil {
		return nil, err
	}
	return wrong, r.db.Exec(ctx, fmt.Sprintf(`INSERT INTO file VALUES (%d, %s, '%s');
		INSERT INTO set_aside SELECT file, n, day, why, raw FROM judged WHERE %t AND class = 'unread' ORDER BY n
			LIMIT 50;
		DELETE FROM line WHERE file = %[1]d AND NOT (%[4]t AND class IN ('fit', 'unknown')); DROP TABLE raw`,
		id, schema.QuoteText(f.Path), t.unit, wrong == nil))
}

// findHeading returns the table that has the declared columns, and its heading. It returns nil if no table has a line.
func (r *reader) findHeading(ctx context.Context, tables []table) (t *table, h heading, err error) {
	enough := errors.New("enough")
	from, err := r.spool("tab: 'INTEGER', line: 'INTEGER', pos: 'INTEGER', name: 'VARCHAR'", func(w *csv.Writer) error {
		for tab, t := range tables {
			// Errors are ignored here, and reported when the rows are read.
			_ = t.each(func(line int, cells []string) error {
				if line > maxAbove {
					return enough
				}
				for pos, cell := range cells {
					cell, _, _ = strings.Cut(cell, shownAs)
					w.Write([]string{strconv.Itoa(tab), strconv.Itoa(line), strconv.Itoa(pos),
						strings.Trim(cell, blanks)})
				}
				return nil
			})
		}
		return nil
	})
	if err == nil {
		err = r.db.Exec(ctx, fmt.Sprintf("SET VARIABLE unit = '%s'; SET VARIABLE zero = DATE '%s'; DELETE FROM place; "+
			"INSERT INTO place FROM %s", tables[0].unit, cmp.Or(tables[0].zero, "1899-12-30"), from),
			embedded("heading.sql"))
	}
	if err != nil {
		return nil, h, err
	}
	columns, err := r.db.Texts(ctx, "SELECT tab, line, is_export, pos, n.name, target FROM heading, name AS n "+
		"LEFT JOIN declared USING (pos) ORDER BY pos")
	h.at, h.declared = make([][]int, len(targets)), map[string]bool{}
	for _, c := range columns {
		t = &tables[atoi(c[0])]
		h.line, h.isExport = atoi(c[1]), c[2] == "true"
		pos := atoi(c[3])
		if pos == len(h.names) {
			h.names = append(h.names, c[4])
		}
		if target := slices.Index(targets, c[5]); target >= 0 {
			h.at[target], h.last, h.declared[c[4]] = append(h.at[target], pos), pos, true
		}
	}
	return t, h, err
}

// judgeHeading records in f what the heading declares. The result wrong tells why the file cannot be used.
func (r *reader) judgeHeading(ctx context.Context, f *File) (wrong, err error) {
	said, err := r.db.Texts(ctx, `SELECT is_export AND lacks IS NULL, why, columns, variable, remark, undeclared
		FROM heading, unreadable, shown_columns LEFT JOIN suggestion ON true LEFT JOIN undeclared ON true`)
	if err != nil {
		return nil, err
	}
	is := said[0]
	if f.IsExport, f.Columns = is[0] == "true", is[2]; is[1] == "" {
		if is[5] != "" {
			r.find(Remark, 0, f.Path+": not declared, and so not read: "+is[5])
		}
		return nil, nil
	}
	if f.Variable, f.Remark = is[3], is[4]; f.Variable != "" {
		return fmt.Errorf("%s; declare %s", is[1], f.Variable), nil
	}
	return errors.New(is[1]), nil
}

// stage copies the declared cells of a table into the scratch database, as texts. SQL converts and judges them there.
func (r *reader) stage(ctx context.Context, t *table, h heading, id int) (wrong, err error) {
	types, cells := "n: 'BIGINT', bad: 'VARCHAR'", "file_row_number + 1 AS n, '' AS bad"
	for i, target := range targets {
		parts := []string{"''"}
		for k, pos := range h.at[i] {
			parts = append(parts[:k], "of_parquet("+schema.Quote(h.names[pos])+")")
		}
		types += fmt.Sprintf(", %s: 'VARCHAR'", target)
		cells += fmt.Sprintf(", %s AS %s", strings.Join(parts, " || chr(31) || "), target)
	}
	from := fmt.Sprintf("(SELECT %s FROM read_parquet(%s, file_row_number = true, hive_partitioning = false))", cells,
		schema.QuoteText(t.parquet))
	if t.parquet == "" {
		if from, wrong = r.spool(types, func(w *csv.Writer) error { return h.writeCells(w, t) }); wrong != nil {
			return wrong, nil
		}
	}
	return nil, r.db.Exec(ctx, "CREATE TEMP TABLE raw AS FROM "+from, fmt.Sprintf("SET VARIABLE file = %d; "+
		"SET VARIABLE is_export = %t", id, h.isExport), embedded("judge.sql"), embedded("verdict.sql"))
}

// blanks lists the characters that are trimmed from both ends of a cell.
const blanks = " \t\r\n\u00a0\ufeff"

// writeCells writes the declared cells of the records after the heading. Before the cells of a record stand the number
// of its line and, if the record is broken, the reason. An error means that the whole file cannot be used.
func (h heading) writeCells(w *csv.Writer, t *table) error {
	row := make([]string, 2+len(targets))
	return t.each(func(line int, cells []string) error {
		isHeading, why := false, note(cells)
		if line > h.line && why == "" {
			isHeading, why = h.again(cells, t.comma)
		}
		if why != "" {
			return fmt.Errorf("%s %d: %s", t.unit, line, why)
		}
		if line <= h.line || isHeading {
			return nil
		}
		row[0], row[1] = strconv.Itoa(line), h.isBroken(cells, t.comma)
		for k, at := range h.at {
			row[2+k] = ""
			for i, pos := range at {
				if i > 0 {
					row[2+k] += "\x1f"
				}
				if pos < len(cells) {
					stored, shown, isShown := strings.Cut(cells[pos], shownAs)
					if isShown && k >= firstNumber {
						stored = shown
					}
					row[2+k] += strings.Trim(stored, blanks)
				}
			}
		}
		return w.Write(row)
	})
}

var (
	aNumber = regexp.MustCompile(`^\s*[0-9]`)
	// aPart matches a note such as "first 500 rows of 1257".
	aPart = regexp.MustCompile(`\b(\d+)\s?(?:rows?|results?|records?|entries|lines)? (?:out )?of (\d+)\b`)
	// ofRows matches a note about the number of rows, ofAmounts a note about the currency.
	ofRows    = regexp.MustCompile(`rows|results|records|entries|lines|page`)
	ofAmounts = regexp.MustCompile(`amounts|values|figures|` + currencyWords)
)

// note returns why a line is a reason to refuse the file: it is a note that rows are missing, or that amounts are in
// another currency. It returns "" for all other lines.
func note(cells []string) string {
	var texts []string
	for _, cell := range cells {
		if cell = strings.Trim(cell, blanks); cell != "" {
			if texts = append(texts, cell); len(texts) > 2 {
				return ""
			}
		}
	}
	text := squash(strings.Join(texts, " "))
	if n := aPart.FindStringSubmatch(strings.ReplaceAll(text, ",", "")); n != nil && atoi(n[1]) < atoi(n[2]) &&
		ofRows.MatchString(text) {
		return fmt.Sprintf("%q: rows are missing: export all of them", text)
	}
	if ofAmounts.MatchString(text) && foreign.MatchString(text) {
		return fmt.Sprintf("%q: amounts are US dollars: export them in USD", text)
	}
	return ""
}

// again reports whether a record repeats the heading, as in files that were concatenated. If the rest of the file
// cannot be read, the result why tells the reason.
func (h heading) again(cells []string, comma string) (is bool, why string) {
	if comma != "" && slices.ContainsFunc(cells, func(cell string) bool {
		return strings.Contains(cell, "\n") && strings.Count(cell, comma) >= len(h.names)-1
	}) {
		return false, "a quote in it does not end, and takes in the lines after it"
	}
	if day := h.at[0][0]; day < len(cells) && aNumber.MatchString(cells[day]) {
		return false, ""
	}
	names, same := 0, 0
	for pos, cell := range cells {
		if cell = strings.Trim(cell, blanks); h.declared[cell] {
			names++
			if pos < len(h.names) && h.names[pos] == cell {
				same++
			}
		}
	}
	if is = same >= len(h.declared); names > 1 && !is {
		why = "it is another heading than the one above: export one table"
	}
	return is, why
}

// isBroken returns why a record of a text file cannot be read completely, or "" if it can.
func (h heading) isBroken(cells []string, comma string) string {
	columns := len(h.names)
	switch {
	case comma == "":
	case len(cells) <= h.last && len(cells) > 1:
		return fmt.Sprintf("it has fewer values than the %d columns of the heading", columns)
	case len(cells) > columns && strings.Contains(strings.Join(cells, comma), `\"`):
		return `a quote in it is written \", which ends its value: write it ""`
	case len(cells) > columns && strings.Trim(strings.Join(cells[columns:], ""), " \t") != "":
		return fmt.Sprintf("it has more values than the %d columns of the heading", columns)
	}
	return ""
}

// spool writes records to a file for DuckDB, and returns the SQL table function that reads the file.
func (r *reader) spool(columns string, write func(*csv.Writer) error) (from string, err error) {
	path := filepath.Join(r.db.Dir, "records")
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	w := csv.NewWriter(out)
	err = write(w)
	w.Flush()
	return fmt.Sprintf(`read_csv(%s, auto_detect=false, header=false, delim=',', quote='"', escape='"', nullstr='\x01',
		parallel=false, buffer_size=4194304, max_line_size=4194304, columns={%s})`, schema.QuoteText(path), columns),
		errors.Join(err, w.Error(), out.Close())
}
