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
	"slices"
	"strconv"
	"strings"

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
	f = &file{path: path, id: id, hash: hex.EncodeToString(hash.Sum(nil)[:4]), first: 2, unit: "line"}
	if size == 0 {
		return f, errors.New("it is empty: not even a heading is in it")
	}
	path, start, err := r.plain(path, io.NewSectionReader(in, 0, size), id, &quotes)
	if err != nil {
		return f, err
	}
	text := strings.TrimLeft(string(start), " \t\r\n")
	for _, o := range others {
		if strings.HasPrefix(text, o.magic) {
			return f, errors.New(o.what)
		}
	}
	switch {
	case strings.HasPrefix(text, "PAR1"):
		f.first, f.unit = 1, "row"
		return f, r.openParquet(ctx, f, path)
	case strings.HasPrefix(text, "PK\x03\x04"):
		f.unit = "row"
		return f, r.openWorkbook(f, path)
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		f.first, f.unit = 1, "row"
		return f, r.openJSON(ctx, f, path)
	case bytes.IndexByte(start, 0) >= 0:
		return f, errors.New("it is neither text, a workbook, JSON nor Parquet: it holds NUL bytes")
	}
	f.isCut = quotes%2 == 1
	return f, r.openCSV(f, path, string(start))
}

// quoteCounter counts the quotes of a text.
type quoteCounter int

func (q *quoteCounter) Write(p []byte) (int, error) {
	*q += quoteCounter(bytes.Count(p, []byte{'"'}))
	return len(p), nil
}

// orderOf16 reports whether a text that begins like this is UTF-16, and its order of bytes if it has no mark.
func orderOf16(start []byte) (order unicode.Endianness, is16 bool) {
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(start, []byte("PAR1")), bytes.HasPrefix(start, []byte("PK")),
		bytes.Count(start, []byte{0}) <= len(start)/3:
		return unicode.LittleEndian, false
	case start[0] == 0:
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, true
}

const byteOrderMark = "\ufeff"

// plain returns where the text of a file is, and how it begins. A text that is packed with gzip, is UTF-16, or begins
// with a byte order mark is written as plain UTF-8.
func (r *reader) plain(path string, in io.Reader, id int, quotes *quoteCounter) (at string, start []byte, err error) {
	const enough = 4096
	text := bufio.NewReaderSize(in, enough)
	start, _ = text.Peek(enough) // a short file has less
	what := ""
	if bytes.HasPrefix(start, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(text)
		if err != nil {
			return "", nil, fmt.Errorf("it is packed with gzip, and damaged: %w", err)
		}
		what, text = "it is packed with gzip, and damaged", bufio.NewReaderSize(z, enough)
		start, _ = text.Peek(enough)
	}
	order, is16 := orderOf16(start)
	isMarked := bytes.HasPrefix(start, []byte(byteOrderMark))
	if what == "" && !is16 && !isMarked {
		return path, start, nil
	}
	if isMarked {
		_, _ = text.Discard(len(byteOrderMark))
	}
	from := io.Reader(text)
	if is16 {
		what = cmp.Or(what, "it is UTF-16 text, and damaged")
		from = transform.NewReader(text, unicode.UTF16(order, unicode.UseBOM).NewDecoder())
	}
	what = cmp.Or(what, "it begins with a byte order mark")
	at = filepath.Join(r.db.Dir, fmt.Sprintf("file%d", id))
	out, err := os.Create(at)
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	*quotes = 0
	n, err := io.Copy(io.MultiWriter(out, quotes), io.LimitReader(from, MaxSize))
	if err == nil && n == MaxSize {
		err = fmt.Errorf("more than %d bytes are in it", MaxSize)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", what, err)
	}
	start = make([]byte, min(n, enough))
	_, err = out.ReadAt(start, 0)
	return at, start, err
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
		if name = strings.TrimSpace(name); name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		if slices.ContainsFunc(names[:i], func(n string) bool { return strings.EqualFold(n, name) }) {
			name += fmt.Sprintf("_%d", i)
		}
		names[i], columns[i] = name, schema.QuoteText(name)+": 'VARCHAR'"
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

// isNumbered reports whether a name was numbered because another column has it, too.
func isNumbered(before []string, name string) bool {
	i := strings.LastIndexByte(name, '_')
	if _, err := strconv.Atoi(name[i+1:]); err != nil || i < 0 {
		return false
	}
	return slices.ContainsFunc(before, func(n string) bool { return strings.EqualFold(n, name[:i]) })
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

// openJSON reads the objects of a JSON text, see [writeObjects]. Values stay JSON: the engine would guess their types.
func (r *reader) openJSON(ctx context.Context, f *file, path string) error {
	at := filepath.Join(r.db.Dir, fmt.Sprintf("rows%d", f.id))
	n, err := writeObjects(path, at)
	switch {
	case err != nil:
		return fmt.Errorf("it is JSON, and not a list of objects: %w", err)
	case n == 0:
		return errors.New("it is JSON, and no object is in its list")
	}
	rows := "SELECT * FROM read_json(" + schema.QuoteText(at) + ", format='newline_delimited', maximum_depth=1, " +
		"sample_size=-1, maximum_object_size=1048576)"
	for row, err := range r.db.Rows(ctx, "SELECT column_name FROM (DESCRIBE "+rows+")") {
		if err != nil {
			return fmt.Errorf("it is JSON, and not a list of objects: %s", firstLine(err.Error()))
		}
		f.names = append(f.names, strings.Clone(row[0]))
	}
	var columns []string
	for _, name := range f.names {
		c := schema.Quote(name)
		columns = append(columns, fmt.Sprintf("CASE WHEN json_type(%[1]s) = 'DOUBLE' THEN marked(%[1]s->>'$') "+
			"ELSE %[1]s->>'$' END AS %[1]s", c))
	}
	f.from = "SELECT " + strings.Join(columns, ", ") + " FROM (" + rows + ")"
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
	props, _ := book.GetWorkbookProps()
	heading, above, w := []string(nil), 0, csv.NewWriter(out)
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		switch {
		case heading != nil:
			r.writeDays(heading, cells, props.Date1904 != nil && *props.Date1904)
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

// writeDays writes the days in a row of a workbook, which are numbers in it, as days.
func (r *reader) writeDays(heading, cells []string, is1904 bool) {
	for i := range min(len(heading), len(cells)) {
		name := plain(heading[i])
		if ofTrackers[name] != "day" && ofPayouts[name] != "from" && ofPayouts[name] != "to" &&
			!strings.EqualFold(heading[i], r.Columns["day"]) {
			continue
		}
		serial, err := strconv.ParseFloat(cells[i], 64)
		if err != nil || serial < 30000 || serial > 80000 { // 1982 to 2119
			continue
		}
		if t, err := excelize.ExcelDateToTime(serial, is1904); err == nil {
			cells[i] = t.Format("2006-01-02 15:04:05")
		}
	}
}
