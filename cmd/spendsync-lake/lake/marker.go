package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// MarkerTable is the name of the table that records which generation of each account the lake has. The rows of this
// table are called markers. The table is committed in one transaction with the other tables.
const MarkerTable = "lake_generation"

// Marker is a row of lake_generation. It records which generation of one account the lake has.
type Marker struct {
	AccountID     string `parquet:"account_id,id(1)"`
	Generation    int64  `parquet:"generation,id(2)"`
	RunID         string `parquet:"run_id,id(3)"`
	PublishedAt   int64  `parquet:"published_at,timestamp(microsecond:utc),id(4)"`
	CommittedAt   int64  `parquet:"committed_at,timestamp(microsecond:utc),id(5)"`
	Days          int64  `parquet:"days,id(6)"`
	Rows          int64  `parquet:"rows,id(7)"`
	Files         int64  `parquet:"files,id(8)"`
	SchemaVersion int64  `parquet:"schema_version,id(9)"`
	Version       string `parquet:"version,id(10)"`
	Snapshots     string `parquet:"snapshots,id(11)"`
}

// markerSpec returns the spec of lake_generation. Its column ids are those of [Marker].
func markerSpec() *tableSpec {
	column := func(id int, name string, t iceberg.Type, doc string) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: t, Required: true, Doc: doc}
	}
	text, count, moment := iceberg.PrimitiveTypes.String, iceberg.PrimitiveTypes.Int64,
		iceberg.PrimitiveTypes.TimestampTz
	s := &tableSpec{name: MarkerTable, parts: *iceberg.UnpartitionedSpec, order: sortOrder([]int{1})}
	s.schema = iceberg.NewSchemaWithIdentifiers(0, []int{1},
		column(1, "account_id", text, "Short name of the account."),
		column(2, "generation", count, "Generation of the store that the lake has of this account."),
		column(3, "run_id", text, "Run that published it."),
		column(4, "published_at", moment, "When it was published in the store."),
		column(5, "committed_at", moment, "When it was committed to the lake."),
		column(6, "days", count, "Report days of which something is proven."),
		column(7, "rows", count, "Rows of the account in all tables."),
		column(8, "files", count, "Files of the account in all tables."),
		column(9, "schema_version", count, "Version of the tables as a whole."),
		column(10, "version", text, "Version of spendsync-lake that committed it."),
		column(11, "snapshots", text, "JSON: the snapshot of each table that holds this generation. To read several "+
			"tables of one generation, read each FOR VERSION AS OF its snapshot."))
	s.props = properties("Which generation of each account the lake has; one row an account, committed with the " +
		"others.")
	return s
}

// markers contains all rows of lake_generation, including the rows for accounts of other stores, and the files that
// contain these rows.
type markers struct {
	rows  map[string]Marker // by account
	files []iceberg.DataFile
}

// maxMarkerFile bounds a file of lake_generation in bytes. A row has a few hundred bytes.
const maxMarkerFile = 16 << 20

// markers reads the rows of lake_generation.
func (t *lakeTable) markers() (*markers, error) {
	m := &markers{rows: map[string]Marker{}}
	var err error
	if m.files, _, err = t.files(); err != nil {
		return nil, err
	}
	for _, d := range m.files {
		foreign := func(why any) error {
			return fmt.Errorf("%w: %s: %s: %v", ErrForeign, MarkerTable, d.FilePath(), why)
		}
		f, err := t.fs.Open(d.FilePath())
		if err != nil {
			return nil, remote(MarkerTable, err)
		}
		b, err := io.ReadAll(io.LimitReader(f, maxMarkerFile))
		_ = f.Close()
		if err != nil {
			return nil, remote(MarkerTable, err)
		}
		if int64(len(b)) != d.FileSizeBytes() {
			return nil, foreign(fmt.Sprintf("it has %d bytes or more, %d are recorded", len(b), d.FileSizeBytes()))
		}
		rows, err := parquet.Read[Marker](bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, foreign(err)
		}
		for _, r := range rows {
			if _, twice := m.rows[r.AccountID]; twice {
				return nil, foreign("it has a second row of account " + r.AccountID)
			}
			m.rows[r.AccountID] = r
		}
	}
	return m, nil
}

// isOf reports whether the lake has the store's published generation for the account of this marker. It returns false
// if another schema version wrote the tables.
func (m Marker) isOf(s *manifest.Manifest) bool {
	return m.Generation == s.Generation && m.RunID == s.RunID && m.SchemaVersion == schema.Version
}

// checkAhead returns [ErrAhead] if the store is behind the lake, for example after a restore from a backup: following
// the store would delete data that only the lake still has. It returns [ErrNewer] if a newer binary wrote the tables.
func (m Marker) checkAhead(s *manifest.Manifest) error {
	switch {
	case m.SchemaVersion > schema.Version:
		return fmt.Errorf("%s: account %s is of version %d of the tables, this binary knows %d: %w", MarkerTable,
			m.AccountID, m.SchemaVersion, schema.Version, ErrNewer)
	case m.Generation > s.Generation, m.Generation == s.Generation && m.RunID != s.RunID:
		return fmt.Errorf("account %s: the lake has generation %d of run %s, the store generation %d of run %s: %w; "+
			"bring the store back with 'spendsync pull --all' into an empty folder, or from a newer backup",
			m.AccountID, m.Generation, m.RunID, s.Generation, s.RunID, ErrAhead)
	}
	return nil
}

// nextRows returns the rows of lake_generation after the commit. Rows for accounts of other stores stay unchanged.
func (f *follower) nextRows(snapshots map[string]int64) (map[string]Marker, error) {
	text, err := json.Marshal(snapshots)
	if err != nil {
		return nil, err
	}
	rows := maps.Clone(f.markers.rows)
	for account, a := range f.store.Accounts {
		m := Marker{AccountID: account, Generation: f.store.Generation, RunID: f.store.RunID,
			PublishedAt: int64(f.store.PublishedAt), CommittedAt: int64(schema.InstantOf(f.lake.opts.Now())),
			Days: int64(len(a.Days)), SchemaVersion: schema.Version, Version: f.lake.opts.Version,
			Snapshots: string(text)}
		for _, s := range f.lake.dataSpecs() {
			for _, w := range wantedOf(account, a, s) {
				m.Rows, m.Files = m.Rows+w.info.Rows, m.Files+1
			}
		}
		rows[account] = m
	}
	return rows, nil
}

// mark stages the replacement of the rows of lake_generation. The commit fails if another process has replaced the rows
// since they were read.
func (f *follower) mark(ctx context.Context, t *lakeTable, rows map[string]Marker) (*table.Transaction, error) {
	var sorted []Marker
	for _, account := range slices.Sorted(maps.Keys(rows)) {
		sorted = append(sorted, rows[account])
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[Marker](&b, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("spendsync", "",
		""))
	if _, err := w.Write(sorted); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	d, err := t.put(ctx, "data/"+uuid.NewString()+".parquet", b.Bytes())
	if err != nil {
		return nil, err
	}
	return f.replace(ctx, t, f.markers.files, []iceberg.DataFile{d}, nil)
}
