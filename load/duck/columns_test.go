package duck

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestEveryColumn_SurvivesTheWholeWay takes rows of every table through Parquet into DuckDB and back, and reads both
// files as records: TestEveryKind compares the values themselves. A new table or column is covered automatically.
func TestEveryColumn_SurvivesTheWholeWay(t *testing.T) {
	ctx := t.Context()
	for _, table := range schema.Documented() {
		t.Run(table.FullName(), func(t *testing.T) {
			want, err := table.RecordOf(memory.DefaultAllocator, schematest.Rows(table))
			if err != nil {
				t.Fatal(err)
			}
			path := writeRecord(t, table, want)
			out := filepath.Join(filepath.Dir(path), "out.parquet")
			conn, stop, err := openEngine(ctx, Options{}, filepath.Dir(path), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			statements := slices.Concat([]string{"CREATE SCHEMA IF NOT EXISTS ops", "CREATE SCHEMA IF NOT EXISTS mart"},
				table.CreateSQL(),
				ReplacePartition{Table: table, Files: []string{path}}.Statements(true), []string{fmt.Sprintf(
					"COPY (FROM %s ORDER BY %s) TO %s (FORMAT parquet)", table.SQLName(),
					strings.Join(table.KeyNames(), ", "), schema.QuoteText(out))})
			if err := execAll(ctx, conn, statements); err != nil {
				t.Fatal(err)
			}
			for way, path := range map[string]string{"Parquet": path, "Parquet -> DuckDB -> Parquet": out} {
				got, err := schematest.Concat(parquet.Records(durable.OS, path, table))
				if err != nil {
					t.Fatal(err)
				}
				if !array.RecordEqual(want, got) {
					t.Errorf("Arrow -> %s -> Arrow: %v, want %v", way, got, want)
				}
			}
		})
	}
}

func writeRecord(t *testing.T, table *schema.Table, rec arrow.Record) string {
	t.Helper()
	var b bytes.Buffer
	if n, err := parquet.Write(&b, table, slices.Values([]arrow.Record{rec})); err != nil || n != rec.NumRows() {
		t.Fatalf("%d rows of %d were written: %v", n, rec.NumRows(), err)
	}
	path := filepath.Join(t.TempDir(), "data.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
