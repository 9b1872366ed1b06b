package parquet

import (
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// spendRecordRows is how many rows a record has: enough that a column is worth its
// builder, few enough that a record stays small beside the rows it was made of.
const spendRecordRows = 4_096

// SpendRecords makes Arrow records of the rows of a day, in their order, some 4,000 rows
// each. A record is the loop body's alone and is released when the body
// returns: retain it to keep it. No rows are no record.
func SpendRecords(rows *schema.SpendRows) iter.Seq[arrow.Record] {
	return spendRecords(memory.DefaultAllocator, rows, schema.SpendDaily.Table)
}

func spendRecords(mem memory.Allocator, rows *schema.SpendRows, some *schema.Table) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for from := 0; from < rows.Len(); from += spendRecordRows {
			rec := rows.RecordOf(some, mem, from, min(from+spendRecordRows, rows.Len()))
			more := yield(rec)
			rec.Release()
			if !more {
				return
			}
		}
	}
}
