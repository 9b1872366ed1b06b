package parquet

import (
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// ChangeRecords makes Arrow records of restatements, in their order. A record is valid only until the next iteration.
// Without lines it makes none.
func ChangeRecords(lines iter.Seq[schema.SpendChange]) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		var rows []schema.SpendChange
		give := func() bool {
			rec := schema.SpendChanges.Record(memory.DefaultAllocator, rows)
			defer rec.Release()
			rows = rows[:0]
			return yield(rec)
		}
		for l := range lines {
			if rows = append(rows, l); len(rows) == RecordRows && !give() {
				return
			}
		}
		if len(rows) > 0 {
			give()
		}
	}
}
