package parquet

import (
	"iter"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// Record is [RecordsOf] of a slice.
func Record[R any](t schema.TableOf[R], rows []R) iter.Seq[arrow.Record] {
	return RecordsOf(t, slices.Values(rows))
}

// RecordsOf makes Arrow records of rows, in their order, [RecordRows] each, so that equal rows give an equal file: one
// record of a large table would need as much memory as the table again. A record is valid only until the next
// iteration. Without rows it makes none.
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

// UntilError hands on the records before an error, and the error.
func UntilError(recs iter.Seq2[arrow.Record, error], failed *error) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for rec, err := range recs {
			if *failed = err; err != nil || !yield(rec) {
				return
			}
		}
	}
}
