package payouts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"spendsync/cmd/internal/cli"
	"spendsync/schema"
)

const (
	// MaxSize exceeds any export: a wrong path must not fill the disk.
	MaxSize = 1 << 30
	// maxAbove is how many records may stand above the heading.
	maxAbove = 200
)

// table is a file as records of texts with its heading.
type table struct {
	records iter.Seq2[record, error] // of Parquet only the first ones
	unit    string                   // what is counted: line, or row of a workbook or Parquet
	comma   string                   // between the values of a text; empty: it is none
	parquet string                   // path of its copy; empty: it is none

	line     int // of the heading
	isExport bool
	names    []string         // in the heading
	at       map[string][]int // columns in the heading, by the column of raw that they are for
}

// record is a record of a file. It is valid until the next one.
type record struct {
	line  int // from 1
	cells []string
}

// others are the first bytes of what is no table, and what to do about it.
var others = []struct{ magic, what string }{
	{"\xd0\xcf\x11\xe0", "it is a workbook of the old form (.xls): save it as .xlsx or CSV"},
	{"\x28\xb5\x2f\xfd", "it is packed with zstd: unpack it, or pack it with gzip"},
	{"%PDF", "it is a PDF: export a table, as CSV, a workbook (.xlsx) or Parquet"},
	{"<", "it is a web page or XML, perhaps of a login that has expired: export a table, as CSV"},
	{"{", "it is JSON: export a table, as CSV, a workbook (.xlsx) or Parquet"},
	{"[", "it is JSON: export a table, as CSV, a workbook (.xlsx) or Parquet"},
}

// open copies a file, so that later changes of it do no harm, and finds its heading. The table is nil if the file has
// no line. wrong is the reason why none of it can be read.
func (r *reader) open(ctx context.Context, f *File) (t *table, wrong, err error) {
	before, wrong := os.Stat(f.Path)
	if wrong != nil {
		return nil, fmt.Errorf("it cannot be read: %w (SPENDSYNC_PAYOUTS names it)", errors.Unwrap(wrong)), nil
	}
	tables, wrong := r.unpack(ctx, f.Path, filepath.Join(r.db.Dir, "file"))
	if after, failed := os.Stat(f.Path); failed != nil || before.Size() != after.Size() ||
		!before.ModTime().Equal(after.ModTime()) {
		return nil, errors.New("it changed while it was read: write it under another name and rename it"), nil
	}
	if wrong != nil {
		return nil, wrong, nil
	}
	from, err := r.spool("tab: 'INTEGER', line: 'INTEGER', pos: 'INTEGER', name: 'VARCHAR'", firstCells(tables))
	if err == nil {
		err = r.db.Exec(ctx, fmt.Sprintf("SET VARIABLE unit = '%s'", tables[0].unit), "DELETE FROM place; "+
			"INSERT INTO place FROM "+from, headingSQL)
	}
	if err != nil {
		return nil, nil, err
	}
	for row, err := range r.db.Rows(ctx, "SELECT tab, line, is_export FROM heading") {
		if err != nil {
			return nil, nil, err
		}
		t = &tables[atoi(row[0])]
		t.line, t.isExport = atoi(row[1]), row[2] == "true"
	}
	if t == nil {
		return nil, errors.New("it is empty: not even a heading is in it"), nil
	}
	return t, nil, r.readHeading(ctx, t)
}

// readHeading reads the names of the heading, and which of its columns are declared.
func (r *reader) readHeading(ctx context.Context, t *table) error {
	t.at = map[string][]int{}
	for row, err := range r.db.Rows(ctx, "SELECT pos, n.name, target FROM name AS n LEFT JOIN declared USING (pos) "+
		"ORDER BY pos") {
		if err != nil {
			return err
		}
		pos, target := atoi(row[0]), strings.Clone(row[2])
		if pos == len(t.names) {
			t.names = append(t.names, strings.Clone(row[1]))
		}
		if target != "" {
			t.at[target] = append(t.at[target], pos)
		}
	}
	return nil
}

// firstCells returns the cells of the first records of tables, each with its table, line and column.
func firstCells(tables []table) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for tab, t := range tables {
			for rec, err := range t.records {
				if err != nil || rec.line > maxAbove {
					break
				}
				for pos, cell := range rec.cells {
					if !yield([]string{strconv.Itoa(tab), strconv.Itoa(rec.line), strconv.Itoa(pos),
						strings.Trim(cell, blanks)}, nil) {
						return
					}
				}
			}
		}
	}
}

// unpack copies a file and returns the tables that may be in it: the sheets of a workbook, or a text with each of the
// marks that may be between its values. Text becomes UTF-8 without a mark; bytes that are not of its encoding become
// U+FFFD.
func (r *reader) unpack(ctx context.Context, from, path string) (tables []table, err error) {
	in, err := cli.OpenFile(from, MaxSize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	content := bufio.NewReader(in)
	if magic, _ := content.Peek(2); string(magic) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(content)
		if err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		content = bufio.NewReader(unpacked)
	}
	start, err := content.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	isBinary := bytes.HasPrefix(start, []byte("PAR1")) || bytes.HasPrefix(start, []byte("PK\x03\x04"))
	decoded := io.Reader(content)
	if !isBinary {
		if err = checkText(start); err != nil {
			return nil, err
		}
		decoded = transform.NewReader(content, r.decoder(start))
	}
	if err = copyTo(path, decoded); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	switch {
	case bytes.HasPrefix(start, []byte("PAR1")):
		return r.parquet(ctx, path)
	case isBinary:
		return r.workbook(path)
	}
	for _, comma := range ",;\t|" {
		tables = append(tables, table{unit: "line", comma: string(comma), records: text(path, comma)})
	}
	return tables, nil
}

func copyTo(path string, content io.Reader) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(content, MaxSize))
	if err == nil && n == MaxSize {
		err = fmt.Errorf("more than %d bytes are in it", MaxSize)
	}
	return errors.Join(err, out.Close())
}

// checkText returns what else a file is if it is no text.
func checkText(start []byte) error {
	first := strings.TrimLeft(strings.TrimPrefix(string(start), "\ufeff"), " \t\r\n")
	for _, o := range others {
		if strings.HasPrefix(first, o.magic) {
			return errors.New(o.what)
		}
	}
	isUTF16 := bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff"))
	if bytes.IndexByte(start, 0) >= 0 && !isUTF16 {
		return errors.New("it is neither text, a workbook nor Parquet: it holds NUL bytes, as UTF-16 without " +
			"its mark does")
	}
	return nil
}

// decoder decodes text that starts like this.
func (r *reader) decoder(start []byte) transform.Transformer {
	decode := unicode.BOMOverride(runes.ReplaceIllFormed())
	if declared, err := htmlindex.Get(r.setting("encoding")); err == nil {
		decode = unicode.BOMOverride(declared.NewDecoder())
	}
	if bytes.ContainsRune(start, '\n') {
		return decode
	}
	return transform.Chain(decode, runes.Map(func(c rune) rune { // line ends of old
		if c == '\r' {
			return '\n'
		}
		return c
	}))
}

// text returns the records of a text. A quote within a value is part of it, as PHP and spreadsheets write it. DuckDB's
// reader numbers no lines, skips empty ones, and drops the end of a file behind a quote that does not end.
func text(path string, comma rune) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(record{}, err)
			return
		}
		defer f.Close()
		in := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
		in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = comma, true, -1, true
		in.TrimLeadingSpace = comma != '\t'
		for {
			cells, err := in.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			line := 0
			if err == nil {
				line, _ = in.FieldPos(0)
			}
			if !yield(record{line, cells}, err) || err != nil {
				return
			}
		}
	}
}

// parquet makes a text of the first rows of a Parquet file.
func (r *reader) parquet(ctx context.Context, path string) ([]table, error) {
	if err := r.db.Exec(ctx, fmt.Sprintf("COPY (SELECT of_parquet(COLUMNS(*)) FROM read_parquet(%s, "+
		"hive_partitioning = false) LIMIT %d) TO %s (FORMAT csv, HEADER)", schema.QuoteText(path), maxAbove,
		schema.QuoteText(path+".csv"))); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("its Parquet is damaged: %s", text)
	}
	return []table{{unit: "row", parquet: path, records: text(path+".csv", ',')}}, nil
}

// workbook returns the sheets of a workbook.
func (r *reader) workbook(path string) (tables []table, err error) {
	book, err := excelize.OpenFile(path, excelize.Options{RawCellValue: true, UnzipSizeLimit: 512 << 20,
		UnzipXMLSizeLimit: 8 << 20, TmpDir: r.db.Dir})
	if err != nil {
		return nil, errors.New("it is a packed file (zip), and no workbook (.xlsx): unpack it and pack one CSV with " +
			"gzip, or save it as a workbook if it is OpenDocument (.ods)")
	}
	if props, _ := book.GetWorkbookProps(); props.Date1904 != nil && *props.Date1904 {
		return nil, errors.New("it is a workbook that counts its days from 1904: save it as CSV")
	}
	isForeign := false // an amount may name another currency in its format
	for id := 0; ; id++ {
		style, err := book.GetStyle(id)
		if err != nil {
			break
		}
		isForeign = isForeign || style.CustomNumFmt != nil && foreign.MatchString(squash(*style.CustomNumFmt))
	}
	for _, sheet := range book.GetSheetList() {
		var named []string // by column, a text in another currency
		if isForeign {
			for rec := range sheetRows(book, sheet, nil, excelize.Options{}) {
				named = append(named, make([]string, max(0, len(rec.cells)-len(named)))...)
				for i, cell := range rec.cells {
					if foreign.MatchString(squash(cell)) {
						named[i] = cell
					}
				}
			}
		}
		tables = append(tables, table{unit: "row", records: sheetRows(book, sheet, named)})
	}
	return tables, nil
}

// sheetRows returns a record 0, and the rows of a sheet, as they are stored or as the formats of their cells show them.
func sheetRows(book *excelize.File, sheet string, zero []string, as ...excelize.Options) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		rows, err := book.Rows(sheet)
		if err != nil { // a chart
			return
		}
		more := yield(record{0, zero}, nil)
		for n := 1; more && rows.Next(); n++ {
			cells, err := rows.Columns(as...)
			more = yield(record{n, cells}, err) && err == nil
		}
		if err := errors.Join(rows.Error(), rows.Close()); more && err != nil {
			yield(record{}, err)
		}
	}
}

// isBroken returns why a record as a whole cannot be read; empty: it can. last is the last declared column.
func (t *table) isBroken(cells []string, last int) string {
	of := len(t.names)
	switch {
	case t.comma == "":
	case slices.ContainsFunc(cells, func(cell string) bool {
		return strings.Contains(cell, "\n") && strings.Count(cell, t.comma) >= of-1
	}):
		return "a quote in it does not end, and takes in the lines after it"
	case len(cells) <= last && len(cells) > 1:
		return fmt.Sprintf("it has fewer values than the %d columns of the heading", of)
	case len(cells) > of && strings.Trim(strings.Join(cells[of:], ""), " \t") != "":
		return fmt.Sprintf("it has more values than the %d columns of the heading", of)
	}
	return ""
}
