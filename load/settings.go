package load

import (
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// StoredTable reads the account's rows of a table with one file per account.
func StoredTable[R any](s *Store, t schema.TableOf[R]) ([]R, error) {
	path := manifest.TablePath(t.Table, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	return manifest.Rows(s.opts.disk, s.dir, path, info, t)
}

// StoredHistory reads the account's versions of a table, and the [history.Memory] of the table.
func StoredHistory[R any, P history.Versioned[R]](s *Store, t schema.TableOf[R]) (history.Versions[R], error) {
	rows, err := StoredTable(s, t)
	h := history.Versions[R]{Rows: rows, Memory: s.Account().Memory[t.Name]}
	if err != nil || len(rows) == 0 {
		return h, err
	}
	added, err := AddedColumns(s, t)
	if err != nil {
		return h, err
	}
	return withNewColumns[R, P](t, h, added)
}

// StoredColumns reads some columns of the account's rows in batches.
func StoredColumns[R any](s *Store, t schema.TableOf[R], columns ...string) iter.Seq2[[]R, error] {
	path := manifest.TablePath(t.Table, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return func(func([]R, error) bool) {}
	}
	return manifest.Batches(s.opts.disk, s.dir, path, info, t, columns...)
}

// AddedColumns returns the tracked columns that a table has gained since the account's file was written.
func AddedColumns[R any](s *Store, t schema.TableOf[R]) ([]string, error) {
	path := manifest.TablePath(t.Table, s.account, 0)
	if s.Account().Files[path] == nil {
		return nil, nil
	}
	return parquet.Added(s.opts.disk, filepath.Join(s.dir, path), t.Table)
}

// PutTable stages all rows of the account in a table. If the rows are unchanged, the stored file is kept.
func PutTable[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], rows []R) error {
	return putRows(s, a, to, t.Table, func(out io.Writer) (int64, error) {
		return parquet.WriteRows(out, t, slices.Values(rows))
	})
}

func putRows(s *Store, a *Area, to *StagedChange, t *schema.Table, write func(io.Writer) (int64, error)) error {
	path := manifest.TablePath(t, s.account, 0)
	info, err := a.putFile(path, t, write)
	if err != nil {
		return fmt.Errorf("%s: %w", t.FullName(), err)
	}
	if old := s.Account().Files[path]; old != nil && old.SHA256 == info.SHA256 {
		delete(to.Files, path)
		return s.opts.disk.RemoveIfThere(a.path(path))
	}
	to.Files[path] = info
	return nil
}

// PutHistory stages the account's versions of a table, and the [history.Memory] of the table.
func PutHistory[R any, P history.Versioned[R]](s *Store, a *Area, to *StagedChange, t schema.TableOf[R],
	h history.Versions[R]) error {
	to.Memory[t.Name] = h.Memory
	return PutTable(s, a, to, t, h.Rows)
}

// PutGroups stages the account's versions of a [schema.Grouped] table. For each named group, advance computes the
// versions as of the instant at. The other groups are copied cheaply, see [parquet.ReplaceGroups]. names must be
// sorted; if [AddedColumns] returns any column, names must have all groups. Only one group is in memory at a time.
func PutGroups[R any, P history.Versioned[R]](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], names []string,
	at schema.Instant, advance func(string, history.Versions[R]) (history.Versions[R], error)) error {
	former := s.Account().Memory[t.Name]
	next, groups := history.Memory{ObservedAt: at}, former.ByGroup()
	added, err := AddedColumns(s, t)
	if err != nil {
		return err
	}
	stored, err := s.checkedFile(t.Table)
	if err != nil {
		return err
	}
	replace := func(name string, rows []R) ([]R, error) {
		h := history.Versions[R]{Rows: rows, Memory: history.Memory{ObservedAt: former.ObservedAt}}
		if listed, ok := groups[history.GroupKey(name)]; ok {
			h.Memory = listed
			delete(groups, history.GroupKey(name))
		}
		h, err := withNewColumns[R, P](t, h, added)
		if err != nil {
			return nil, err
		}
		h, err = advance(name, h)
		next.Add(h.Memory)
		return h.Rows, err
	}
	err = putRows(s, a, to, t.Table, func(out io.Writer) (int64, error) {
		return parquet.ReplaceGroups(out, s.opts.disk, stored, t, names, replace)
	})
	for _, untouched := range groups {
		next.Add(untouched)
	}
	to.Memory[t.Name] = next
	return err
}

// checkedFile checks the bytes of the account's file of a table. It returns the path of the file, or "" if there is no
// file.
func (s *Store) checkedFile(t *schema.Table) (string, error) {
	path := manifest.TablePath(t, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return "", nil
	}
	return filepath.Join(s.dir, path), manifest.CheckBytes(s.opts.disk, s.dir, path, info)
}

// PutMemory stages the [history.Memory] of a table whose versions are unchanged. The stored file is kept; if there is
// no file yet, PutMemory stages an empty one.
func PutMemory[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], m history.Memory) error {
	to.Memory[t.Name] = m
	path := manifest.TablePath(t.Table, s.account, 0)
	if s.Account().Files[path] == nil {
		return PutTable(s, a, to, t, nil)
	}
	delete(to.Files, path)
	return nil
}

// StoredReadings returns when each part of the account's settings was last read in full.
func StoredReadings(s *Store) (history.Readings, error) {
	if a := s.Account(); s.base != nil && s.base.SchemaVersion < schema.Readings.Since {
		return readingsOfMemory(s.opts.disk, s.dir, s.account, a)
	}
	rows, err := StoredTable(s, schema.Readings)
	return history.ReadingsOf(rows), err
}
