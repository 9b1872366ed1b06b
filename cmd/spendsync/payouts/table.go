package payouts

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	// sampled is how many rows show what a column holds.
	sampled = 2000
)

// table is a file as records of texts with its heading.
type table struct {
	records iter.Seq2[record, error] // of Parquet only the first ones
	unit    string                   // what is counted: line, or row of a workbook or Parquet
	line    int                      // of the heading
	comma   string                   // between the values of a text; empty: it is none
	parquet string                   // path of its copy; empty: it is none
	foreign map[int]string           // columns of a workbook, with a value shown in another currency
	*heading
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
func (r *reader) open(ctx context.Context, f *File) (t *table, wrong error) {
	before, err := os.Stat(f.Path)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w (SPENDSYNC_PAYOUTS names it)", errors.Unwrap(err))
	}
	tables, err := r.unpack(ctx, f.Path, filepath.Join(r.db.Dir, "file"))
	if after, failed := os.Stat(f.Path); failed != nil || before.Size() != after.Size() ||
		!before.ModTime().Equal(after.ModTime()) {
		return nil, errors.New("it changed while it was read: write it under another name and rename it")
	}
	if err != nil {
		return nil, err
	}
	complete := 0
	for _, of := range tables {
		is := r.withHeading(of)
		if is != nil && len(is.missing) == 0 {
			complete++
		}
		if is.nearness() > t.nearness() {
			t = is
		}
	}
	switch {
	case t == nil:
		return nil, errors.New("it is empty: not even a heading is in it")
	case complete > 1:
		return t, fmt.Errorf("%d sheets of it have the declared columns: export one", complete)
	case complete == 1:
		return t, t.wrong
	}
	why := fmt.Sprintf("no line of it has the declared columns: %s %d lacks %s; its columns are %s", t.unit, t.line,
		strings.Join(t.missing, ", "), strings.Join(t.names, ", "))
	if strings.Contains(why, "\ufffd") {
		why = "it is not UTF-8: declare its encoding, for example encoding=windows-1251, in " + Variable + "; " + why
	}
	return t, errors.New(why)
}

// withHeading returns a table with its heading: the first line with the declared columns, or else the line that is
// nearest to one. nil: it has no line.
func (r *reader) withHeading(of table) (best *table) {
	var above error // a line above the heading names the currency
	for rec, err := range of.records {
		if err != nil || rec.line > maxAbove {
			break
		}
		is := of
		is.line, is.heading = rec.line, r.headingOf(rec.cells)
		if len(is.missing) == 0 {
			is.wrong = cmp.Or(is.wrong, above)
			for _, i := range slices.Concat(is.at["revenue"], is.at["payout"]) {
				is.wrong = cmp.Or(is.wrong, inUSD(is.list([]int{i}), is.names[i]+" "+of.foreign[i]))
			}
			return &is
		}
		if is.has("currency") {
			above = inUSD(fmt.Sprintf("by %s %d the file", of.unit, rec.line), strings.Join(rec.cells, " "))
		}
		if is.nearness() > best.nearness() {
			best = &is
		}
	}
	return best
}

// nearness is how near a line is to being the heading.
func (t *table) nearness() int {
	switch {
	case t == nil:
		return -1
	case len(t.missing) == 0:
		return math.MaxInt
	}
	return len(t.at)<<32 + len(t.names)
}

// unpack copies a file and returns the tables that may be in it: the sheets of a workbook, or a text with each of the
// marks that may be between its values. Text becomes UTF-8 without a mark; bytes that are not of its encoding become
// U+FFFD.
func (r *reader) unpack(ctx context.Context, from, path string) (tables []table, err error) {
	in, _, err := cli.OpenFile(from, MaxSize)
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
		"hive_partitioning = false) LIMIT %d) TO %s (FORMAT csv, HEADER)", schema.QuoteText(path), sampled,
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
		t := table{unit: "row", foreign: map[int]string{}, records: sheetRows(book, sheet)}
		if isForeign {
			for rec := range sheetRows(book, sheet, excelize.Options{}) {
				for i, cell := range rec.cells {
					if foreign.MatchString(squash(cell)) {
						t.foreign[i] = cell
					}
				}
			}
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// sheetRows returns the rows of a sheet: as they are stored, or as the formats of their cells show them.
func sheetRows(book *excelize.File, sheet string, as ...excelize.Options) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		rows, err := book.Rows(sheet)
		if err != nil { // a chart
			return
		}
		for n := 1; rows.Next(); n++ {
			cells, err := rows.Columns(as...)
			if !yield(record{n, cells}, err) || err != nil {
				_ = rows.Close()
				return
			}
		}
		if err := errors.Join(rows.Error(), rows.Close()); err != nil {
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
