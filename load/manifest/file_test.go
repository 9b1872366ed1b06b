package manifest

import (
	"bytes"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// putTable writes rows as the file of a table, and returns its path and description.
func putTable[R any](t testing.TB, dir, path string, table schema.TableOf[R], rows []R) *File {
	t.Helper()
	var b bytes.Buffer
	n, err := parquet.Write(&b, table.Table, parquet.Record(table, rows))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, path), b.Bytes())
	return &File{Kind: KindParquet, Table: table.Name, Rows: n, Bytes: int64(b.Len()), SHA256: HashLedger(b.Bytes())}
}

// TestFile_IsReadAsPublished: a file gives its rows if its bytes are the published ones. Otherwise each way to read
// it returns damage that names the file and no row; an error of the disk is not damage.
func TestFile_IsReadAsPublished(t *testing.T) {
	day := schema.NewDate(2026, 3, 8)
	rows := schematest.SpendOfSources(day, 1500) // more than a batch
	path := PartPath(schema.SpendDaily.Table, "acme", day)
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
		want   string // empty: its rows; else what the damage says
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

// TestCountRows: rows that cannot be read are damage unless the disk is at fault, and so is another number of them.
func TestCountRows(t *testing.T) {
	info := &File{Kind: KindParquet, Table: "spend_daily", Rows: 3}
	unreadable := errors.New("page 2 is cut")
	for name, c := range map[string]struct {
		rows int64
		err  error
		want string
	}{
		"as published": {3, nil, ""}, "more": {4, nil, "it has 4 rows, and had 3"}, "fewer": {2, nil, "it has 2 rows"},
		"unreadable": {3, unreadable, "page 2 is cut"},
	} {
		err := CountRows("p", info, c.rows, c.err)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, durable.ErrDamaged) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CountRows("p", info, 0, durable.ErrStorage); !errors.Is(err, durable.ErrStorage) ||
		errors.Is(err, durable.ErrDamaged) {
		t.Errorf("the disk fails: %v", err)
	}
}

// TestMerge writes the rows of files in the order of the files. What cannot be read is an error, not fewer rows.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	var want []schema.Spend
	for day := range schema.Date(3) {
		rows := schematest.SpendOfSources(20002-day, 3)
		path := PartPath(schema.SpendDaily.Table, "acme", 20002-day)
		putTable(t, dir, path, schema.SpendDaily, rows)
		paths, want = append(paths, filepath.Join(dir, path)), append(want, rows...)
	}
	files := func(then error) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, p := range paths {
				if !yield(p, nil) {
					return
				}
			}
			if then != nil {
				yield("", then)
			}
		}
	}
	merged := filepath.Join(dir, "merged")
	merge := func(files iter.Seq2[string, error]) error {
		var b bytes.Buffer
		err := Merge(&b, schema.SpendDaily.Table, files)
		write(t, merged, b.Bytes())
		return err
	}
	if err := merge(files(nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := parquet.ReadRows(merged, schema.SpendDaily); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d rows, %v; want %d", len(got), err, len(want))
	}
	lost := errors.New("the next file is lost")
	if err := merge(files(lost)); !errors.Is(err, lost) {
		t.Errorf("no next file: %v", err)
	}
	write(t, paths[1], []byte("no Parquet file"))
	if err := merge(files(nil)); err == nil {
		t.Error("a file that is none is left out")
	}
}

// TestReadDay: the file of a day with a row of another account or day is not that day's, and the row is named.
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

// TestRawPages_InOrder: replies come unpacked in the order that was asked for, and nothing comes after an error.
func TestRawPages_InOrder(t *testing.T) {
	dir, a := t.TempDir(), NewAccount(1)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"one", "two, which is longer", "three"}
	var paths []string
	for i, text := range texts {
		path := RawPath("acme", 20000, i+1)
		b := z.EncodeAll([]byte(text), nil)
		write(t, filepath.Join(dir, path), b)
		a.Files[path] = &File{Kind: KindRaw, Bytes: int64(len(b)), SHA256: HashLedger(b), Unpacked: int64(len(text))}
		paths = append(paths, path)
	}
	read := func(d durable.Disk) (got []string, err error) {
		for page, fails := range RawPages(d, dir, a, paths) {
			if err != nil {
				t.Error("a page after an error")
			}
			if err = fails; err == nil {
				got = append(got, string(page))
			}
		}
		return got, err
	}
	if got, err := read(durable.OS); err != nil || !slices.Equal(got, texts) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read(failingAt(dir, paths[1])); !errors.Is(err, durable.ErrStorage) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	write(t, filepath.Join(dir, paths[1]), []byte("x"))
	if got, err := read(durable.OS); !errors.Is(err, durable.ErrDamaged) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}
