package parquet

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

func manyRows(n int) []schema.Spend {
	rows := make([]schema.Spend, n)
	for i := range rows {
		rows[i] = schematest.SpendRow(day, fmt.Sprint("S", i), schema.Money(i))
		if i%3 == 0 {
			rows[i].Clicks = schema.Null[int64]{}
		}
	}
	return rows
}

func TestSpendRecords_HoldAllRowsInOrder(t *testing.T) {
	for _, n := range []int{0, 1, RecordRows, RecordRows + 1, 3 * RecordRows} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		want := manyRows(n)
		sizes, from := 0, 0
		for rec := range SpendRecords(mem, schematest.Packed(want)) {
			if rec.NumRows() > RecordRows {
				t.Errorf("%d rows in one record", rec.NumRows())
			}
			to := from + int(rec.NumRows())
			wanted := schema.SpendDaily.Record(mem, want[from:to])
			if !array.RecordEqual(rec, wanted) {
				t.Errorf("%d rows: those from %d on are not those that went in", n, from)
			}
			wanted.Release()
			from = to
			sizes++
		}
		if sizes != (n+RecordRows-1)/RecordRows {
			t.Errorf("%d rows make %d records", n, sizes)
		}
		if from != n {
			t.Errorf("%d rows came of %d", from, n)
		}
		mem.AssertSize(t, 0)
	}
}

func TestSpendRecords_ReleaseWhenTheLoopIsLeft(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	for range SpendRecords(mem, schematest.Packed(manyRows(2*RecordRows))) {
		break
	}
	mem.AssertSize(t, 0)
}

func TestSpendRecords_CanBeRetained(t *testing.T) {
	var kept []arrow.Record
	for rec := range SpendRecords(memory.DefaultAllocator, schematest.Packed(manyRows(3))) {
		rec.Retain()
		kept = append(kept, rec)
	}
	for _, rec := range kept {
		if rec.NumRows() != 3 || rec.Column(3) == nil {
			t.Errorf("record of %d rows", rec.NumRows())
		}
		rec.Release()
	}
}

func BenchmarkSpendRecords(b *testing.B) {
	rows := schematest.Packed(manyRows(100_000))
	b.ReportAllocs()
	for b.Loop() {
		for rec := range SpendRecords(memory.DefaultAllocator, rows) {
			if rec.NumRows() == 0 {
				b.Fatal("an empty record")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows.Len()), "ns/row")
}
