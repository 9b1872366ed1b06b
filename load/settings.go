package load

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// StoredTable reads an account's rows of a table that has one file per account.
func StoredTable[R any](s *Store, t schema.TableOf[R]) ([]R, error) {
	path := manifest.PartPath(t.Table, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	return manifest.Rows(s.opts.disk, s.dir, path, info, t)
}

// StoredHistory reads an account's versions and their memory.
func StoredHistory[R any, P history.Versioned[R]](s *Store, t schema.TableOf[R]) (history.Versions[R], error) {
	rows, err := StoredTable(s, t)
	h := history.Versions[R]{Rows: rows, Memory: s.Account().Memory[t.Name]}
	if err != nil || len(rows) == 0 {
		return h, err
	}
	return withNewColumns[R, P](s.opts.disk, filepath.Join(s.dir, manifest.PartPath(t.Table, s.account, 0)), t, h)
}

// StoredGroups reads an account's versions in batches, and their memory.
func StoredGroups[R any](s *Store, t schema.TableOf[R]) (h history.Groups[R], err error) {
	h.Memory = s.Account().Memory[t.Name]
	path := manifest.PartPath(t.Table, s.account, 0)
	if info := s.Account().Files[path]; info != nil {
		h.Stored = manifest.Batches(s.opts.disk, s.dir, path, info, t)
		h.Added, err = parquet.Added(s.opts.disk, filepath.Join(s.dir, path), t.Table)
	}
	return h, err
}

// PutTable stages all rows of an account's table. Equal rows give an equal file, and then the stored one
// stays.
func PutTable[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], rows []R) error {
	return PutGroups(s, a, to, t, func(yield func([]R, error) bool) { yield(rows, nil) }, nil)
}

// PutGroups is PutTable for versions that come in batches. Their memory may be known only after the last batch; nil
// means none.
func PutGroups[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], rows iter.Seq2[[]R, error],
	m *history.Memory) error {
	path := manifest.PartPath(t.Table, s.account, 0)
	var unread error
	info, err := a.putPart(path, t.Table, parquet.RecordsOf(t, linesOf([]iter.Seq2[[]R, error]{rows}, &unread)))
	if err = cmp.Or(err, unread); err != nil {
		return fmt.Errorf("%s: %w", t.FullName(), err)
	}
	if old := s.Account().Files[path]; old != nil && old.SHA256 == info.SHA256 {
		delete(to.Files, path)
		err = s.opts.disk.RemoveIfThere(a.path(path))
	} else {
		to.Files[path] = info
	}
	if m != nil {
		to.Memory[t.Name] = *m
	}
	return err
}

// PutHistory stages an account's versions and their memory.
func PutHistory[R any, P history.Versioned[R]](s *Store, a *Area, to *StagedChange, t schema.TableOf[R],
	h history.Versions[R]) error {
	rows := func(yield func([]R, error) bool) { yield(h.Rows, nil) }
	return PutGroups(s, a, to, t, rows, &h.Memory)
}

// PutMemory stages the memory of unchanged versions: their file stays. If there is none yet, it stages one without
// rows.
func PutMemory[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], m history.Memory) error {
	path := manifest.PartPath(t.Table, s.account, 0)
	if s.Account().Files[path] == nil {
		return PutGroups(s, a, to, t, func(func([]R, error) bool) {}, &m)
	}
	delete(to.Files, path)
	to.Memory[t.Name] = m
	return nil
}

// StoredReadings returns when each part of the account's settings was last read.
func StoredReadings(s *Store) (history.Readings, error) {
	if a := s.Account(); s.base != nil && s.base.SchemaVersion < schema.Readings.Since {
		return readingsOfMemory(s.opts.disk, s.dir, s.account, a)
	}
	rows, err := StoredTable(s, schema.Readings)
	return history.ReadingsOf(rows), err
}
