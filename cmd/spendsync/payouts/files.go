package payouts

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"spendsync/schema"
)

// readCSV reads lines with commas between their values, or semicolons or tabs where the
// heading has those.
func readCSV(r io.Reader) (lines []line, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(b), "\ufeff")
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord, in.TrimLeadingSpace = -1, true
	first, _, _ := strings.Cut(text, "\n")
	for _, sep := range ";\t" {
		if !strings.ContainsRune(first, ',') && strings.ContainsRune(first, sep) {
			in.Comma = sep
		}
	}
	var names []string
	for {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && names == nil:
			return nil, errors.New("it is empty: the heading is from,to,campaign,creative,source,payout")
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return nil, err // the error names the line
		case names == nil:
			if names, err = heading(record); err != nil {
				return nil, err
			}
			continue
		}
		n, _ := in.FieldPos(0)
		if len(record) != len(names) {
			return nil, fmt.Errorf("line %d: %d values under %d columns", n, len(record), len(names))
		}
		l := line{at: fmt.Sprintf("line %d", n), values: map[string]string{}}
		for i, v := range record {
			l.values[names[i]] = strings.TrimSpace(v)
		}
		lines = append(lines, l)
	}
}

// readParquet reads the file's rows. Values of any type that has an exact text are taken.
func readParquet(r io.ReaderAt, size int64) (lines []line, err error) {
	f, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, err
	}
	var unpacked int64
	for _, group := range f.Metadata().RowGroups {
		unpacked += group.TotalByteSize
	}
	if f.NumRows() > maxRows || unpacked > maxUnpacked {
		return nil, fmt.Errorf("%d rows, %d bytes unpacked: a list of payouts has at most %d rows and %d bytes",
			f.NumRows(), unpacked, maxRows, maxUnpacked)
	}
	fields := f.Schema().Fields()
	var names []string
	for _, field := range fields {
		if !field.Leaf() || field.Repeated() {
			return nil, fmt.Errorf("the column %q is nested", field.Name())
		}
		names = append(names, field.Name())
	}
	if names, err = heading(names); err != nil {
		return nil, err
	}
	rows := parquet.NewReader(f)
	defer rows.Close()
	buffer := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			l := line{at: fmt.Sprintf("row %d", len(lines)+1), values: map[string]string{}}
			for _, v := range row {
				if l.values[names[v.Column()]], err = textOf(v, fields[v.Column()].Type()); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", l.at, names[v.Column()], err)
				}
			}
			lines = append(lines, l)
		}
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
	}
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
	return strings.TrimSpace(string(v.ByteArray())), nil
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
