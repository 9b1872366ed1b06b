package load

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestUpgrade_WritesFilesAgain upgrades a store of version 10, whose calendar had two more columns. Afterwards all
// files of a folder have one schema, and the rows are equal.
func TestUpgrade_WritesFilesAgain(t *testing.T) {
	dir := quickDir(t)
	loadtest.Unpack(t, "../testdata/stores/v10-3.tar.zst", dir)
	was, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	account := was.AccountNames()[0]
	path := manifest.TablePath(schema.Calendar.Table, account, 0)
	days, err := manifest.Rows(durable.OS, dir, path, was.Accounts[account].Files[path], schema.Calendar)
	if err != nil || len(days) != 2*365 {
		t.Fatalf("%d days before: %v", len(days), err)
	}
	r := newRun(t, dir)
	r.account, r.at = account, was.PublishedAt.Time().Add(time.Minute)
	is, err := r.sync(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := is.Accounts[account].Files[path]
	if file.SHA256 == was.Accounts[account].Files[path].SHA256 || is.SchemaVersion != schema.Version {
		t.Errorf("the calendar stayed as it was, and the store is of version %d", is.SchemaVersion)
	}
	for path, f := range was.Accounts[account].Files {
		_, err := os.Stat(filepath.Join(dir, path))
		if f.Kind == manifest.KindSettings && (is.Accounts[account].Files[path] != nil || err == nil) {
			t.Errorf("%s is still there", path)
		}
	}
	for path, f := range is.Accounts[account].Files {
		if table := schema.Named(f.Table); table != nil && table.FilesVersion() > was.SchemaVersion {
			version, err := parquet.Version(durable.OS, filepath.Join(dir, path))
			if err != nil || version != table.FilesVersion() {
				t.Errorf("%s is of version %d: %v", path, version, err)
			}
		}
	}
	if again, err := manifest.Rows(durable.OS, dir, path, file, schema.Calendar); err != nil ||
		!slices.Equal(again, days) {
		t.Errorf("the calendar has other rows: %v", err)
	}
	var b bytes.Buffer
	stored, err := os.ReadFile(filepath.Join(dir, path))
	if _, werr := parquet.Write(&b, schema.Calendar.Table, parquet.Record(schema.Calendar, days)); err != nil ||
		werr != nil || !bytes.Equal(b.Bytes(), stored) {
		t.Errorf("equal rows gave other bytes: %v, %v", err, werr)
	}
	for path, f := range was.Accounts[account].Files {
		table := schema.Named(f.Table)
		if table == nil || table.View != "" || table.FilesVersion() > was.SchemaVersion {
			continue
		}
		if now := is.Accounts[account].Files[path]; now == nil || *now != *f {
			t.Errorf("%s was written again", path)
		}
	}
	r.at = r.at.Add(time.Hour)
	if next, err := r.sync(nil); err != nil || *next.Accounts[account].Files[path] != *file {
		t.Errorf("the next run wrote the calendar again: %v", err)
	}
}

// TestUpgrade_AddsAColumn: if a later version adds a column to a table, the files of an older store get the column with
// NULL, and the first value that is read completes the current version.
func TestUpgrade_AddsAColumn(t *testing.T) {
	for _, table := range []*schema.Table{schema.CampaignHistory.Table} {
		t.Run(table.Name, func(t *testing.T) {
			name := "gender"
			dir := quickDir(t)
			first := sceneFirst()
			o := sceneOptions(durable.Disk{FS: lazyFiles{}})
			o.Now = first.now
			if err := first.do(t.Context(), dir, o); err != nil {
				t.Fatal(err)
			}
			takeBack(t, dir, table, name)

			second := sceneFirst()
			second.id, second.days, second.at = "upgrade", nil, first.at.Add(time.Hour)
			s, g, err := second.begin(t.Context(), dir, o)
			if err != nil {
				t.Fatal(err)
			}
			m, err := second.publish(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			checkStore(t, dir)
			if n := len(m.Accounts["acme"].Memory[table.Name].Never); (n > 0) != table.Versioned {
				t.Errorf("%d entities have never been read with the column", n)
			}
			if table.Versioned {
				h, err := StoredHistory(s, schema.CampaignHistory)
				if err != nil {
					t.Fatal(err)
				}
				seen := history.Seen[schema.Campaign]{Row: h.Rows[0]}
				seen.Row.Gender = schema.Some("male")
				next, st, err := history.Advance[schema.Campaign](schema.CampaignHistory,
					schema.CampaignHistory.Tracked(), h, history.Observation[schema.Campaign]{
						At: schema.InstantOf(second.at.Add(time.Hour)), Seen: []history.Seen[schema.Campaign]{seen}})
				if err != nil || st.Versions != 0 || st.Filled != 1 || len(next.Rows) != len(h.Rows) {
					t.Errorf("%+v, %d versions of %d: %v", st, len(next.Rows), len(h.Rows), err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for path, f := range m.Accounts["acme"].Files {
				if f.Table != table.Name {
					continue
				}
				if version, err := parquet.Version(durable.OS, filepath.Join(dir, path)); version != schema.Version {
					t.Errorf("%s is of version %d: %v", path, version, err)
				}
			}
			if got := query(t, dir, "SELECT count(*) > 0, count("+name+") FROM "+table.Name); got != "true|0" {
				t.Errorf("rows, and of these with the column: %s", got)
			}
		})
	}
}

// takeBack turns a store of this version into a store of the oldest version, in which a table lacks one column.
func takeBack(t *testing.T, dir string, table *schema.Table, column string) {
	t.Helper()
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, old := m.Accounts["acme"].Files, m.AccountFiles["acme"].Path
	index := slices.IndexFunc(table.Columns, func(c schema.Column) bool { return c.Name == column })
	recs := map[string]arrow.Record{}
	for path, f := range files {
		if f.Table == table.Name {
			all, err := schematest.Concat(parquet.Records(durable.OS, filepath.Join(dir, path), table))
			if err != nil {
				t.Fatal(err)
			}
			recs[path] = array.NewRecord(table.Only(func(c schema.Column) bool { return c.Name != column }).Arrow,
				slices.Delete(slices.Clone(all.Columns()), index, index+1), all.NumRows())
		}
	}
	table.Columns[index].Since = schema.Version // like the struct tag since
	t.Cleanup(func() { table.Columns[index].Since = schema.Oldest })
	for path, rec := range recs {
		var b bytes.Buffer
		if _, err := parquet.Write(&b, table.AsOf(schema.Oldest), slices.Values([]arrow.Record{rec})); err != nil {
			t.Fatal(err)
		}
		f := *files[path]
		f.Bytes, f.SHA256 = int64(b.Len()), fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
		files[path] = &f
		replace(t, filepath.Join(dir, path), b.Bytes())
	}
	m.SchemaVersion = schema.Oldest
	e, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	e.AccountFiles[manifest.FileName] = e.Root
	for path, b := range e.AccountFiles {
		replace(t, filepath.Join(dir, path), b)
	}
	if err := os.Remove(filepath.Join(dir, old)); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
