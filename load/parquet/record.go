package parquet

import (
	"iter"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
)

// Record makes Arrow records of all rows, in their order, [RecordRows] each: one record of a large
// table would need as much memory as the table again. A record is released after its use. No rows
// make one empty record.
func Record[R any](t schema.TableOf[R], rows []R) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		give := func(rows []R) bool {
			rec := t.Record(memory.DefaultAllocator, rows)
			defer rec.Release()
			return yield(rec)
		}
		if len(rows) == 0 {
			give(rows)
		}
		for some := range slices.Chunk(rows, RecordRows) {
			if !give(some) {
				return
			}
		}
	}
}

// SameBatches cuts rows that come in any batches into those of [Record], so that equal rows
// give an equal file. A batch is valid only until the next iteration.
func SameBatches[R any](rows iter.Seq2[[]R, error]) iter.Seq2[[]R, error] {
	return func(yield func([]R, error) bool) {
		var batch []R
		given := false
		for some, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			for len(some) > 0 {
				if len(batch) == RecordRows {
					if given = true; !yield(batch, nil) {
						return
					}
					batch = batch[:0]
				}
				fits := min(len(some), RecordRows-len(batch))
				batch, some = append(batch, some[:fits]...), some[fits:]
			}
		}
		if len(batch) > 0 || !given {
			yield(batch, nil)
		}
	}
}

// RecordBatches makes Arrow records of rows that come in batches: a record of each, which is
// released after its use. Nothing follows an error.
func RecordBatches[R any](t schema.TableOf[R], batches iter.Seq2[[]R, error]) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		for rows, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			rec := t.Record(memory.DefaultAllocator, rows)
			more := yield(rec, nil)
			rec.Release()
			if !more {
				return
			}
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
