package duck

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// TestWriteMart_GivesTheSameBytes: the same rows give the same file, whether the engine has one thread and little
// memory or several threads, and in whatever order the rows come. Package parquet can read the file. A ratio beyond the
// range of its column is NULL.
func TestWriteMart_GivesTheSameBytes(t *testing.T) {
	mart := schema.Marts[1]
	var columns []string
	for _, c := range mart.Columns {
		e := "NULL"
		switch {
		case c.Name == "source_id":
			e = "'S' || hash(i)"
		case c.Name == "campaign_id":
			e = "'C' || i % 7"
		case c.Name == "cpc":
			e = "CASE WHEN i = 7 THEN 1e12 ELSE i / 3.0::DOUBLE END"
		case !c.Nullable && c.DuckDB() == "VARCHAR":
			e = "'it''s'"
		case !c.Nullable && c.DuckDB() == "DATE":
			e = "DATE '2026-11-01'"
		case !c.Nullable:
			e = "i"
		}
		columns = append(columns, e+" AS "+c.Name)
	}
	write := func(o Options, order string) (string, []byte) {
		dir := t.TempDir()
		o.TempDir = filepath.Join(dir, "tmp")
		o.Dir, o.Disk = dir, durable.OS
		w, err := Open(t.Context(), filepath.Join(dir, "w.duckdb"), o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop(nil)
		err = w.Exec(t.Context(), "CREATE SCHEMA w.mart", "CREATE VIEW w.mart."+mart.View+" AS SELECT "+
			strings.Join(columns, ", ")+" FROM range(50000) AS r (i) ORDER BY "+order)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "mart.staged")
		if rows, err := w.Models().WriteMart(t.Context(), mart, "it's", 0, path); err != nil || rows != 50000 {
			t.Fatalf("%d rows were written: %v", rows, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, b
	}
	path, one := write(Options{Threads: 1, Memory: "40MiB"}, "i")
	if _, several := write(Options{Threads: 4}, "hash(i) DESC"); !slices.Equal(one, several) {
		t.Error("the same rows gave two files")
	}
	rows, err := parquet.ReadRows(path, schema.Source30ds)
	if err != nil || len(rows) != 50000 {
		t.Fatalf("%d rows are read, %v", len(rows), err)
	}
	if !slices.IsSortedFunc(rows, func(a, b schema.Source30d) int {
		return strings.Compare(a.CampaignID+a.SourceID, b.CampaignID+b.SourceID)
	}) {
		t.Error("the rows are not in the order of the key")
	}
	unknown := slices.DeleteFunc(slices.Clone(rows), func(r schema.Source30d) bool { return r.CPC.Valid })
	if len(unknown) != 1 || unknown[0].Spend != 7e6 {
		t.Errorf("%d rows have no cost per click: %v", len(unknown), unknown[:min(1, len(unknown))])
	}
	if v, err := parquet.Version(durable.OS, path); err != nil || v != mart.FilesVersion() {
		t.Errorf("the file names version %d of its table, %v", v, err)
	}
	opened, err := parquetgo.OpenFile(bytes.NewReader(one), int64(len(one)))
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range opened.Schema().Fields() {
		if field.ID() != mart.Columns[i].FieldID {
			t.Errorf("%s has the field id %d, want %d", field.Name(), field.ID(), mart.Columns[i].FieldID)
		}
	}
	if i := slices.IndexFunc(rows, func(r schema.Source30d) bool { return r.Spend == 1_000_000 }); rows[i].CPC.V !=
		333_333 || rows[i].CTR.Valid || rows[i].AccountID != "it's" {
		t.Errorf("row 1 = %+v", rows[i])
	}
}
