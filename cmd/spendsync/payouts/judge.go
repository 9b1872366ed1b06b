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

// fault is an error because of which one file is not used; the other files still are. Errors of any other type end the
// reading of all files.
type fault struct{ error }

// heading is the line of a table that names its columns, and where the declared columns are.
type heading struct {
	table
	line     int
	names    []string
	at       [][]int         // by index in targets: positions of the cells
	last     int             // the last of these positions
	declared map[string]bool // the names of these columns
}

// targets lists the columns of the scratch table raw, which receives the declared cells of a file. Two columns come
// before them: the line number of a record, and what is wrong with it.
var targets = []string{"day", "until", "campaign", "creative", "source", "state", "currency", "cut", "clicks",
	"conversions", "approved", "held", "refused", "amount"}

// firstNumber is the index in targets of the first count. All columns from there on are counts or amounts.
const firstNumber = 8

// readFile reads a file and decides whether it can be used. If so, it adds the rows that fit to the scratch database.
func (r *reader) readFile(ctx context.Context, f *File, id int) error {
	tables, err := r.unpack(ctx, f.Path, filepath.Join(r.db.Dir, "file"))
	now, failed := os.Stat(f.Path)
	if failed != nil {
		err = fmt.Errorf("it cannot be read: %w (SPENDSYNC_PAYOUTS names it)", errors.Unwrap(failed))
	} else if now.Size() != f.size || !now.ModTime().Equal(f.modified) {
		err = errors.New("it changed while it was read: write it under another name and rename it")
	}
	if err != nil {
		return fault{err}
	}
	h, err := r.findHeading(ctx, f, tables)
	if err == nil {
		err = r.spool(ctx, "raw", h.writeCells)
	}
	if err == nil {
		err = r.db.Exec(ctx, fmt.Sprintf("SET VARIABLE file = %d; INSERT INTO file VALUES (%[1]d, %s, '%s')", id,
			schema.QuoteText(f.Path), h.unit), embedded("judge.sql"), embedded("verdict.sql"))
	}
	if err != nil {
		return err
	}
	verdict, err := r.db.Texts(ctx, "FROM decided")
	if err != nil {
		return err
	}
	if f.Rows = verdict[0][1]; verdict[0][0] != "" {
		return fault{errors.New(verdict[0][0])}
	}
	return r.findAll(ctx, f.Path+": ", "FROM file_finding")
}

// findHeading finds the first line that has the needed columns, in any of the tables. It also records in f which
// columns the file has, and for what they are used.
func (r *reader) findHeading(ctx context.Context, f *File, tables []table) (h heading, err error) {
	enough := errors.New("enough")
	if err = r.spool(ctx, "place", func(w *csv.Writer) (err error) {
		for tab, t := range tables {
			if err = t.each(func(line int, cells []string) error {
				if line > 200 { // no report has more lines above its table
					return enough
				}
				for pos, cell := range cells {
					cell, _, _ = strings.Cut(cell, shownAs)
					w.Write([]string{strconv.Itoa(tab), strconv.Itoa(line), strconv.Itoa(pos), trim(cell)})
				}
				return nil
			}); err != nil && err != enough {
				return err
			}
		}
		return nil
	}); err == nil {
		err = r.db.Exec(ctx, fmt.Sprintf("SET VARIABLE unit = '%s'; SET VARIABLE zero = DATE '%s'", tables[0].unit,
			cmp.Or(tables[0].zero, "1899-12-30")), embedded("heading.sql"))
	}
	var outcome [][]string
	if err == nil {
		outcome, err = r.db.Texts(ctx, "SELECT tab, line, is_export, columns, variable, why FROM outcome")
	}
	if err != nil {
		return h, err
	}
	is := outcome[0]
	if f.IsExport, f.Columns, f.Variable = is[2] == "true", is[3], is[4]; is[5] != "" {
		return h, fault{errors.New(is[5])}
	}
	h = heading{table: tables[atoi(is[0])], line: atoi(is[1]), at: make([][]int, len(targets)),
		declared: map[string]bool{}}
	columns, err := r.db.Texts(ctx, "SELECT pos, n.name, target FROM name AS n LEFT JOIN declared USING (pos) "+
		"ORDER BY pos")
	for _, c := range columns {
		pos := atoi(c[0])
		if pos == len(h.names) { // a column may be declared for several targets
			h.names = append(h.names, c[1])
		}
		if target := slices.Index(targets, c[2]); target >= 0 {
			h.at[target], h.last, h.declared[c[1]] = append(h.at[target], pos), pos, true
		}
	}
	return h, err
}

// trim removes blanks, line ends and byte order marks at both ends of a cell.
func trim(cell string) string { return strings.Trim(cell, " \t\r\n\u00a0\ufeff") }

// writeCells writes the declared cells of all records below the heading, as CSV. Each record begins with its line
// number and, if it is incomplete, with what is wrong.
func (h heading) writeCells(w *csv.Writer) error {
	row := make([]string, 2+len(targets))
	return h.each(func(line int, cells []string) error {
		isRow, wrong := h.judge(line, cells)
		if wrong != "" {
			return fault{fmt.Errorf("%s %d: %s", h.unit, line, wrong)}
		}
		if !isRow {
			return nil
		}
		row[0], row[1] = strconv.Itoa(line), h.isBroken(cells)
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
					row[2+k] += trim(stored)
				}
			}
		}
		return w.Write(row)
	})
}

var (
	// aPart matches notes such as "first 500 rows of 1257"; isLimited matches notes such as "limited to 100 rows".
	aPart     = regexp.MustCompile(`\b(\d+)\s?(?:rows?|results?|records?|entries|lines)? (?:out )?of (\d+)\b`)
	isLimited = regexp.MustCompile(`\b(limited to|truncated|only the (first|top|last)) `)
	// ofRows matches notes about the number of rows; ofAmounts matches notes about the currency.
	ofRows    = regexp.MustCompile(`rows|results|records|entries|lines|sources|campaigns|page`)
	ofAmounts = regexp.MustCompile(`amounts|values|figures|` + currencyWords)
)

// note returns why a line shows that the file cannot be used: trackers write such lines if rows are missing, or if
// amounts are in another currency. It returns "" for ordinary lines.
func note(cells []string) string {
	var texts []string
	for _, cell := range cells {
		if cell = trim(cell); cell != "" {
			if texts = append(texts, cell); len(texts) > 2 {
				return ""
			}
		}
	}
	text := squash(strings.Join(texts, " "))
	n := aPart.FindStringSubmatch(strings.ReplaceAll(text, ",", ""))
	if ofRows.MatchString(text) && (isLimited.MatchString(text) || n != nil && atoi(n[1]) < atoi(n[2])) {
		return fmt.Sprintf("%q: rows are missing: export all of them", text)
	}
	if ofAmounts.MatchString(text) && foreign.MatchString(text) {
		return fmt.Sprintf("%q: amounts are US dollars: export them in USD", text)
	}
	return ""
}

// judge reports whether a record is a row of data: it is below the heading and does not repeat the heading. If the
// record shows that the whole file cannot be used, the result wrong has the reason.
func (h heading) judge(line int, cells []string) (isRow bool, wrong string) {
	if wrong = note(cells); wrong != "" || line <= h.line {
		return false, wrong
	}
	names, same := 0, 0
	for pos, cell := range cells {
		if h.comma != "" && strings.Contains(cell, "\n") && strings.Count(cell, h.comma) >= len(h.names)-1 {
			return false, "a quote in it does not end, and takes in the lines after it"
		}
		if cell = trim(cell); h.declared[cell] {
			names++
			if pos < len(h.names) && h.names[pos] == cell {
				same++
			}
		}
	}
	if isRow = same < len(h.declared); isRow && names > 1 {
		wrong = "it is another heading than the one above: export one table"
	}
	return isRow, wrong
}

// isBroken returns what is wrong with a record of a text file, for example too few values. It returns "" if the record
// is complete.
func (h heading) isBroken(cells []string) string {
	columns := len(h.names)
	switch {
	case h.comma == "":
	case len(cells) <= h.last && len(cells) > 1:
		return fmt.Sprintf("it has fewer values than the %d columns of the heading", columns)
	case len(cells) > columns && strings.Contains(strings.Join(cells, h.comma), `\"`):
		return `a quote in it is written \", which ends its value: write it ""`
	case len(cells) > columns && strings.Trim(strings.Join(cells[columns:], ""), " \t") != "":
		return fmt.Sprintf("it has more values than the %d columns of the heading", columns)
	}
	return ""
}

// spool replaces the content of a table of the scratch database. The function write writes the new records as CSV.
func (r *reader) spool(ctx context.Context, table string, write func(*csv.Writer) error) error {
	path := filepath.Join(r.db.Dir, "records")
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	err = write(w)
	w.Flush()
	if err = errors.Join(err, w.Error(), out.Close()); err != nil {
		return err
	}
	return r.db.Exec(ctx, "DELETE FROM "+table, fmt.Sprintf(`COPY %s FROM %s (FORMAT csv, AUTO_DETECT false,
		HEADER false, DELIM ',', QUOTE '"', ESCAPE '"', NULLSTR '\x01', PARALLEL false, BUFFER_SIZE 4194304,
		MAX_LINE_SIZE 4194304)`, table, schema.QuoteText(path)))
}
