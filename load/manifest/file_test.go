package manifest

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// putTable writes rows as the file of a table. It returns the path and the description of the file.
func putTable[R any](t testing.TB, dir, path string, table schema.TableOf[R], rows []R) *File {
	t.Helper()
	var b bytes.Buffer
	n, err := parquet.Write(&b, table.Table, parquet.Record(table, rows))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, path), b.Bytes())
	return &File{Kind: KindParquet, Table: table.Name, Rows: n, Bytes: int64(b.Len()),
		SHA256: durable.HashBytes(b.Bytes())}
}

// TestFile_IsReadAsPublished: if the bytes of a file differ from the published bytes, each function that reads the file
// returns no row, and an error that names the file as damaged. An error of the disk is not damage.
func TestFile_IsReadAsPublished(t *testing.T) {
	day := schema.NewDate(2026, 3, 8)
	rows := schematest.SpendOfSources(day, 1500) // more than a batch
	path := TablePath(schema.SpendDaily.Table, "acme", day)
	type change func(t *testing.T, dir string, info *File) durable.Disk
	edit := func(content func([]byte) []byte) change {
		return func(t *testing.T, dir string, info *File) durable.Disk {
			b, err := durable.OS.ReadFile(filepath.Join(dir, path), durable.MaxText)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, path), content(b))
			return durable.OS
		}
	}
	for name, c := range map[string]struct {
		change change
		want   string // text of the damage; empty: the rows are read
		disk   bool   // the disk fails
	}{
		"as published": {edit(func(b []byte) []byte { return b }), "", false},
		"missing": {func(_ *testing.T, dir string, _ *File) durable.Disk {
			if err := durable.OS.Remove(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
			return durable.OS
		}, "it is missing", false},
		"cut":     {edit(func(b []byte) []byte { return b[:len(b)-1] }), "bytes, and had", false},
		"changed": {edit(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "not those that were published", false},
		"unreadable": {func(_ *testing.T, dir string, _ *File) durable.Disk { return failingAt(dir, path) }, "",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			info := putTable(t, dir, path, schema.SpendDaily, rows)
			disk := c.change(t, dir, info)
			check := func(how string, got []schema.Spend, err error) {
				t.Helper()
				switch {
				case c.want == "" && !c.disk:
					if err != nil || !slices.Equal(got, rows) {
						t.Errorf("%s: %d rows, %v", how, len(got), err)
					}
				case c.disk:
					if !errors.Is(err, durable.ErrStorage) || errors.Is(err, durable.ErrDamaged) || len(got) > 0 {
						t.Errorf("%s: %d rows, %v", how, len(got), err)
					}
				default:
					var d *durable.Damage
					if !errors.As(err, &d) || d.Path != path || d.Repair != durable.RepairReplay ||
						!strings.Contains(d.What, c.want) || len(got) > 0 {
						t.Errorf("%s: %d rows, %v", how, len(got), err)
					}
				}
			}
			got, err := Rows(disk, dir, path, info, schema.SpendDaily)
			check("rows", got, err)
			got, err = nil, nil
			for batch, fails := range Batches(disk, dir, path, info, schema.SpendDaily) {
				got, err = append(got, batch...), errors.Join(err, fails)
			}
			check("batches", got, err)
		})
	}
}

// TestReadDay: a row of another account or day is an error that names the row.
func TestReadDay(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		edit func(*schema.Spend)
		want string
	}{
		"as it is": {func(*schema.Spend) {}, ""},
		"another account": {func(r *schema.Spend) { r.AccountID = "other" },
			`row 3 is of account "other", day 2024-10-04`},
		"another day": {func(r *schema.Spend) { r.ReportDate++ }, `row 3 is of account "acme", day 2024-10-05`},
	} {
		rows := schematest.SpendOfSources(20000, 4)
		c.edit(&rows[2])
		putTable(t, dir, "x", schema.SpendDaily, rows)
		got, err := ReadDay(durable.OS, filepath.Join(dir, "x"), "acme", 20000)
		if c.want == "" && (err != nil || got.Len() != 4) || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %d rows, %v", name, got.Len(), err)
		}
	}
	write(t, filepath.Join(dir, "x"), []byte("no Parquet file"))
	if _, err := ReadDay(durable.OS, filepath.Join(dir, "x"), "acme", 20000); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("no Parquet file: %v", err)
	}
}
