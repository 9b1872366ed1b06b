package duck

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestEveryColumn_SurvivesTheWholeWay takes rows of every table from the struct through Arrow and Parquet into DuckDB
// and back, and reads the file back, too. A new table or column is covered automatically.
func TestEveryColumn_SurvivesTheWholeWay(t *testing.T) {
	ctx := t.Context()
	for _, table := range schema.Documented() {
		t.Run(table.FullName(), func(t *testing.T) {
			want := schematest.Rows(table)
			path := writeRows(t, table, want)
			if got := rowsOfFile(t, table, path); !reflect.DeepEqual(want, got) {
				t.Errorf("row -> Arrow -> Parquet -> row (-want +got):\n%s", cmp.Diff(want, got))
			}
			conn, stop, err := openEngine(ctx, Options{}, filepath.Dir(path), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			out := filepath.Join(filepath.Dir(path), "out.parquet")
			statements := slices.Concat([]string{"CREATE SCHEMA IF NOT EXISTS ops", "CREATE SCHEMA IF NOT EXISTS mart"},
				table.CreateSQL(),
				ReplacePartition{Table: table, Files: []string{path}}.Statements(true), []string{fmt.Sprintf(
					"COPY (FROM %s ORDER BY %s) TO %s (FORMAT parquet)", table.SQLName(),
					strings.Join(table.KeyNames(), ", "), schema.QuoteText(out))})
			if err := execAll(ctx, conn, statements); err != nil {
				t.Fatal(err)
			}
			if got := rowsOfFile(t, table, out); !reflect.DeepEqual(want, got) {
				t.Errorf("row -> Arrow -> Parquet -> DuckDB -> Parquet -> row (-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

// writeRows writes rows of a table, whichever it is, as a Parquet file.
func writeRows(t *testing.T, table *schema.Table, rows any) string {
	t.Helper()
	rec, err := table.RecordOf(memory.DefaultAllocator, rows)
	if err != nil {
		t.Fatal(err)
	}
	return writeRecord(t, table, rec)
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

func rowsOfFile(t *testing.T, table *schema.Table, path string) any {
	t.Helper()
	rec, err := schematest.Concat(parquet.Records(durable.OS, path, table))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := table.RowsOf(rec)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
