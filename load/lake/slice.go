package lake

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"

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
	have      map[string]bool // keys of the remaining files of the scope
	deletes   int             // manifests of deletes, which somebody else wrote
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

// readLive reads the manifests of a snapshot that may name files of the scope, and marks the files
// to remove: unwanted keys, keys that are not ours, and duplicates. adding means that files will be
// added, so small manifests are rewritten with them.
func readLive(ctx context.Context, fs iceio.IO, spec int, manifests []iceberg.ManifestFile, s scope,
	partitions map[partition][]file, adding bool) (*live, error) {
	l := &live{have: map[string]bool{}}
	keys := map[string]bool{}
	for c, files := range partitions {
		if s.holds(c) {
			for _, f := range files {
				keys[f.key()] = true
			}
		}
	}
	for _, m := range manifests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if m.ManifestContent() == iceberg.ManifestContentDeletes {
			l.deletes++
			continue
		}
		if int(m.PartitionSpecID()) != spec {
			return nil, fmt.Errorf("%w: manifest %s is of another partition spec", ErrForeign, m.FilePath())
		}
		count := m.AddedDataFiles() + m.ExistingDataFiles()
		if count == 0 {
			continue // it lists only what an earlier commit removed
		}
		small := adding && count < smallManifest
		if !s.touches(m) && !small {
			l.untouched = append(l.untouched, m)
			continue
		}
		entries, err := entriesOf(m, fs)
		if err != nil {
			return nil, remote("manifest", err)
		}
		if !l.sort(entries, s, keys) && !small {
			l.untouched = append(l.untouched, m)
		} else {
			l.kept = append(l.kept, l.unchanged(entries)...)
		}
	}
	return l, nil
}

// sort marks the entries of a manifest to remove, and reports whether there are any.
func (l *live) sort(entries []iceberg.ManifestEntry, s scope, keys map[string]bool) (any bool) {
	for i, e := range entries {
		if !s.holds(partitionOfFile(e.DataFile())) {
			continue
		}
		key := keyOf(e.DataFile().FilePath())
		if keys[key] && !l.have[key] {
			l.have[key] = true
			continue
		}
		l.removed = append(l.removed, e)
		entries[i] = nil
		any = true
	}
	return any
}

func (l *live) unchanged(entries []iceberg.ManifestEntry) []iceberg.ManifestEntry {
	return slices.DeleteFunc(entries, func(e iceberg.ManifestEntry) bool { return e == nil })
}

// missing are the wanted files of the scope that the lake does not have, in the order of
// partitions.
func (l *live) missing(s scope, partitions map[partition][]file) []file {
	var add []file
	for _, c := range slices.SortedFunc(maps.Keys(partitions), comparePartitions) {
		for _, f := range partitions[c] {
			if s.holds(c) && !l.have[f.key()] {
				add = append(add, f)
			}
		}
	}
	return add
}

// checkShrink refuses to take from the lake what the store does not have: a day of the report,
// or rows of a table that nothing can be made from again.
func checkShrink(t *tableSpec, accounts map[string]*manifest.Listed, l *live, add []file) error {
	if t.table == nil || t.table.View != "" || t.table.MadeFrom == schema.OtherTables {
		return nil
	}
	rows := map[string]int64{}
	for _, e := range l.removed {
		c := partitionOfFile(e.DataFile())
		rows[c.account] -= e.DataFile().Count()
		for _, day := range daysOf(keyOf(e.DataFile().FilePath())) {
			a := accounts[c.account]
			if t.table.MadeFrom != schema.Replies || a == nil {
				continue
			}
			if has, err := a.HasDay(day); err != nil {
				return err
			} else if !has {
				return fmt.Errorf("table %s, account %s, day %s: %w; if the day shall go: --allow-shrink", t.name,
					c.account, day, ErrShrink)
			}
		}
	}
	for _, f := range add {
		rows[f.account] += f.info.Rows
	}
	for account, n := range rows {
		if n < 0 && t.table.MadeFrom == schema.Nothing {
			return fmt.Errorf("table %s, account %s: %d rows more than the store: %w; if they shall go: "+
				"--allow-shrink", t.name, account, -n, ErrShrink)
		}
	}
	return nil
}
