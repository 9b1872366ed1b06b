package parquet

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestWriteDay: WriteDay and Write give the same bytes.
func TestWriteDay(t *testing.T) {
	for _, n := range []int{0, 1, RecordRows, RecordRows + 1, 3 * RecordRows} {
		rows := make([]schema.Spend, n)
		for i := range rows {
			rows[i] = schematest.SpendRow(day, fmt.Sprint("S", i), schema.Money(i))
			if i%3 == 0 {
				rows[i].Clicks = schema.Null[int64]{}
			}
		}
		var packed, plain bytes.Buffer
		got, err := WriteDay(&packed, schematest.Packed(rows))
		if err != nil || got != int64(n) {
			t.Fatalf("%d rows written of %d, %v", got, n, err)
		}
		if _, err := write(&plain, schema.SpendDaily.Table, n, RecordsOf(schema.SpendDaily,
			slices.Values(rows))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(packed.Bytes(), plain.Bytes()) {
			t.Errorf("%d rows: %d bytes of packed rows, %d of plain ones, or others", n, packed.Len(), plain.Len())
		}
	}
}
