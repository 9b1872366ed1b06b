package schema

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

// Record returns the rows as an Arrow record of the table. The caller must release it.
//
// Fields are accessed by their offset in the struct, so a row costs a few copies, without reflection or allocation.
func (t TableOf[R]) Record(mem memory.Allocator, rows []R) arrow.Record {
	columns := make([]arrow.Array, len(t.Columns))
	for i := range t.Columns {
		columns[i] = t.array(mem, i, rows)
	}
	rec := array.NewRecord(t.Arrow, columns, int64(len(rows)))
	for _, c := range columns {
		c.Release()
	}
	return rec
}

// array returns column i of the rows as an Arrow array, which the caller must release.
func (t TableOf[R]) array(mem memory.Allocator, i int, rows []R) arrow.Array {
	c := t.Columns[i]
	b := array.NewBuilder(mem, t.Arrow.Field(i).Type)
	defer b.Release()
	b.Reserve(len(rows))
	switch b := b.(type) {
	case *array.StringBuilder:
		bytes := 0
		appendColumn(c, rows, func() {}, func(v string) { bytes += len(v) })
		b.ReserveData(bytes)
		appendColumn(c, rows, b.AppendNull, func(v string) { b.Append(v) })
	case *array.Int64Builder:
		appendColumn(c, rows, b.AppendNull, func(v int64) { b.UnsafeAppend(v) })
	case *array.Decimal128Builder:
		appendColumn(c, rows, b.AppendNull, func(v Money) { b.UnsafeAppend(decimal128.FromI64(int64(v))) })
	case *array.Date32Builder:
		appendColumn(c, rows, b.AppendNull, func(v Date) { b.UnsafeAppend(arrow.Date32(v)) })
	case *array.TimestampBuilder:
		appendColumn(c, rows, b.AppendNull, func(v Instant) { b.UnsafeAppend(arrow.Timestamp(v)) })
	case *array.BooleanBuilder:
		appendColumn(c, rows, b.AppendNull, func(v bool) { b.UnsafeAppend(v) })
	default:
		panic(fmt.Sprintf("schema: no builder for %s", t.Arrow.Field(i).Type))
	}
	return b.NewArray()
}

// appendColumn calls a function for the column's field in each row: put with the field's value, or null() if the field
// is NULL. Both functions may append to an Arrow builder without a capacity check, so the caller must reserve memory
// first.
func appendColumn[T comparable, R any](c Column, rows []R, null func(), put func(T)) {
	for i := range rows {
		field := unsafe.Add(unsafe.Pointer(&rows[i]), c.offset)
		if !c.Nullable {
			put(*(*T)(field))
		} else if n := (*Null[T])(field); n.Valid {
			put(n.V)
		} else {
			null()
		}
	}
}

// PutValues sets one column of the rows to values of a Parquet file, one value per row. NULL values are skipped, so
// before the call the column must be NULL or zero in all rows. The rows share no memory with the values.
func (t TableOf[R]) PutValues(rows []R, column int, values []parquet.Value) {
	c := &t.Columns[column]
	switch c.Kind {
	case Text:
		var texts textCopies
		putValues(c, rows, values, func(v *parquet.Value) string { return texts.of(v.ByteArray()) })
	case Count, Amount, Moment: // all three are int64 in the row struct
		putValues(c, rows, values, func(v *parquet.Value) int64 { return v.Int64() })
	case Day:
		putValues(c, rows, values, func(v *parquet.Value) Date { return Date(v.Int32()) })
	case Flag:
		putValues(c, rows, values, func(v *parquet.Value) bool { return v.Boolean() })
	}
}

func putValues[T comparable, R any](c *Column, rows []R, values []parquet.Value, value func(*parquet.Value) T) {
	for i := range values {
		v := &values[i]
		if v.IsNull() {
			continue
		}
		field := unsafe.Add(unsafe.Pointer(&rows[i]), c.offset)
		if c.Nullable {
			*(*Null[T])(field) = Some(value(v))
		} else {
			*(*T)(field) = value(v)
		}
	}
}

// textCopies copies texts, many into one block of memory. Consecutive texts at the same address, for example in a
// Parquet dictionary, share one copy.
type textCopies struct {
	last *byte
	text string
	room []byte
}

func (c *textCopies) of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if at := unsafe.SliceData(b); at != c.last || len(b) != len(c.text) {
		if len(b) > cap(c.room)-len(c.room) {
			c.room = make([]byte, 0, max(min(2*cap(c.room), 1<<13), 64, len(b)))
		}
		from := len(c.room)
		c.room = append(c.room, b...)
		c.last, c.text = at, unsafe.String(&c.room[from], len(b))
	}
	return c.text
}

// CloneTexts copies the texts of a row, so that they share memory with nothing else.
func (t TableOf[R]) CloneTexts(row *R) {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Kind != Text {
			continue
		}
		field := unsafe.Add(unsafe.Pointer(row), c.offset)
		text := (*string)(field) // the first field of a Null is its value
		*text = strings.Clone(*text)
	}
}

// equal reports whether two rows have the same value in the column.
func (c *Column) equal(a, b unsafe.Pointer) bool {
	a, b = unsafe.Add(a, c.offset), unsafe.Add(b, c.offset)
	switch c.Kind {
	case Text:
		return fieldsEqual[string](c, a, b)
	case Count, Amount, Moment: // all three are int64 in the row struct
		return fieldsEqual[int64](c, a, b)
	case Day:
		return fieldsEqual[Date](c, a, b)
	}
	return fieldsEqual[bool](c, a, b)
}

func fieldsEqual[T comparable](c *Column, a, b unsafe.Pointer) bool {
	if c.Nullable {
		return *(*Null[T])(a) == *(*Null[T])(b)
	}
	return *(*T)(a) == *(*T)(b)
}
