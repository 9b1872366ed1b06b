package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/oklog/ulid/v2"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// MarkerTable is the table that records the lake's generation of each account. It is committed in
// one transaction with the others.
const MarkerTable = "lake_generation"

// Marker is a row of lake_generation: one account's part of the lake.
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
	TableUUIDs    string `parquet:"table_uuids,id(12)"`
	Slices        string `parquet:"slices,id(13)"`
}

// markerSpec is lake_generation in Iceberg. Its ids are those of [Marker].
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
			"tables of one generation, read each FOR VERSION AS OF its snapshot."),
		column(12, "table_uuids", text, "JSON: the identity of each table."),
		column(13, "slices", text, "JSON: short hashes of the files by table and month."))
	s.props = properties("Which generation of each account the lake has; one row an account, committed with the " +
		"others.")
	return s
}

// markers are the rows of lake_generation about our accounts, and the files that hold them. Such a
// file may also hold rows of other accounts.
type markers struct {
	rows   map[string]Marker // by account, other accounts of the same files included
	states map[string]state  // of our accounts
	files  []iceberg.ManifestEntry
	rest   []iceberg.ManifestEntry
}

// state are the JSON texts of a row.
type state struct {
	snapshots map[string]int64
	uuids     map[string]string
	hashes    map[string]map[string]string // by table and month, see [partitionState]
}

// Limits of a file of lake_generation: a row of ten years takes some 100 KB, and compresses to a tenth.
const (
	maxMarkerFile = 256 << 20
	maxRatio      = 200
	freeUnpack    = 1 << 20
)

// readMarkers reads the rows of accounts in a snapshot of lake_generation; nil accounts: all.
func readMarkers(fs iceio.IO, snapshot *table.Snapshot, accounts []string) (*markers, error) {
	m := &markers{rows: map[string]Marker{}, states: map[string]state{}}
	if snapshot == nil {
		return m, nil
	}
	list, err := snapshot.Manifests(fs)
	if err != nil {
		return nil, remote(MarkerTable, err)
	}
	for _, mf := range list {
		entries, err := entriesOf(mf, fs)
		if err != nil {
			return nil, remote(MarkerTable, err)
		}
		for _, e := range entries {
			lo, hi := string(e.DataFile().LowerBoundValues()[1]), string(e.DataFile().UpperBoundValues()[1])
			if accounts != nil && !anyBetween(accounts, lo, hi) {
				m.rest = append(m.rest, e)
				continue
			}
			m.files = append(m.files, e)
			rows, err := readMarkerFile(fs, e.DataFile())
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				if _, twice := m.rows[r.AccountID]; twice {
					return nil, fmt.Errorf("%w: %s has two rows of account %s", ErrForeign, MarkerTable, r.AccountID)
				}
				m.rows[r.AccountID] = r
			}
		}
	}
	for _, account := range accounts {
		if row, ok := m.rows[account]; ok {
			if m.states[account], err = row.decode(); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// anyBetween reports whether an account may be within bounds, which hold only the first 16
// characters. Without a bound, it may.
func anyBetween(accounts []string, lo, hi string) bool {
	for _, a := range accounts {
		if short := a[:min(len(a), 16)]; (lo == "" || short >= lo[:min(len(lo), 16)]) && (hi == "" || short <= hi) {
			return true
		}
	}
	return false
}

// readMarkerFile reads a file of lake_generation: no more bytes and rows than its Iceberg manifest records.
func readMarkerFile(fs iceio.IO, is iceberg.DataFile) ([]Marker, error) {
	path, size := is.FilePath(), is.FileSizeBytes()
	foreign := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s: %s", ErrForeign, MarkerTable, path, fmt.Sprintf(format, args...))
	}
	if size > maxMarkerFile {
		return nil, foreign("%d bytes are recorded, and the limit is %d", size, int64(maxMarkerFile))
	}
	f, err := fs.Open(path)
	if err != nil {
		return nil, remote(MarkerTable, err)
	}
	defer f.Close()
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(f, size+1))
	if err != nil {
		return nil, remote(MarkerTable, err)
	}
	if n != size {
		return nil, foreign("its size differs from the %d bytes that are recorded", size)
	}
	content, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), n)
	if err != nil {
		return nil, foreign("%v", err)
	}
	unpacked := int64(0)
	for _, g := range content.Metadata().RowGroups {
		unpacked += g.TotalByteSize
	}
	if content.NumRows() != is.Count() || unpacked > freeUnpack+size*maxRatio {
		return nil, foreign("%d rows of %d bytes, and %d rows are recorded", content.NumRows(), unpacked, is.Count())
	}
	rows, err := parquet.Read[Marker](bytes.NewReader(b.Bytes()), n)
	if err != nil {
		return nil, foreign("%v", err)
	}
	return rows, nil
}

// encodeRows gives the rows as a Parquet file, sorted by account.
func encodeRows(byAccount map[string]Marker) ([]byte, error) {
	var rows []Marker
	for _, account := range slices.Sorted(maps.Keys(byAccount)) {
		rows = append(rows, byAccount[account])
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[Marker](&b, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("spendsync", "",
		""))
	if _, err := w.Write(rows); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// next is the row of an account once the wanted is there. What it had of a partition that does not differ stays.
func (w *wanted) next(account string, had state, has state, now schema.Instant, version string) (Marker, error) {
	from := w.listing.Manifest
	m := Marker{AccountID: account, Generation: from.Generation, RunID: from.RunID,
		PublishedAt: int64(from.PublishedAt), CommittedAt: int64(now), Days: w.accounts[account].Part.Days,
		SchemaVersion: schema.Version, Version: version}
	has.hashes = map[string]map[string]string{}
	for table, parts := range w.parts[account] {
		has.hashes[table] = map[string]string{}
		for month, p := range parts {
			is := p.state
			if before := partitionStateOf(had.hashes[table][monthName(month)]); before.hash == is.hash {
				is = before
			}
			has.hashes[table][monthName(month)] = is.String()
			m.Rows, m.Files = m.Rows+is.rows, m.Files+is.files
		}
	}
	for _, part := range []struct {
		to   *string
		from any
	}{{&m.Snapshots, has.snapshots}, {&m.TableUUIDs, has.uuids}, {&m.Slices, has.hashes}} {
		b, err := json.Marshal(part.from)
		if err != nil {
			return m, err
		}
		*part.to = string(b)
	}
	return m, nil
}

// decode reads the JSON texts of a row.
func (m Marker) decode() (s state, err error) {
	err = errors.Join(json.Unmarshal([]byte(m.Snapshots), &s.snapshots), json.Unmarshal([]byte(m.TableUUIDs), &s.uuids),
		json.Unmarshal([]byte(m.Slices), &s.hashes))
	if err != nil {
		err = fmt.Errorf("%w: %s, account %s: %v", ErrForeign, MarkerTable, m.AccountID, err)
	}
	return s, err
}

// checkAhead refuses where the lake has what the store has never had: a store that was set back
// to a backup would take from the lake what only the lake still has.
func (l *ledgers) checkAhead(m *manifest.Manifest, row Marker) error {
	ahead := func(why string) error {
		return fmt.Errorf("account %s: the lake has generation %d of run %s, the store is at generation %d and %s: "+
			"%w; bring the store back with 'spendsync pull --all' into an empty folder, or from a newer backup",
			row.AccountID, row.Generation, row.RunID, m.Generation, why, ErrAhead)
	}
	switch {
	case row.SchemaVersion > schema.Version:
		return fmt.Errorf("%s: account %s is of version %d of the tables, this binary knows %d: %w", MarkerTable,
			row.AccountID, row.SchemaVersion, schema.Version, ErrNewer)
	case row.Generation > m.Generation:
		return ahead("behind it")
	case row.RunID == m.RunID:
		return nil
	}
	known, err := l.knows(row.RunID)
	if err == nil && !known {
		return ahead("does not know that run")
	}
	return err
}

// ledgers are those of a store.
type ledgers struct {
	dir   string
	known string // a run that they name
}

// knows reports whether a ledger names a run. The run's ID contains the month in which it started,
// so that month is searched first.
func (l *ledgers) knows(run string) (bool, error) {
	if l.known == run {
		return true, nil // the accounts of a store are of one run, nearly always
	}
	patterns := []string{"*.jsonl"}
	if id, err := ulid.ParseStrict(run); err == nil {
		patterns = []string{ulid.Time(id.Time()).UTC().Format("2006-01") + ".jsonl", "*.jsonl"}
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(l.dir, "ledger", "account=*", pattern))
		if err != nil {
			return false, err
		}
		for _, path := range files {
			b, err := durable.OS.ReadFile(path, durable.MaxText)
			if err != nil {
				return false, err
			}
			if strings.Contains(string(b), run) {
				l.known = run
				return true, nil
			}
		}
	}
	return false, nil
}

// marker loads lake_generation, and makes it where it is not there.
func (l *Lake) marker(ctx context.Context) (*lakeTable, error) {
	t, err := l.load(ctx, l.markerSpec())
	if err == nil && t == nil {
		if _, err = l.ensureNamespace(ctx); err == nil {
			t, err = l.create(ctx, l.markerSpec())
		}
	}
	return t, err
}
