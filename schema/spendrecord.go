package schema

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Record returns the rows in a half-open range as an Arrow record of [SpendDaily], which the caller
// releases. It equals the result of [TableOf.Record], but is made without a [Spend] for each row:
// values that neighbors share are looked up once.
func (s *SpendRows) Record(mem memory.Allocator, from, to int) arrow.Record {
	c := spendColumns{mem: mem, rows: s.rows[from:to], numbers: s.numbers[from*len(ownNumbers) : to*len(ownNumbers)]}
	for i := range c.rows {
		if head := c.rows[i].head >> knownBits; i == 0 || head != c.rows[i-1].head>>knownBits {
			c.runs = append(c.runs, headRun{&s.heads[head], i})
		} else {
			c.runs[len(c.runs)-1].last = i
		}
	}
	columns, table := make([]arrow.Array, len(SpendDaily.Columns)), SpendDaily
	for i, column := range SpendDaily.Columns {
		switch t := SpendDaily.Arrow.Field(i).Type; {
		case column.Name == "source_id":
			columns[i] = c.sources(s)
		case column.isOwnNumber():
			is := func(n Column) bool { return n.Name == column.Name }
			columns[i] = c.ownNumber(t, slices.IndexFunc(ownNumbers, is))
		case column.Nullable:
			columns[i] = table.array(mem, i, c.headOfEach())
		case column.Kind == Text:
			columns[i] = c.texts(column)
		case column.Kind == Day:
			columns[i] = fixedArray[arrow.Date32](c, t, column)
		case column.Kind == Moment:
			columns[i] = fixedArray[arrow.Timestamp](c, t, column)
		default:
			columns[i] = table.array(mem, i, c.headOfEach())
		}
	}
	rec := array.NewRecord(SpendDaily.Arrow, columns, int64(len(c.rows)))
	for _, column := range columns {
		column.Release()
	}
	return rec
}

// spendColumns are packed rows to be made into columns.
type spendColumns struct {
	mem     memory.Allocator
	rows    []packedSpend
	numbers []int64
	runs    []headRun
}

// headRun is a head, and the last row that has it after the run before.
type headRun struct {
	head *Spend
	last int
}

// headOfEach are the heads, one for each row: for a column that has no faster way.
func (c spendColumns) headOfEach() []Spend {
	heads := make([]Spend, 0, len(c.rows))
	for _, run := range c.runs {
		for len(heads) <= run.last {
			heads = append(heads, *run.head)
		}
	}
	return heads
}

// texts is a text column of the heads.
func (c spendColumns) texts(column Column) arrow.Array {
	size, row := 0, 0
	for _, run := range c.runs {
		size += (run.last + 1 - row) * len(*textOf(column, run.head))
		row = run.last + 1
	}
	b := newTextColumn(c.mem, len(c.rows), size)
	for _, run := range c.runs {
		b.repeat(*textOf(column, run.head), run.last+1-b.rows)
	}
	return b.array()
}

// sources is the column of the sources.
func (c spendColumns) sources(s *SpendRows) arrow.Array {
	size := 0
	for i := range c.rows {
		size += len(s.source(c.rows[i].source))
	}
	b := newTextColumn(c.mem, len(c.rows), size)
	for i := range c.rows {
		b.append(s.source(c.rows[i].source))
	}
	return b.array()
}

// ownNumber returns the column of the k-th of ownNumbers.
func (c spendColumns) ownNumber(t arrow.DataType, k int) arrow.Array {
	n := len(c.rows)
	if ownNumbers[k].Kind == Amount {
		values, amounts := newValues[decimal128.Num](c.mem, n)
		for i := range amounts {
			amounts[i] = decimal128.FromI64(c.numbers[i*len(ownNumbers)+k])
		}
		return c.numberArray(t, values, k)
	}
	values, counts := newValues[int64](c.mem, n)
	for i := range counts {
		counts[i] = c.numbers[i*len(ownNumbers)+k]
	}
	return c.numberArray(t, values, k)
}

// numberArray is an array of the values, NULL where a row has none of the k-th number.
func (c spendColumns) numberArray(t arrow.DataType, values *memory.Buffer, k int) arrow.Array {
	known, nulls := uint32(1)<<k, 0
	if ownNumbers[k].Nullable {
		for i := range c.rows {
			if c.rows[i].head&known == 0 {
				nulls++
			}
		}
	}
	if nulls == 0 {
		return arrayOf(t, len(c.rows), nil, values, 0)
	}
	validity := memory.NewResizableBuffer(c.mem)
	validity.Resize(int(bitutil.BytesForBits(int64(len(c.rows)))))
	clear(validity.Bytes())
	for i := range c.rows {
		if c.rows[i].head&known != 0 {
			bitutil.SetBit(validity.Bytes(), i)
		}
	}
	return arrayOf(t, len(c.rows), validity, values, nulls)
}

// fixedArray is a column of the heads whose values have one size: T is what the column's
// type is in memory.
func fixedArray[T any](c spendColumns, t arrow.DataType, column Column) arrow.Array {
	buffer, values := newValues[T](c.mem, len(c.rows))
	row := 0
	for _, run := range c.runs {
		for v := *(*T)(unsafe.Add(unsafe.Pointer(run.head), column.offset)); row <= run.last; row++ {
			values[row] = v
		}
	}
	return arrayOf(t, len(c.rows), nil, buffer, 0)
}

// arrayOf returns an array that owns its buffers.
func arrayOf(t arrow.DataType, n int, validity, values *memory.Buffer, nulls int) arrow.Array {
	data := array.NewData(t, n, []*memory.Buffer{validity, values}, nil, nulls, 0)
	defer data.Release()
	values.Release()
	if validity != nil {
		validity.Release()
	}
	return array.MakeFromData(data)
}
