package payouts

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"spendsync/cmd/internal/files"
	"spendsync/schema"
)

// MaxSize exceeds any export: a wrong path must not fill the disk.
const MaxSize = 1 << 30

// file is one of the operator's files, as the engine reads it.
type file struct {
	path  string
	id    int      // of this reading of it
	hash  string   // of its bytes
	from  string   // SQL that reads it as texts, in the file's order
	names []string // its columns
	first int      // the line or row of its first row
	unit  string   // what is counted: "line" or "row"

	isExport bool
	at       map[string]int // our columns in names
	decimal  string         // mark of its numbers
	order    string         // of day and month in its days; empty: they leave one reading
	isCut    bool           // a quote does not end: the engine drops the last line
	rejects  string         // the engine's table of lines that it could not split; empty: none
	rejected []int          // these lines
}

// lineOf returns the line of a row by its number among those that were read.
func (f *file) lineOf(n string) int {
	number, _ := strconv.Atoi(n)
	line := number - 1 + f.first
	for _, r := range f.rejected {
		if r <= line {
			line++
		}
	}
	return line
}

// placeOf names a row of the file by its number among those that were read.
func (f *file) placeOf(n string) string { return fmt.Sprintf("%s %d", f.unit, f.lineOf(n)) }

// others are the first bytes of what is no table, and what to do about it.
var others = []struct{ magic, what string }{
	{"\xd0\xcf\x11\xe0", "it is a workbook of the old form (.xls); save it as .xlsx or CSV"},
	{"\x28\xb5\x2f\xfd", "it is packed with zstd; unpack it, or pack it with gzip"},
	{"%PDF", "it is a PDF; export CSV, a workbook, JSON or Parquet"},
	{"<", "it is a web page or XML, perhaps of a login that has expired; export CSV, a workbook, JSON or Parquet"},
}

// attempts is how often a file is copied that changes meanwhile.
const attempts = 3

// open copies a file, which nothing changes from here on, and learns what it is.
func (r *reader) open(ctx context.Context, f *file) error {
	path := filepath.Join(r.db.Dir, fmt.Sprintf("file%d", f.id))
	var start []byte
	for attempt := 1; ; attempt++ {
		before, err := os.Stat(f.path)
		if err != nil {
			return fmt.Errorf("SPENDSYNC_PAYOUTS names it, and it cannot be read: %w", errors.Unwrap(err))
		}
		start, err = f.copyTo(path)
		after, failed := os.Stat(f.path)
		if failed == nil && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()) {
			if err != nil {
				return err
			}
			break
		}
		if attempt == attempts {
			return fmt.Errorf("it changed while it was read, %d times; write it under another name and rename it",
				attempts)
		}
		time.Sleep(time.Second)
	}
	text := strings.TrimLeft(string(start), " \t\r\n")
	for _, o := range others {
		if strings.HasPrefix(text, o.magic) {
			return errors.New(o.what)
		}
	}
	switch {
	case len(start) == 0:
		return errors.New("it is empty: not even a heading is in it")
	case strings.HasPrefix(text, "PAR1"):
		f.first, f.unit = 1, "row"
		return r.openParquet(ctx, f, path)
	case strings.HasPrefix(text, "PK\x03\x04"):
		f.unit = "row"
		f.isCut = false // its bytes are no text
		return r.openWorkbook(f, path)
	case strings.HasPrefix(text, "["):
		f.first, f.unit = 1, "row"
		return r.openJSON(ctx, f, path, "array")
	case strings.HasPrefix(text, "{"):
		f.first, f.unit = 1, "row"
		return r.openJSON(ctx, f, path, "unstructured")
	case bytes.IndexByte(start, 0) >= 0:
		return errors.New("it is neither text, a workbook, JSON nor Parquet: it holds NUL bytes")
	}
	return r.openCSV(f, path, string(start))
}

// quoteCounter counts the quotes of a text.
type quoteCounter int

func (q *quoteCounter) Write(p []byte) (int, error) {
	*q += quoteCounter(bytes.Count(p, []byte{'"'}))
	return len(p), nil
}

// copyTo copies a file, and returns how the copy begins. The copy is unpacked and has no byte order mark. Text
// whose mark is that of UTF-16 becomes UTF-8.
func (f *file) copyTo(path string) (start []byte, err error) {
	in, _, err := files.Open(f.path, MaxSize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	hash, quotes, packed := sha256.New(), quoteCounter(0), ""
	bytesOf := bufio.NewReader(io.TeeReader(in, hash))
	from := io.Reader(bytesOf)
	if magic, _ := bytesOf.Peek(2); string(magic) == "\x1f\x8b" {
		packed = "it is packed with gzip, and damaged: "
		if from, err = gzip.NewReader(bytesOf); err != nil {
			return nil, fmt.Errorf("%s%w", packed, err)
		}
	}
	from = transform.NewReader(from, unicode.BOMOverride(transform.Nop))
	n, err := io.Copy(io.MultiWriter(out, &quotes), io.LimitReader(from, MaxSize))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s%w", packed, err)
	case n == MaxSize:
		return nil, fmt.Errorf("more than %d bytes are in it", MaxSize)
	}
	if _, err := io.Copy(io.Discard, bytesOf); err != nil { // the hash is of all bytes
		return nil, err
	}
	f.hash, f.isCut = hex.EncodeToString(hash.Sum(nil)[:4]), quotes%2 == 1
	start = make([]byte, min(n, 4096))
	_, err = out.ReadAt(start, 0)
	return start, err
}

// openCSV lets the engine split lines as the heading is split: the first line with two columns or more, by the
// delimiter that makes most. (The engine's sniffer skips a heading that some lines differ from.) Other lines are
// rejected one by one.
func (r *reader) openCSV(f *file, path, start string) error {
	f.rejects = fmt.Sprintf("rejects%d", f.id)
	var delimiter string
	var names []string
	skip := 0
	for line := range strings.Lines(start) {
		for _, d := range ",;\t|" {
			in := csv.NewReader(strings.NewReader(line))
			in.Comma = d
			if got, err := in.Read(); err == nil && len(got) > max(1, len(names)) && !strings.HasPrefix(line, "sep=") {
				delimiter, names = string(d), got
			}
		}
		if skip++; names != nil {
			break
		}
	}
	if names == nil {
		return errors.New("its lines are no table: no comma, semicolon, tab or | splits a heading into columns")
	}
	columns := make([]string, len(names))
	for i, name := range names {
		names[i] = cmp.Or(strings.TrimSpace(name), fmt.Sprintf("column%d", i+1))
		columns[i] = schema.QuoteText(names[i]) + ": 'VARCHAR'"
	}
	f.names, f.first = names, skip+1
	f.from = fmt.Sprintf(`SELECT * FROM read_csv(%s, auto_detect=false, header=false, skip=%d, delim=%s,
		quote='"', escape='"', comment='', nullstr='', columns={%s}, parallel=false,
		buffer_size=4194304, store_rejects=true, rejects_table='%s', rejects_scan='%[5]s_scan')`,
		schema.QuoteText(path), skip, schema.QuoteText(delimiter), strings.Join(columns, ", "), f.rejects)
	return nil
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(text)
}

// openParquet reads values of every type as texts. Fractions are marked as exact.
func (r *reader) openParquet(ctx context.Context, f *file, path string) error {
	from := "read_parquet(" + schema.QuoteText(path) + ", hive_partitioning=false)"
	var columns []string
	for row, err := range r.db.Rows(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+from+")") {
		if err != nil {
			return fmt.Errorf("its Parquet is damaged: %s", firstLine(err.Error()))
		}
		name, kind := strings.Clone(row[0]), row[1]
		f.names = append(f.names, name)
		text := schema.Quote(name) + "::VARCHAR"
		if kind == "DOUBLE" || kind == "FLOAT" || strings.HasPrefix(kind, "DECIMAL") {
			text = "marked(" + text + ")"
		}
		columns = append(columns, text+" AS "+schema.Quote(name))
	}
	f.from = "SELECT " + strings.Join(columns, ", ") + " FROM " + from
	return nil
}

// openJSON reads the objects of a JSON text. Fractions are marked as exact.
func (r *reader) openJSON(ctx context.Context, f *file, path, form string) error {
	of := "_of(" + schema.QuoteText(path) + ", '" + form + "')"
	var columns []string
	for row, err := range r.db.Rows(ctx, "FROM names"+of) {
		if err != nil {
			return fmt.Errorf("its JSON is damaged: %s", firstLine(err.Error()))
		}
		f.names = append(f.names, strings.Clone(row[0]))
		columns = append(columns, "of_json(object, "+schema.QuoteText(row[1])+") AS "+schema.Quote(row[0]))
	}
	if columns == nil {
		return errors.New("it is JSON, and no list of objects is in it")
	}
	f.from = "SELECT " + strings.Join(columns, ", ") + " FROM objects" + of
	return nil
}

// openWorkbook writes the first sheet of a workbook as CSV, for the engine.
func (r *reader) openWorkbook(f *file, path string) error {
	book, err := excelize.OpenFile(path, excelize.Options{RawCellValue: true, UnzipSizeLimit: 512 << 20,
		UnzipXMLSizeLimit: 8 << 20, TmpDir: r.db.Dir})
	if err != nil {
		return fmt.Errorf("it is a packed file (zip), and no workbook: %w", err)
	}
	defer book.Close()
	sheet := book.GetSheetName(0)
	rows, err := book.Rows(sheet)
	if err != nil {
		return err
	}
	defer rows.Close()
	out, err := os.Create(filepath.Join(r.db.Dir, fmt.Sprintf("sheet%d.csv", f.id)))
	if err != nil {
		return err
	}
	defer out.Close()
	if props, _ := book.GetWorkbookProps(); props.Date1904 != nil && *props.Date1904 {
		return errors.New("it is a workbook that counts its days from 1904; save it as CSV")
	}
	heading, above, w := []string(nil), 0, csv.NewWriter(out)
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		switch {
		case heading != nil:
			cells = append(cells, make([]string, max(0, len(heading)-len(cells)))...)[:len(heading)]
		case filled(cells) < 2: // nothing, or a title
			above++
			continue
		default:
			heading = cells
		}
		if err := w.Write(cells); err != nil {
			return err
		}
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	if heading == nil {
		return fmt.Errorf("it is a workbook, and its first sheet, %q, has no heading of two columns or more", sheet)
	}
	start := make([]byte, 4096)
	n, err := out.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	err = r.openCSV(f, out.Name(), string(start[:n]))
	f.first += above
	return err
}

func filled(cells []string) (n int) {
	for _, c := range cells {
		if c != "" {
			n++
		}
	}
	return n
}
