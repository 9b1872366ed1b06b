package parquet

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/google/go-cmp/cmp"

	"spendsync/load/durable"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

const day = schema.Date(20777) // 2026-11-20

func batches(rows []schema.Spend, size int) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for part := range slices.Chunk(rows, size) {
			for rec := range Record(schema.SpendDaily, part) {
				if !yield(rec) {
					return
				}
			}
		}
	}
}

func TestWrite_CutsRowGroups(t *testing.T) {
	rows := make([]schema.Spend, rowsPerGroup+10)
	for i := range rows {
		rows[i] = schematest.SpendRow(day, "S1", schema.Money(i))
	}
	path := filepath.Join(t.TempDir(), "x")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Write(f, schema.SpendDaily.Table, batches(rows, 1000))
	if err != nil || n != int64(len(rows)) {
		t.Fatalf("Write = %d, %v", n, err)
	}
	f.Close()
	got, err := ReadRows(path, schema.SpendDaily)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rows, got); d != "" {
		t.Errorf("(-want +got):\n%.2000s", d)
	}
}

func BenchmarkWrite(b *testing.B) {
	rows := make([]schema.Spend, 100_000)
	for i := range rows {
		rows[i] = schematest.SpendRow(day, "S"+string(rune('0'+i%10)), schema.Money(i*37))
	}
	b.ReportAllocs()
	for b.Loop() {
		var n counter
		if _, err := Write(&n, schema.SpendDaily.Table, batches(rows, 16384)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/float64(len(rows)), "B/row")
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// TestRead_ShortFilesAreDamaged: a file that ends within its own magic bytes is damage, not an error of the disk.
func TestRead_ShortFilesAreDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "short.parquet")
	for _, content := range []string{"", "P", "PAR1", "PAR1PAR", "PAR1PAR1", "PAR1\xff\xff\xff\x7fPAR1"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Rows(durable.OS, path, schema.SpendDaily)
		_, versionErr := Version(durable.OS, path)
		for _, err := range []error{err, versionErr} {
			if !errors.Is(err, durable.ErrDamaged) || errors.Is(err, durable.ErrStorage) {
				t.Errorf("%q: %v", content, err)
			}
		}
	}
}
