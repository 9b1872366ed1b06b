package parquet

import (
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// RecordsOf makes Arrow records of rows, in their order. A record is valid only until the next iteration. Without rows
// it makes none.
func RecordsOf[R any](t schema.TableOf[R], all iter.Seq[R]) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		var rows []R
		give := func() bool {
			rec := t.Record(memory.DefaultAllocator, rows)
			defer rec.Release()
			rows = rows[:0]
			return yield(rec)
		}
		for r := range all {
			if rows = append(rows, r); len(rows) == RecordRows && !give() {
				return
			}
		}
		if len(rows) > 0 {
			give()
		}
	}
}
