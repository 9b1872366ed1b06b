package parquet

import (
	"slices"
	"testing"

	"spendsync/schema"
)

func TestRecord_CutsALargeTable(t *testing.T) {
	for n, want := range map[int][]int64{
		0: nil, 1: {1}, RecordRows: {RecordRows}, 2*RecordRows + 3: {RecordRows, RecordRows, 3},
	} {
		var got []int64
		rows := make([]schema.SourceRule, n)
		for rec := range Record(schema.SourceRuleHistory, rows) {
			got = append(got, rec.NumRows())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d rows: records of %d, want %d", n, got, want)
		}
	}
}
