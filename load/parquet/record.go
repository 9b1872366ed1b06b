package parquet

import (
	"iter"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// Record converts a slice of rows to Arrow records, as [RecordsOf] does for an iterator.
func Record[R any](t schema.TableOf[R], rows []R) iter.Seq[arrow.Record] {
	return RecordsOf(t, slices.Values(rows))
}

// RecordsOf converts rows to Arrow records of [RecordRows] rows; the last record may have fewer rows. The fixed size
// bounds the memory and ensures that equal rows give equal files. A record is valid only until the next iteration.
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

// UntilError yields the records before the first error. It stores the error in *failed.
func UntilError(recs iter.Seq2[arrow.Record, error], failed *error) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for rec, err := range recs {
			if *failed = err; err != nil || !yield(rec) {
				return
			}
		}
	}
}
