package payouts

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"spendsync/cmd/internal/cli"
	"spendsync/schema"
)

// MaxSize is larger than any export. A larger file is refused, so that a wrong path cannot fill the disk.
const MaxSize = 1 << 30

// content has the tables that may be in a file. A workbook has one for each sheet. A text has one for each separator.
type content struct {
	tables []eachRecord
	unit   string // what messages call a record: "line" of a text, "row" of a workbook or Parquet
	zero   string // the day with number 0, for files that store days as numbers
}

// eachRecord calls a function with each record and its line number, until the function returns an error. The first line
// has number 1. A Parquet file has no heading line: its column names have number 0. The cells are valid only during the
// call.
type eachRecord func(use func(line int, cells []string) error) error

// others lists the first bytes of files that are not tables, and what the operator should do instead.
var others = []struct{ magic, what string }{
	{"\xd0\xcf\x11\xe0", "it is a workbook of the old form (.xls), or one with a password: save it as .xlsx without " +
		"one, or as CSV"},
	{"\x28\xb5\x2f\xfd", "it is packed with zstd: unpack it, or pack it with gzip"},
	{"%PDF", "it is a PDF: export a table, as CSV, a workbook (.xlsx) or Parquet"},
	{"<", "it is a web page or XML, perhaps of a login that has expired: export a table, as CSV"},
	{"{", "it is JSON: export a table, as CSV, a workbook (.xlsx) or Parquet"},
	{"[", "it is JSON: export a table, as CSV, a workbook (.xlsx) or Parquet"},
}

// separators are the characters between the values of a text that are tried. records.sql has them, too.
const separators = ",;\t|"

// unpack copies a file, and returns the tables that may be in it. Text is converted to UTF-8 without a byte order mark;
// invalid bytes become U+FFFD.
func (r *reader) unpack(ctx context.Context, from, path string) (*content, error) {
	in, err := cli.OpenFile(from, MaxSize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	packed := bufio.NewReader(in)
	if magic, _ := packed.Peek(2); string(magic) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		packed = bufio.NewReader(unpacked)
	}
	start, err := packed.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	isParquet, isZIP := bytes.HasPrefix(start, []byte("PAR1")), bytes.HasPrefix(start, []byte("PK\x03\x04"))
	decoded := io.Reader(packed)
	if !isParquet && !isZIP {
		if err = checkText(start); err != nil {
			return nil, err
		}
		decoded = transform.NewReader(packed, r.decoder(start))
	}
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(out, io.LimitReader(decoded, MaxSize))
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if n == MaxSize {
		return nil, fmt.Errorf("more than %d bytes are in it", MaxSize)
	}
	switch {
	case isParquet:
		return &content{[]eachRecord{r.parquet(ctx, path)}, "row", day0}, nil
	case isZIP:
		return r.workbook(path)
	}
	c := &content{unit: "line", zero: day0}
	for _, comma := range separators {
		c.tables = append(c.tables, text(path, comma))
	}
	return c, nil
}

// checkText returns an error if the first bytes of a file show that it is not text. The error names the type of the
// file.
func checkText(start []byte) error {
	first := strings.TrimLeft(strings.TrimPrefix(string(start), "\ufeff"), " \t\r\n")
	for _, o := range others {
		if strings.HasPrefix(first, o.magic) {
			return errors.New(o.what)
		}
	}
	isUTF16 := strings.HasPrefix(first, "\xff\xfe") || strings.HasPrefix(first, "\xfe\xff")
	if bytes.IndexByte(start, 0) >= 0 && !isUTF16 {
		return errors.New("it is neither text, a workbook nor Parquet: it holds NUL bytes, as UTF-16 without " +
			"its mark does")
	}
	return nil
}

// decoder returns the decoder that converts a text to UTF-8. The encoding is that of the byte order mark, else the
// declared one, else UTF-8. If the first bytes of the file contain no line feed, the decoder also converts carriage
// returns to line feeds.
func (r *reader) decoder(start []byte) transform.Transformer {
	decode := unicode.BOMOverride(runes.ReplaceIllFormed())
	if declared, err := htmlindex.Get(r.setting("encoding")); err == nil {
		decode = unicode.BOMOverride(declared.NewDecoder())
	}
	if bytes.ContainsRune(start, '\n') {
		return decode
	}
	// No line feed was found: lines end with carriage returns, as on old Macs.
	return transform.Chain(decode, runes.Map(func(c rune) rune {
		if c == '\r' {
			return '\n'
		}
		return c
	}))
}

// text returns a function that reads the records of a text file. A quote within a value is part of the value, because
// PHP and spreadsheets write such values. DuckDB's own reader is not used: it does not number lines, skips empty lines,
// and drops the rest of a file after a quote that is not closed.
func text(path string, comma rune) eachRecord {
	return func(use func(line int, cells []string) error) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
		in.Comma, in.LazyQuotes, in.FieldsPerRecord, in.ReuseRecord = comma, true, -1, true
		in.TrimLeadingSpace = comma != '\t'
		for {
			cells, err := in.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			line, _ := in.FieldPos(0)
			if err := use(line, cells); err != nil {
				return err
			}
		}
	}
}

// parquet returns a function that reads a Parquet file: first the column names, then the rows, all as texts.
func (r *reader) parquet(ctx context.Context, path string) eachRecord {
	return func(use func(line int, cells []string) error) error {
		n := -1
		var stopped error
		err := r.db.Each(ctx, "SELECT of_parquet(COLUMNS(*)) FROM read_parquet("+schema.QuoteText(path)+
			", hive_partitioning = false)", func(cells []string) error {
			n++
			stopped = use(n, cells)
			return stopped
		})
		if err != nil && stopped == nil {
			text, _, _ := strings.Cut(err.Error(), "\n")
			return fault{fmt.Errorf("its Parquet is damaged: %s", text)}
		}
		return err
	}
}

// day0 is the day with number 0 in spreadsheets.
const day0 = "1899-12-30"

// workbook returns the sheets of a workbook as tables.
func (r *reader) workbook(path string) (*content, error) {
	book, err := excelize.OpenFile(path, excelize.Options{RawCellValue: true, UnzipSizeLimit: 512 << 20,
		UnzipXMLSizeLimit: 8 << 20, TmpDir: r.db.Dir})
	if errors.Is(err, zip.ErrFormat) {
		return nil, errors.New("it is damaged: its end is missing, as of a workbook that was copied in part")
	} else if err != nil {
		return nil, errors.New("it is a packed file (zip), and no workbook (.xlsx): unpack it and pack one CSV with " +
			"gzip, or save it as a workbook if it is OpenDocument (.ods)")
	}
	c := &content{unit: "row", zero: day0}
	if props, _ := book.GetWorkbookProps(); props.Date1904 != nil && *props.Date1904 {
		c.zero = "1904-01-01"
	}
	for _, sheet := range book.GetSheetList() {
		c.tables = append(c.tables, sheetRows(book, sheet))
	}
	return c, nil
}

// shownAs separates two texts of a workbook's cell: the stored value, and the text that a spreadsheet displays.
const shownAs = "\x1e"

// sheetRows returns a function that reads the rows of a sheet. If a spreadsheet shows something else than what is
// stored, the cell has both, separated by shownAs.
func sheetRows(book *excelize.File, sheet string) eachRecord {
	return func(use func(line int, cells []string) error) error {
		stored, err := book.Rows(sheet)
		if err != nil { // the sheet is a chart
			return nil
		}
		defer stored.Close()
		shown, err := book.Rows(sheet)
		if err != nil {
			return fault{err}
		}
		defer shown.Close()
		for n := 1; stored.Next() && shown.Next(); n++ {
			cells, err := stored.Columns()
			texts, failed := shown.Columns(excelize.Options{})
			if err = errors.Join(err, failed); err != nil {
				return fault{err}
			}
			for i := range min(len(cells), len(texts)) {
				if texts[i] != cells[i] {
					cells[i] += shownAs + texts[i]
				}
			}
			if err = use(n, cells); err != nil {
				return err
			}
		}
		return stored.Error()
	}
}
