package lake

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// scope is the part of a table that a commit looks at.
type scope struct {
	accounts   map[string]bool    // all that they have
	partitions map[partition]bool // and these partitions of others
}

func (s scope) holds(c partition) bool { return s.accounts[c.account] || s.partitions[c] }

func (s scope) isEmpty() bool { return len(s.accounts) == 0 && len(s.partitions) == 0 }

// touches reports whether a manifest may name files of the scope, by its bounds of account and
// month.
func (s scope) touches(m iceberg.ManifestFile) bool {
	parts := m.Partitions()
	if len(parts) == 0 || parts[0].LowerBound == nil || parts[0].UpperBound == nil {
		return true
	}
	lo, hi := string(*parts[0].LowerBound), string(*parts[0].UpperBound)
	for a := range s.accounts {
		if lo <= a && a <= hi {
			return true
		}
	}
	first, last := monthBounds(m)
	for c := range s.partitions {
		if lo <= c.account && c.account <= hi && first <= c.month && c.month <= last {
			return true
		}
	}
	return false
}

// monthBounds returns the months that a manifest spans: all months if its bounds are unknown.
func monthBounds(m iceberg.ManifestFile) (first, last int) {
	parts := m.Partitions()
	if len(parts) > 1 && parts[1].LowerBound != nil && parts[1].UpperBound != nil && len(*parts[1].LowerBound) == 4 {
		return int(int32(binary.LittleEndian.Uint32(*parts[1].LowerBound))),
			int(int32(binary.LittleEndian.Uint32(*parts[1].UpperBound)))
	}
	return noMonth, 1<<31 - 1
}

// partitionOfFile returns the partition of a data file of the lake.
func partitionOfFile(d iceberg.DataFile) partition {
	c := partition{month: noMonth}
	parts := d.Partition()
	c.account, _ = parts[accountPartition].(string)
	switch m := parts[monthPartition].(type) {
	case int32:
		c.month = int(m)
	case int:
		c.month = m
	case int64:
		c.month = int(m)
	}
	return c
}

// smallManifest is how many live files a manifest has at most that is written again with
// whatever comes: so the number of manifests stays within bounds.
var smallManifest = int32(250) // smaller in tests

// live is what a snapshot of a table has, as far as a scope reaches.
type live struct {
	untouched []iceberg.ManifestFile // not read, or read and as they should be
	kept      []iceberg.ManifestEntry
	removed   []iceberg.ManifestEntry
	deletes   int // manifests of deletes, which somebody else wrote
}

// entriesOf are the live files that a manifest names.
func entriesOf(m iceberg.ManifestFile, fs iceio.IO) ([]iceberg.ManifestEntry, error) {
	entries := make([]iceberg.ManifestEntry, 0, m.AddedDataFiles()+m.ExistingDataFiles())
	for e, err := range m.Entries(fs, true) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// readLive reads the manifests of a snapshot that may name files of the scope, marks the files to remove (of other
// keys than the wanted ones, or there twice), and takes from the wanted files those that are there. Small
// manifests are read, too, to be written again with what comes.
func readLive(ctx context.Context, t *lakeTable, s scope, wanted map[string]file) (*live, error) {
	l := &live{}
	manifests, err := t.manifests()
	if err != nil {
		return nil, err
	}
	spec := t.tbl.Spec()
	for _, m := range manifests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m.ManifestContent() == iceberg.ManifestContentDeletes {
			l.deletes++
			continue
		}
		if int(m.PartitionSpecID()) != spec.ID() {
			return nil, fmt.Errorf("%w: manifest %s is of another partition spec", ErrForeign, m.FilePath())
		}
		count := m.AddedDataFiles() + m.ExistingDataFiles()
		switch {
		case count == 0: // it lists only what an earlier commit removed
			continue
		case count >= smallManifest && !s.touches(m):
			l.untouched = append(l.untouched, m)
			continue
		}
		entries, err := entriesOf(m, t.fs)
		if err != nil {
			return nil, remote("manifest", err)
		}
		if kept := l.sort(entries, s, wanted); len(kept) == len(entries) && count >= smallManifest {
			l.untouched = append(l.untouched, m)
		} else {
			l.kept = append(l.kept, kept...)
		}
	}
	return l, nil
}

// sort marks the entries of a manifest to remove, and returns the others.
func (l *live) sort(entries []iceberg.ManifestEntry, s scope, wanted map[string]file) (kept []iceberg.ManifestEntry) {
	for _, e := range entries {
		key := keyOf(e.DataFile().FilePath())
		if _, ok := wanted[key]; !ok && s.holds(partitionOfFile(e.DataFile())) {
			l.removed = append(l.removed, e)
			continue
		}
		delete(wanted, key)
		kept = append(kept, e)
	}
	return kept
}

// checkShrink refuses to take from the lake what the store does not have: a day of the report,
// or rows of a table that nothing can be made from again.
func checkShrink(t *lakeTable, accounts map[string]*manifest.Listed, l *live, add []file) error {
	of := t.spec.table
	if of.View != "" || of.MadeFrom == schema.OtherTables {
		return nil
	}
	rows := map[string]int64{}
	for _, e := range l.removed {
		account := partitionOfFile(e.DataFile()).account
		rows[account] -= e.DataFile().Count()
		if of.MadeFrom != schema.Replies {
			continue
		}
		days, err := t.daysOf(e.DataFile())
		for day := range days {
			has, hasErr := accounts[account].HasDay(day)
			if err = errors.Join(err, hasErr); err == nil && !has {
				err = fmt.Errorf("table %s, account %s, day %s: %w; if the day shall go: --allow-shrink", t.name,
					account, day, ErrShrink)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, f := range add {
		rows[f.in.account] += f.info.Rows
	}
	for account, n := range rows {
		if n < 0 && of.MadeFrom == schema.Nothing {
			return fmt.Errorf("table %s, account %s: %d rows more than the store: %w; if they shall go: "+
				"--allow-shrink", t.name, account, -n, ErrShrink)
		}
	}
	return nil
}

// daysOf are the days of the rows in a file of the lake: its bounds, if it is of one day, else what is in it. A file of
// another program that is no Parquet file has none.
func (t *lakeTable) daysOf(d iceberg.DataFile) (map[schema.Date]bool, error) {
	type row struct {
		Day int32 `parquet:"report_date,date"`
	}
	days := map[schema.Date]bool{}
	column, _ := t.spec.schema.FindFieldByName("report_date")
	lo, hi := d.LowerBoundValues()[column.ID], d.UpperBoundValues()[column.ID]
	if len(lo) == 4 && bytes.Equal(lo, hi) {
		days[schema.Date(int32(binary.LittleEndian.Uint32(lo)))] = true
		return days, nil
	}
	f, err := t.fs.Open(d.FilePath())
	if isNotThere(err) {
		return nil, nil
	} else if err != nil {
		return nil, remote(t.name, err)
	}
	defer f.Close()
	content, err := parquet.OpenFile(f, d.FileSizeBytes())
	if err != nil {
		return nil, nil
	}
	rows := parquet.NewGenericReader[row](content)
	defer rows.Close()
	for some := make([]row, 1000); ; {
		n, err := rows.Read(some)
		for _, r := range some[:n] {
			days[schema.Date(r.Day)] = true
		}
		if errors.Is(err, io.EOF) {
			return days, nil
		} else if err != nil {
			return nil, remote(t.name, err)
		}
	}
}
