package parquet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"spendsync/load/durable"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestWriteDay: whatever columns differ from those of the stored file, the bytes are those of a
// file that is written whole.
func TestWriteDay(t *testing.T) {
	columns := schema.SpendDaily.ColumnNames()
	whole := func(rows []schema.Spend, size int) []byte {
		var b bytes.Buffer
		if _, err := Write(&b, schema.SpendDaily.Table, batches(rows, size)); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	few, batch, many := manyRows(20), manyRows(valuesPerBatch), manyRows(rowsPerGroup+10)
	for i := range batch { // names that one dictionary cannot hold
		batch[i].CampaignName = fmt.Sprintf("%0300d", i)
	}
	for i := range many { // as many sources as one dictionary cannot hold, and values that repeat
		many[i].CampaignName, many[i].Impressions.V = fmt.Sprint("name ", i%3), int64(i*i)
	}
	for name, c := range map[string]struct {
		rows   []schema.Spend
		size   int // rows of a record in the stored file
		edit   func(i int, r *schema.Spend)
		differ []string
	}{
		"numbers": {many, RecordRows, func(i int, r *schema.Spend) {
			if i%50 == 0 {
				r.Spend, r.Clicks, r.Impressions.V = -r.Spend, schema.Null[int64]{}, 7
				r.ChangedAt, r.RunID = r.ChangedAt+1, "later"
			}
		}, []string{"spend", "clicks", "impressions", "_changed_at", "_run_id"}},
		"NULL comes and goes": {few, RecordRows, func(i int, r *schema.Spend) {
			r.Clicks, r.Conversions = schema.Some(int64(i)), schema.Null[int64]{}
		}, []string{"clicks", "conversions"}},
		"a batch of long names": {batch, RecordRows, func(_ int, r *schema.Spend) { r.Spend++ }, nil},
		"a name": {few, RecordRows, func(_ int, r *schema.Spend) { r.CampaignName = "other" },
			[]string{"campaign_name"}},
		"everything": {few, RecordRows, func(i int, r *schema.Spend) { *r = few[19-i] }, columns},
		"a file that is cut otherwise": {many, 1000, func(_ int, r *schema.Spend) { r.Spend++ },
			[]string{"spend"}},
		"nothing":                      {few, RecordRows, func(int, *schema.Spend) {}, []string{}},
		"it is not known which differ": {few, RecordRows, func(_ int, r *schema.Spend) { r.Spend++ }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stored")
			if err := os.WriteFile(path, whole(c.rows, c.size), 0o644); err != nil {
				t.Fatal(err)
			}
			rows := slices.Clone(c.rows)
			for i := range rows {
				c.edit(i, &rows[i])
			}
			var differ []bool
			for _, column := range columns {
				if c.differ != nil {
					differ = append(differ, slices.Contains(c.differ, column))
				}
			}
			var got bytes.Buffer
			n, err := WriteDay(durable.OS, &got, schematest.Packed(rows), path, differ)
			if err != nil || n != int64(len(rows)) {
				t.Fatalf("WriteDay = %d, %v", n, err)
			}
			if !bytes.Equal(got.Bytes(), whole(rows, RecordRows)) {
				t.Error("not the bytes of a file that is written whole")
			}
		})
	}
}

// BenchmarkWriteDay writes a day in which some numbers are other than before.
func BenchmarkWriteDay(b *testing.B) {
	rows := manyRows(100_000)
	var whole bytes.Buffer
	if _, err := Write(&whole, schema.SpendDaily.Table, batches(rows, RecordRows)); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "stored")
	if err := os.WriteFile(path, whole.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	var differ []bool
	for _, c := range schema.SpendDaily.Columns {
		differ = append(differ, slices.Contains([]string{"spend", "_changed_at", "_run_id"}, c.Name))
	}
	day := schematest.Packed(rows)
	for b.Loop() {
		if _, err := WriteDay(durable.OS, new(counter), day, path, differ); err != nil {
			b.Fatal(err)
		}
	}
}
