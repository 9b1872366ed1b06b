package duck

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	arrowarray "github.com/apache/arrow/go/v17/arrow/array"
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
			statements := slices.Concat([]string{"CREATE SCHEMA IF NOT EXISTS ops", "CREATE SCHEMA IF NOT EXISTS mart"},
				table.CreateSQL(),
				ReplacePartition{Table: table, Files: []string{path}}.Statements(true))
			if err := execAll(ctx, conn, statements); err != nil {
				t.Fatal(err)
			}
			rec, err := parquet.Concat(tableRecords(ctx, conn, table, "SELECT "+table.SQLColumns()+" FROM "+
				table.SQLName(), "true"))
			if err != nil {
				t.Fatal(err)
			}
			defer rec.Release()
			got, err := table.RowsOf(rec)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("row -> Arrow -> Parquet -> DuckDB -> row: %v (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestEveryColumn_ThatCameLaterIsNULLInOlderFiles: a file from before its table gained columns is read by us and by
// DuckDB with NULL in them, and with all other columns unchanged.
func TestEveryColumn_ThatCameLaterIsNULLInOlderFiles(t *testing.T) {
	ctx := t.Context()
	for _, table := range schema.Tables {
		was := table.AsOf(schema.Version - 1)
		if !table.HasFiles() || was == nil || was == table {
			continue
		}
		t.Run(table.FullName(), func(t *testing.T) {
			want := schematest.Rows(table)
			whole, err := table.RecordOf(memory.DefaultAllocator, want)
			if err != nil {
				t.Fatal(err)
			}
			var columns []arrow.Array
			rows := reflect.ValueOf(want)
			for i, c := range table.Columns {
				if slices.Contains(was.ColumnNames(), c.Name) {
					columns = append(columns, whole.Column(i))
					continue
				}
				for n := range rows.Len() {
					schematest.Clear(table, rows.Index(n), i)
				}
			}
			path := writeRecord(t, was, arrowarray.NewRecord(was.Arrow, columns, whole.NumRows()))
			if got := rowsOfFile(t, table, path); !reflect.DeepEqual(want, got) {
				t.Errorf("from Parquet (-want +got):\n%s", cmp.Diff(want, got))
			}
			conn, stop, err := openEngine(ctx, Options{}, filepath.Dir(path), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			load := ReplacePartition{Table: table, Files: []string{path}}
			if err := execAll(ctx, conn, append(table.CreateSQL(), load.Statements(true)...)); err != nil {
				t.Fatal(err)
			}
			rec, err := parquet.Concat(tableRecords(ctx, conn, table, "SELECT "+table.SQLColumns()+" FROM "+
				table.SQLName(), "true"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := table.RowsOf(rec)
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("from DuckDB: %v (-want +got):\n%s", err, d)
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
	rec, err := parquet.Concat(parquet.Records(durable.OS, path, table))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := table.RowsOf(rec)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
