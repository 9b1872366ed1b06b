package lake

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/iceberg-go"

	"spendsync/load/lake/laketest"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// SampleBytes are the bytes of a file that nobody has made: of a size as a day has, and no table at all.
func SampleBytes(d schema.Date) []byte { return bytes.Repeat([]byte(d.String()), 400) }

// Fill brings a store into the lake as metadata alone, for benchmarks: each file is described as one that is.
func Fill(t testing.TB, in *laketest.World, s *laketest.Store) {
	t.Helper()
	w := &world{in}
	l := w.open()
	_, err := l.Try(w.Context(), FollowOptions{}, func(t *Try) error {
		marks, err := readAll(w.Context(), t, nil)
		if err != nil {
			return err
		}
		tables, err := t.tables(w.Context(), marks)
		if err != nil {
			return err
		}
		return t.Commit(w.Context(), w.staged(s, marks, tables))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// staged are the files of a store, as if they lay in the lake.
func (w *world) staged(s *store, marks *Markers, tables map[string]*lakeTable) *Staged {
	specs := marks.lake.specs
	wanted := want(w, w.TempDir(), s.M, specs)
	wanted.marks = marks
	staged := &Staged{wanted: wanted}
	for _, spec := range specs[:len(specs)-1] {
		c := &change{t: tables[spec.name], live: &live{}}
		if spec.name == "spend_daily" {
			like := w.sampleFile(c.t)
			for at, files := range wanted.files[spec.name] {
				for _, one := range files {
					c.added = append(c.added, w.described(c.t, like, at, one))
				}
			}
		}
		staged.changes = append(staged.changes, c)
	}
	return staged
}

// sampleFile describes a real file of spend_daily, with the bounds of all its columns.
func (w *world) sampleFile(t *lakeTable) iceberg.DataFile {
	w.Helper()
	rows := []schema.Spend{{AccountID: "account-000", ReportDate: day("2026-11-01"), CampaignID: "C13346012",
		Clicks: schema.Some(int64(7))}}
	var b bytes.Buffer
	if _, err := parquet.Write(&b, schema.SpendDaily.Table, parquet.Record(schema.SpendDaily, rows)); err != nil {
		w.Fatal(err)
	}
	d, err := t.describe(w.Context(), "s3://lake/sample.parquet", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) described(t *lakeTable, like iceberg.DataFile, at partition, f file) iceberg.DataFile {
	w.Helper()
	content := SampleBytes(f.day)
	object := t.tbl.Location() + "/" + f.object(manifest.HashLedger(content)[:12]+"01234567")
	w.Write(object, content)
	build, err := iceberg.NewDataFileBuilder(t.tbl.Spec(), iceberg.EntryContentData,
		object, iceberg.ParquetFile,
		map[int]any{accountPartition: at.account, monthPartition: int32(at.month)}, nil, nil, f.info.Rows,
		int64(len(content)))
	if err != nil {
		w.Fatal(err)
	}
	return build.ColumnSizes(like.ColumnSizes()).ValueCounts(like.ValueCounts()).
		NullValueCounts(like.NullValueCounts()).LowerBoundValues(like.LowerBoundValues()).
		UpperBoundValues(like.UpperBoundValues()).SplitOffsets(like.SplitOffsets()).
		SortOrderID(t.tbl.SortOrder().OrderID()).Build()
}

// readAll reads the rows of accounts in lake_generation; nil: of all.
func readAll(ctx context.Context, t *Try, accounts []string) (*Markers, error) {
	marker, made, err := t.lake.marker(ctx)
	if err != nil {
		return nil, err
	}
	return t.read(ctx, marker, made, accounts)
}
