package schematest

import (
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Concat joins records into one, which the caller must release.
func Concat(recs iter.Seq2[arrow.Record, error]) (all arrow.Record, err error) {
	var parts []arrow.Record
	defer func() {
		for _, rec := range parts {
			rec.Release()
		}
	}()
	for rec, err := range recs {
		if err != nil {
			return nil, err
		}
		rec.Retain()
		parts = append(parts, rec)
	}
	columns, rows := make([]arrow.Array, len(parts[0].Columns())), int64(0)
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		var pieces []arrow.Array
		for _, rec := range parts {
			pieces = append(pieces, rec.Column(i))
		}
		if columns[i], err = array.Concatenate(pieces, memory.DefaultAllocator); err != nil {
			return nil, err
		}
		rows = int64(columns[i].Len())
	}
	return array.NewRecord(parts[0].Schema(), columns, rows), nil
}
