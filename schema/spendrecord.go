package schema

import (
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Record is the rows from one place to before another as an Arrow record of
// [SpendDaily], which the caller releases. It is what [TableOf.Record] gives, made
// without a [Spend] of each row: what neighbours share is looked up once.
func (s *SpendRows) Record(mem memory.Allocator, from, to int) arrow.Record {
	c := spendColumns{mem: mem, rows: s.rows[from:to]}
	for i := range c.rows {
		if head := c.rows[i].head >> knownBits; i == 0 || head != c.rows[i-1].head>>knownBits {
			c.runs = append(c.runs, headRun{&s.heads[head], i})
		} else {
			c.runs[len(c.runs)-1].last = i
		}
	}
	columns := make([]arrow.Array, len(SpendDaily.Columns))
	for i, column := range SpendDaily.Columns {
		columns[i] = s.column(column.Name, SpendDaily.Arrow.Field(i).Type, c)
	}
	rec := array.NewRecord(SpendDaily.Arrow, columns, int64(len(c.rows)))
	for _, column := range columns {
		column.Release()
	}
	return rec
}

func (s *SpendRows) column(name string, t arrow.DataType, c spendColumns) arrow.Array {
	switch name {
	case "account_id":
		return c.texts(func(*spendHead) string { return s.account })
	case "report_date":
		return fixedArray(c, t, func(*spendHead) arrow.Date32 { return arrow.Date32(s.day) })
	case "campaign_id":
		return c.texts(func(h *spendHead) string { return h.campaign })
	case "creative_id":
		return c.texts(func(h *spendHead) string { return h.creative })
	case "source_id":
		return c.sources(s)
	case "campaign_name":
		return c.texts(func(h *spendHead) string { return h.name })
	case "spend":
		values, amounts := newValues[decimal128.Num](c.mem, len(c.rows))
		for i := range c.rows {
			amounts[i] = decimal128.FromI64(int64(c.rows[i].spend))
		}
		return arrayOf(t, len(c.rows), nil, values, 0)
	case "clicks":
		return c.counts(t, clicksKnown, func(p *packedSpend) int64 { return p.clicks })
	case "impressions":
		return c.counts(t, impressionsKnown, func(p *packedSpend) int64 { return p.impressions })
	case "conversions":
		return c.counts(t, conversionsKnown, func(p *packedSpend) int64 { return p.conversion })
	case "_first_seen_at":
		return fixedArray(c, t, func(h *spendHead) arrow.Timestamp { return arrow.Timestamp(h.stamp.FirstSeenAt) })
	case "_changed_at":
		return fixedArray(c, t, func(h *spendHead) arrow.Timestamp { return arrow.Timestamp(h.stamp.ChangedAt) })
	case "_run_id":
		return c.texts(func(h *spendHead) string { return h.stamp.RunID })
	}
	panic("schema: packed rows have no " + name)
}

// spendColumns are packed rows on their way into columns.
type spendColumns struct {
	mem  memory.Allocator
	rows []packedSpend
	runs []headRun
}

// headRun is a head, and the last row that has it after the run before.
type headRun struct {
	head *spendHead
	last int
}

// texts is a column of what the heads say.
func (c spendColumns) texts(of func(*spendHead) string) arrow.Array {
	size, row := 0, 0
	for _, run := range c.runs {
		size += (run.last + 1 - row) * len(of(run.head))
		row = run.last + 1
	}
	b := newTextColumn(c.mem, len(c.rows), size)
	for _, run := range c.runs {
		b.repeat(of(run.head), run.last+1-b.rows)
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

// counts is a column of counts, of which those that have the bit are known.
func (c spendColumns) counts(t arrow.DataType, known uint32, of func(*packedSpend) int64) arrow.Array {
	values, counts := newValues[int64](c.mem, len(c.rows))
	nulls := 0
	for i := range c.rows {
		p := &c.rows[i]
		if counts[i] = of(p); p.head&known == 0 {
			nulls++
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

// fixedArray is a column of what the heads say, in values of one size.
func fixedArray[T any](c spendColumns, t arrow.DataType, of func(*spendHead) T) arrow.Array {
	buffer, values := newValues[T](c.mem, len(c.rows))
	row := 0
	for _, run := range c.runs {
		for v := of(run.head); row <= run.last; row++ {
			values[row] = v
		}
	}
	return arrayOf(t, len(c.rows), nil, buffer, 0)
}

// arrayOf is an array that owns its buffers.
func arrayOf(t arrow.DataType, n int, validity, values *memory.Buffer, nulls int) arrow.Array {
	data := array.NewData(t, n, []*memory.Buffer{validity, values}, nil, nulls, 0)
	defer data.Release()
	values.Release()
	if validity != nil {
		validity.Release()
	}
	return array.MakeFromData(data)
}
