package transform

import (
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// recordRows is how many rows a record has: enough that a column is worth its
// builder, few enough that a record stays small beside the rows it was made of.
const recordRows = 4_096

// Records makes Arrow records of the rows of a day, in their order, some 4,000 rows
// each. A record is the loop body's alone and is released when the body
// returns: retain it to keep it. No rows are no record.
func Records(rows *schema.SpendRows) iter.Seq[arrow.Record] {
	return records(memory.DefaultAllocator, rows)
}

func records(mem memory.Allocator, rows *schema.SpendRows) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for from := 0; from < rows.Len(); from += recordRows {
			rec := rows.Record(mem, from, min(from+recordRows, rows.Len()))
			more := yield(rec)
			rec.Release()
			if !more {
				return
			}
		}
	}
}
