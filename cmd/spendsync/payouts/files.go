package payouts

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"spendsync/schema"
)

// sheet is an open file: the names of its columns, and its lines.
type sheet struct {
	names []string
	unit  string // "line" or "row": what is counted
	// next returns the number of the next line and as many values as there are names, without spaces around them;
	// io.EOF after the last. The slice is valid until the next call.
	next func() (n int, values []string, err error)
}

// csvSheet reads a file with commas between its values, or semicolons or tabs if the
// heading has those.
func csvSheet(r io.Reader) (*sheet, error) {
	text := bufio.NewReaderSize(r, 1<<16)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark))
	}
	start, err := text.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	in := csv.NewReader(text)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	first, _, _ := strings.Cut(string(start), "\n")
	for _, sep := range ";\t" {
		if !strings.ContainsRune(first, ',') && strings.ContainsRune(first, sep) {
			in.Comma = sep
		}
	}
	in.TrimLeadingSpace = in.Comma != '\t' // it would take tabs for spaces
	record, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty: the heading is from,to,campaign,creative,source,payout")
	}
	if err != nil {
		return nil, err
	}
	s := &sheet{names: slices.Clone(record), unit: "line"}
	if err := trim(s.names); err != nil {
		return nil, fmt.Errorf("the heading: %w", err)
	}
	s.next = func() (int, []string, error) {
		record, err := in.Read()
		if err != nil {
			return 0, nil, err // the error names the line
		}
		n, _ := in.FieldPos(0)
		if len(record) != len(s.names) {
			return 0, nil, fmt.Errorf("line %d: %d values under %d columns", n, len(record), len(s.names))
		}
		if err := trim(record); err != nil {
			return 0, nil, fmt.Errorf("line %d: %w", n, err)
		}
		return n, record, nil
	}
	return s, nil
}

// byteOrderMark begins a file that a spreadsheet wrote.
const byteOrderMark = "\ufeff"

// trim removes the spaces around texts, in place. DuckDB reads no file with a text that is not UTF-8.
func trim(texts []string) error {
	for i, t := range texts {
		texts[i] = strings.TrimSpace(t)
		if !utf8.ValidString(t) || strings.ContainsRune(t, 0) {
			return fmt.Errorf("%.60q is not UTF-8 text", t)
		}
	}
	return nil
}

// parquetSheet reads a file's rows. Values of any type that has an exact text are taken.
func parquetSheet(r io.ReaderAt, size int64) (*sheet, error) {
	f, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, err
	}
	var unpacked int64
	for _, group := range f.Metadata().RowGroups {
		unpacked += group.TotalByteSize
	}
	if f.NumRows() > maxRows || unpacked > maxUnpacked {
		return nil, fmt.Errorf("%d rows, %d bytes unpacked: a file has at most %d rows and %d bytes",
			f.NumRows(), unpacked, maxRows, maxUnpacked)
	}
	fields := f.Schema().Fields()
	s := &sheet{unit: "row"}
	for _, field := range fields {
		if !field.Leaf() || field.Repeated() {
			return nil, fmt.Errorf("the column %q is nested", field.Name())
		}
		s.names = append(s.names, field.Name())
	}
	if err := trim(s.names); err != nil {
		return nil, fmt.Errorf("the columns: %w", err)
	}
	rows := parquet.NewReader(f)
	values, buffer, count := make([]string, len(fields)), make([]parquet.Row, 1), 0
	s.next = func() (int, []string, error) {
		n, err := rows.ReadRows(buffer)
		if n == 0 {
			return 0, nil, errors.Join(cmp.Or(err, io.EOF), rows.Close())
		}
		count++
		for _, v := range buffer[0] {
			if values[v.Column()], err = textOf(v, fields[v.Column()].Type()); err != nil {
				return 0, nil, fmt.Errorf("row %d: %s: %w", count, s.names[v.Column()], err)
			}
		}
		if err := trim(values); err != nil {
			return 0, nil, fmt.Errorf("row %d: %w", count, err)
		}
		return count, values, nil
	}
	return s, nil
}

// textOf is a value's exact text; NULL is empty.
func textOf(v parquet.Value, t parquet.Type) (string, error) {
	var logical format.LogicalTypeValue
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	decimal, isDecimal := logical.(*format.DecimalType)
	_, isDate := logical.(*format.DateType)
	switch {
	case v.IsNull():
		return "", nil
	case isDate:
		return schema.Date(v.Int32()).String(), nil
	case isDecimal && (v.Kind() == parquet.Int32 || v.Kind() == parquet.Int64):
		return scaled(v, int(decimal.Scale)), nil
	case isDecimal, v.Kind() == parquet.Int96, v.Kind() == parquet.Boolean:
		return "", fmt.Errorf("values of the type %s are not read; write them as texts", t)
	case v.Kind() == parquet.Double:
		return strconv.FormatFloat(v.Double(), 'f', -1, 64), nil
	case v.Kind() == parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'f', -1, 32), nil
	case v.Kind() == parquet.Int32:
		return strconv.Itoa(int(v.Int32())), nil
	case v.Kind() == parquet.Int64:
		return strconv.FormatInt(v.Int64(), 10), nil
	}
	return string(v.ByteArray()), nil
}

// scaled is the text of a decimal that is kept as a whole number.
func scaled(v parquet.Value, scale int) string {
	n := v.Int64()
	if v.Kind() == parquet.Int32 {
		n = int64(v.Int32())
	}
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	if scale == 0 {
		return sign + digits
	}
	digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
