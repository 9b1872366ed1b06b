package payouts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"spendsync/cmd/internal/files"
	"spendsync/schema"
)

// MaxSize exceeds any export: a wrong path must not fill the disk.
const MaxSize = 1 << 30

// file is one of the operator's files, as the engine reads it.
type file struct {
	path  string
	hash  string   // of its bytes
	what  string   // in words, where it is not plain CSV: "a workbook"
	from  string   // SQL that reads it as texts, in the file's order
	names []string // its columns
	line  int      // the line or row of its first row
	unit  string   // what is counted: "line" or "row"

	at       map[string]int // of an export: our columns in names
	days     days           // of an export
	isCut    bool           // a quote does not end: the engine drops the last line
	rejects  string         // the engine's table of lines that it could not split; empty: none
	rejected []int          // these lines
}

// place names a row of the file by its number among those that were read.
func (f *file) place(n int) string {
	line := n - 1 + f.line
	for _, r := range f.rejected {
		if r <= line {
			line++
		}
	}
	return fmt.Sprintf("%s %d", f.unit, line)
}

// open learns what a file is. id is unique in the reading.
func (r *reader) open(ctx context.Context, path string, id int) (f *file, err error) {
	in, size, err := files.Open(path, MaxSize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	hash, quotes := sha256.New(), quoteCounter(0)
	if _, err := io.Copy(io.MultiWriter(hash, &quotes), in); err != nil {
		return nil, err
	}
	f = &file{path: path, hash: hex.EncodeToString(hash.Sum(nil)[:4]), line: 2, unit: "line"}
	if size == 0 {
		return nil, errors.New("it is empty: not even a heading is in it")
	}
	start, options := make([]byte, 4096), ""
	n, err := in.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	start = start[:n]
	read := path
	if bytes.HasPrefix(start, []byte("\x1f\x8b")) {
		if start, err = unpacked(io.NewSectionReader(in, 0, size)); err != nil {
			return nil, fmt.Errorf("it is packed with gzip, and damaged: %w", err)
		}
		f.what, options = "packed with gzip", ", compression='gzip'"
	}
	is := func(magic string) bool { return bytes.HasPrefix(start, []byte(magic)) }
	text := strings.TrimLeft(strings.TrimPrefix(string(start), "\ufeff"), " \t\r\n")
	switch {
	case is("PAR1"):
		f.what, f.line, f.unit = "a Parquet file", 1, "row"
		return f, r.openParquet(ctx, f)
	case is("PK\x03\x04"):
		f.what, f.unit = "a workbook", "row"
		return f, r.openWorkbook(ctx, f, id)
	case is("\xd0\xcf\x11\xe0"):
		return nil, errors.New("it is a workbook of the old form (.xls); save it as .xlsx or CSV")
	case is("\x28\xb5\x2f\xfd"):
		return nil, errors.New("it is packed with zstd; unpack it, or pack it with gzip")
	case is("%PDF"):
		return nil, errors.New("it is a PDF; export CSV, a workbook, JSON or Parquet")
	case is("<") || strings.HasPrefix(strings.ToLower(text), "<!doctype") || strings.HasPrefix(text, "<?xml"):
		return nil, errors.New("it is a web page or XML, perhaps of a login that has expired; export CSV, a " +
			"workbook, " +
			"JSON or Parquet")
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		f.what, f.line, f.unit = "JSON", 1, "row"
		return f, r.openJSON(ctx, f, options)
	case is("\xff\xfe"), is("\xfe\xff"), bytes.Count(start, []byte{0}) > len(start)/3:
		bigEndian := is("\xfe\xff") || !is("\xff\xfe") && start[0] == 0
		text = decoded16(start, bigEndian)
		if bigEndian { // the engine reads little-endian alone
			if read, err = r.swapped(in, size, id); err != nil {
				return nil, err
			}
		}
		f.what, options = "UTF-16 text", options+", encoding='utf-16'"
	case bytes.IndexByte(start, 0) >= 0:
		return nil, errors.New("it is neither text, a workbook, JSON nor Parquet: it holds NUL bytes")
	}
	f.isCut = f.what == "" && quotes%2 == 1
	return f, r.openCSV(ctx, f, read, options, text)
}

// quoteCounter counts the quotes of a text.
type quoteCounter int

func (q *quoteCounter) Write(p []byte) (int, error) {
	*q += quoteCounter(bytes.Count(p, []byte{'"'}))
	return len(p), nil
}

// unpacked returns the first bytes in a file that is packed with gzip, and checks that it is complete.
func unpacked(in io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	start, err := io.ReadAll(io.LimitReader(z, 4096))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, MaxSize))
	if n == MaxSize {
		return nil, fmt.Errorf("more than %d bytes are in it", MaxSize)
	}
	return start, err
}

// swapped writes big-endian UTF-16 as little-endian.
func (r *reader) swapped(in io.ReaderAt, size int64, id int) (path string, err error) {
	path = filepath.Join(r.db.Dir, fmt.Sprintf("file%d.csv", id))
	out, err := os.Create(path)
	if err != nil {
		return "", err
	}
	w, from := bufio.NewWriter(out), bufio.NewReader(io.NewSectionReader(in, 0, size))
	for pair := make([]byte, 2); err == nil; {
		if _, err = io.ReadFull(from, pair); err == nil {
			_, err = w.Write([]byte{pair[1], pair[0]})
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return path, errors.Join(err, w.Flush(), out.Close())
}

// openCSV lets the engine split lines as the heading is split: the first line with two columns or more, by the
// delimiter
// that makes most. (The engine's sniffer skips a heading that some lines differ from.) What is split otherwise is
// rejected
// line by line.
func (r *reader) openCSV(ctx context.Context, f *file, path, options, start string) error {
	f.rejects = "rejects_" + f.hash
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
		if name = strings.TrimSpace(name); name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		if slices.ContainsFunc(names[:i], func(n string) bool { return strings.EqualFold(n, name) }) {
			name += fmt.Sprintf("_%d", i)
		}
		names[i], columns[i] = name, schema.QuoteText(name)+": 'VARCHAR'"
	}
	f.names, f.line = names, skip+1
	f.from = fmt.Sprintf(`SELECT * FROM read_csv(%s, auto_detect=false, header=false, skip=%d, delim=%s,
		quote='"', escape='"', comment='', nullstr=''%s, columns={%s}, parallel=false,
		buffer_size=4194304, store_rejects=true, rejects_table='%s', rejects_scan='%[6]s_scan')`,
		schema.QuoteText(path), skip, schema.QuoteText(delimiter), options, strings.Join(columns, ", "), f.rejects)
	return nil
}

// decoded16 is the text of UTF-16.
func decoded16(b []byte, bigEndian bool) string {
	var order binary.ByteOrder = binary.LittleEndian
	if bigEndian {
		order = binary.BigEndian
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(text)
}

// columns learns the names of the columns.
func (r *reader) columns(ctx context.Context, f *file) error {
	for row, err := range r.db.Rows(ctx, "SELECT column_name FROM (DESCRIBE "+f.from+")") {
		if err != nil {
			return errors.New(firstLine(err.Error()))
		}
		f.names = append(f.names, strings.Clone(row[0]))
	}
	return nil
}

// openParquet reads values of every type as texts. Fractions are marked as exact.
func (r *reader) openParquet(ctx context.Context, f *file) error {
	from := "read_parquet(" + schema.QuoteText(f.path) + ", hive_partitioning=false)"
	var columns []string
	for row, err := range r.db.Rows(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+from+")") {
		if err != nil {
			return fmt.Errorf("its Parquet is damaged: %s", firstLine(err.Error()))
		}
		name, kind := strings.Clone(row[0]), row[1]
		f.names = append(f.names, name)
		text := schema.Quote(name) + "::VARCHAR"
		if kind == "DOUBLE" || kind == "FLOAT" || strings.HasPrefix(kind, "DECIMAL") {
			text = exact(text)
		}
		columns = append(columns, text+" AS "+schema.Quote(name))
	}
	f.from = "SELECT " + strings.Join(columns, ", ") + " FROM " + from
	return nil
}

// exact is SQL that marks a number with a fraction as exact.
func exact(text string) string {
	return "CASE WHEN contains(" + text + ", '.') AND NOT contains(" + text + ", 'e') THEN " + text + " || '" +
		exactMark + "' ELSE " + text + " END"
}

// openJSON reads a list of objects, objects one after the other, or one object with one list of objects, as the APIs
// of trackers answer.
func (r *reader) openJSON(ctx context.Context, f *file, options string) error {
	objects := "SELECT json AS j FROM read_json_objects(" + schema.QuoteText(f.path) + options +
		", maximum_object_size=16777216)"
	keys := map[string]bool{}
	list := ""
	for row, err := range r.db.Rows(ctx, `SELECT DISTINCT k, json_type(j, '$."' || k || '"') FROM
		(SELECT j, unnest(json_keys(j)) AS k FROM (`+objects+" LIMIT 10000)) ORDER BY ALL") {
		if err != nil {
			return fmt.Errorf("it is JSON, and not a list of objects: %s", firstLine(err.Error()))
		}
		if keys[row[0]] = true; row[1] == "ARRAY" && (list == "" || row[0] == "rows") {
			list = strings.Clone(row[0])
		}
	}
	if list != "" {
		objects = "SELECT unnest(from_json(j->" + schema.QuoteText(list) + `, '["JSON"]')) AS j FROM (` + objects + ")"
		clear(keys)
		for row, err := range r.db.Rows(ctx, "SELECT DISTINCT unnest(json_keys(j)) FROM ("+objects+")") {
			if err != nil {
				return fmt.Errorf("it is JSON, and %s is not a list of objects: %s", list, firstLine(err.Error()))
			}
			keys[strings.Clone(row[0])] = true
		}
	}
	var columns []string
	for k := range keys {
		f.names = append(f.names, k)
	}
	slices.Sort(f.names)
	for _, k := range f.names {
		value := "(j->>" + schema.QuoteText(k) + ")"
		columns = append(columns, "CASE WHEN json_type(j->"+schema.QuoteText(k)+") = 'DOUBLE' THEN "+exact(value)+
			" ELSE "+value+" END AS "+schema.Quote(k))
	}
	if len(columns) == 0 {
		return errors.New("it is JSON without an object")
	}
	f.from = "SELECT " + strings.Join(columns, ", ") + " FROM (" + objects + ")"
	return nil
}

// openWorkbook writes the first sheet of a workbook as CSV, for the engine.
func (r *reader) openWorkbook(ctx context.Context, f *file, id int) error {
	book, err := excelize.OpenFile(f.path, excelize.Options{RawCellValue: true, UnzipSizeLimit: 512 << 20,
		UnzipXMLSizeLimit: 8 << 20, TmpDir: r.db.Dir})
	if err != nil {
		return fmt.Errorf("it is a packed file (zip), and no workbook: %w", err)
	}
	defer book.Close()
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return errors.New("it is a workbook without a sheet")
	}
	f.what = fmt.Sprintf("a workbook, of which the sheet %q is read", sheets[0])
	rows, err := book.Rows(sheets[0])
	if err != nil {
		return err
	}
	defer rows.Close()
	path := filepath.Join(r.db.Dir, fmt.Sprintf("sheet%d.csv", id))
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w := csv.NewWriter(out)
	f.line = 1
	width, days := 0, map[int]bool{}
	props, _ := book.GetWorkbookProps()
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		if width == 0 && strings.Join(cells, "") == "" {
			f.line++
			continue
		}
		if width == 0 { // the heading
			width = len(cells)
			f.line++
			for i, name := range cells {
				days[i] = ofTrackers[plain(name)] == "day" || ofPayouts[plain(name)] == "from" ||
					ofPayouts[plain(name)] == "to" || strings.EqualFold(name, r.Columns["day"])
			}
		}
		for len(cells) < width {
			cells = append(cells, "")
		}
		for i := range cells {
			serial, err := strconv.ParseFloat(cells[i], 64)
			if days[i] && err == nil && serial > 30000 && serial < 80000 { // 1982 to 2119, a day as a number
				if t, err := excelize.ExcelDateToTime(serial, props.Date1904 != nil && *props.Date1904); err == nil {
					cells[i] = strings.TrimSuffix(t.Format("2006-01-02 15:04:05"), " 00:00:00")
				}
			}
		}
		if err := w.Write(cells[:width]); err != nil {
			return err
		}
	}
	if w.Flush(); w.Error() != nil {
		return w.Error()
	}
	if width == 0 {
		return fmt.Errorf("it is a workbook, and its first sheet, %q, is empty", sheets[0])
	}
	f.from = "SELECT * FROM read_csv(" + schema.QuoteText(path) +
		`, all_varchar=true, header=true, delim=',', quote='"', escape='"', comment='', nullstr='', ` +
		`parallel=false, buffer_size=4194304)`
	return r.columns(ctx, f)
}
