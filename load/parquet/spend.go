package parquet

import (
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// WriteDay writes the rows of a day, in the bytes in which [Write] writes their records.
func WriteDay(out io.Writer, rows *schema.SpendRows) (int64, error) {
	return write(out, schema.SpendDaily.Table, rows.Len(), SpendRecords(memory.DefaultAllocator, rows))
}

// SpendRecords makes Arrow records of the rows of a day, in their order, [RecordRows] each. A record is valid only
// until the next iteration: retain it to keep it. Without rows it makes none.
func SpendRecords(mem memory.Allocator, rows *schema.SpendRows) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for from := 0; from < rows.Len(); from += RecordRows {
			rec := rows.Record(mem, from, min(from+RecordRows, rows.Len()))
			more := yield(rec)
			rec.Release()
			if !more {
				return
			}
		}
	}
}
