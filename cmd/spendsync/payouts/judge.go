package payouts

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
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

// fault is an error in one file: this file is not used, but the other files are. Errors of any other type end the
// reading of all files.
type fault struct{ error }

// Heading is the line of a table that names its columns. It is a row of the view outcome in heading.sql.
type Heading struct {
	table
	Tab, Line int    // the number of the table in the file, and the number of the line in the table
	Why       string // why the file cannot be read; empty if it can be read
	IsExport  bool   `json:"is_export"`
	// Columns describes all columns, and which of them are used, in the syntax of SPENDSYNC_TRACKER_COLUMNS.
	Columns string
	// Variable is the value of SPENDSYNC_TRACKER_COLUMNS that would declare the columns of a recognized tracker's
	// export. It is empty if no tracker was recognized, or if the columns are declared already.
	Variable string
	Names    []string         // of all columns
	Declared map[string][]int // positions of the used columns, by their heading in the file
	At       map[string][]int // positions of the used columns, by their name in targets
	Last     int              // the highest position of a used column
}

// targets lists the columns of the scratch table raw, which receives the declared cells of a file. In that table, two
// columns precede them: the line number of a record, and what is wrong with the record.
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
	if err = r.findHeading(ctx, f, tables); err == nil {
		err = r.spool(ctx, "raw", f.writeCells)
	}
	if err == nil {
		err = r.db.Exec(ctx, fmt.Sprintf("SET VARIABLE file = %d; INSERT INTO file VALUES (%[1]d, %s, '%s')", id,
			schema.QuoteText(f.Path), f.unit), embedded("judge.sql"), embedded("verdict.sql"))
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
	return nil
}

// findHeading finds the first line that has the needed columns, in any of the tables, and sets f.Heading.
func (r *reader) findHeading(ctx context.Context, f *File, tables []table) (err error) {
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
		outcome, err = r.db.Texts(ctx, "SELECT to_json(outcome) FROM outcome")
	}
	if err == nil {
		err = json.Unmarshal([]byte(outcome[0][0]), &f.Heading)
	}
	if f.table = tables[f.Tab]; err == nil && f.Why != "" {
		return fault{errors.New(f.Why)}
	}
	return err
}

// trim removes blanks, line ends and byte order marks at both ends of a cell.
func trim(cell string) string { return strings.Trim(cell, " \t\r\n\u00a0\ufeff") }

// writeCells writes the declared cells of all records below the heading, as CSV. Each record begins with its line
// number and, if it is incomplete, with what is wrong.
func (h Heading) writeCells(w *csv.Writer) error {
	row, positions := make([]string, 2+len(targets)), [][]int(nil)
	for _, target := range targets {
		positions = append(positions, h.At[target])
	}
	return h.each(func(line int, cells []string) error {
		isRow, wrong := h.judge(line, cells)
		if wrong != "" {
			return fault{fmt.Errorf("%s %d: %s", h.unit, line, wrong)}
		}
		if !isRow {
			return nil
		}
		row[0], row[1] = strconv.Itoa(line), h.isBroken(cells)
		for k, at := range positions {
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
	// aPart matches a note such as "first 500 rows of 1257"; isLimited matches a note such as "limited to 100 rows".
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
// record shows that the whole file cannot be used, judge also returns the reason.
func (h Heading) judge(line int, cells []string) (isRow bool, wrong string) {
	if wrong = note(cells); wrong != "" || line <= h.Line {
		return false, wrong
	}
	names, same := 0, 0
	for pos, cell := range cells {
		if h.comma != "" && strings.Contains(cell, "\n") && strings.Count(cell, h.comma) >= len(h.Names)-1 {
			return false, "a quote in it does not end, and takes in the lines after it"
		}
		if at := h.Declared[trim(cell)]; at != nil {
			names++
			if slices.Contains(at, pos) {
				same++
			}
		}
	}
	if isRow = same < len(h.Declared); isRow && names > 1 {
		wrong = "it is another heading than the one above: export one table"
	}
	return isRow, wrong
}

// isBroken returns what is wrong with a record of a text file, for example too few values. It returns "" if the record
// is complete.
func (h Heading) isBroken(cells []string) string {
	columns := len(h.Names)
	switch {
	case h.comma == "":
	case len(cells) <= h.Last && len(cells) > 1:
		return fmt.Sprintf("it has fewer values than the %d columns of the heading", columns)
	case len(cells) > columns && strings.Contains(strings.Join(cells, h.comma), `\"`):
		return `a quote in it is written \", which ends its value: write it ""`
	case len(cells) > columns && strings.Trim(strings.Join(cells[columns:], ""), " \t") != "":
		return fmt.Sprintf("it has more values than the %d columns of the heading", columns)
	}
	return ""
}

// spool replaces the content of a table of the scratch database. The given function writes the new records as CSV.
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
