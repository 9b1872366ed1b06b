package load

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// StoredTable returns the account's rows of a table that has one file per account. It returns nil if the file does not
// exist.
func StoredTable[R any](s *Store, t schema.TableOf[R]) ([]R, error) {
	path := manifest.TablePath(t.Table, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	return manifest.Rows(s.opts.disk, s.dir, path, info, t)
}

// StoredHistory reads the account's rows of a table of versions, and the part of the table's state that is in the
// manifest, see [history.Memory].
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

// PutTable stages a file with all rows of the account in a table. If the stored file has the same content, it is kept
// instead.
func PutTable[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], rows []R) error {
	return putRows(s, a, to, t, slices.Values(rows))
}

func putRows[R any](s *Store, a *Area, to *StagedChange, t schema.TableOf[R], rows iter.Seq[R]) error {
	path := manifest.TablePath(t.Table, s.account, 0)
	info, err := a.putRecords(path, t.Table, parquet.RecordsOf(t, rows))
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

// PutHistory stages the account's rows of a table of versions, and the part of the table's state that is in the
// manifest, see [history.Memory].
func PutHistory[R any, P history.Versioned[R]](s *Store, a *Area, to *StagedChange, t schema.TableOf[R],
	h history.Versions[R]) error {
	to.Memory[t.Name] = h.Memory
	return PutTable(s, a, to, t, h.Rows)
}

// PutGroups stages the account's rows of a table of versions that is sorted by groups. For each group in names, the
// function advance computes the versions. The argument at is the instant of the observation. The rows of all other
// groups are copied. The argument names must be sorted. If [AddedColumns] returns any column, names must contain all
// groups. Only one group is in memory at a time.
func PutGroups[R any, P history.Versioned[R]](s *Store, a *Area, to *StagedChange, t schema.TableOf[R],
	groupOf func(*R) string, names []string, at schema.Instant,
	advance func(string, history.Versions[R]) (history.Versions[R], error)) error {
	former := s.Account().Memory[t.Name]
	next, groups := history.Memory{ObservedAt: at}, former.ByGroup()
	added, err := AddedColumns(s, t)
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
	var failed error
	err = putRows(s, a, to, t, replaceGroups(StoredColumns(s, t), groupOf, names, replace, &failed))
	for _, untouched := range groups {
		next.Add(untouched)
	}
	to.Memory[t.Name] = next
	return errors.Join(failed, err)
}

// replaceGroups yields the stored rows of all groups that are not in names. For each group in names it yields the rows
// that replace() returns. At the first error it stops and stores the error in *failed.
func replaceGroups[R any](stored iter.Seq2[[]R, error], groupOf func(*R) string, names []string,
	replace func(name string, stored []R) ([]R, error), failed *error) iter.Seq[R] {
	return func(yield func(R) bool) {
		var group []R // the stored rows of the group names[0]
		give := func() (more bool) {
			rows, err := replace(names[0], group)
			names, group, *failed = names[1:], nil, err
			for i := range rows {
				if err != nil || !yield(rows[i]) {
					return false
				}
			}
			return err == nil
		}
		for batch, err := range stored {
			if *failed = err; err != nil {
				return
			}
			for i := range batch {
				name := groupOf(&batch[i])
				for len(names) > 0 && names[0] < name {
					if !give() {
						return
					}
				}
				if len(names) > 0 && names[0] == name {
					group = append(group, batch[i])
				} else if !yield(batch[i]) {
					return
				}
			}
		}
		for *failed == nil && len(names) > 0 && give() {
		}
	}
}

// PutMemory stages the part of a table's state that is in the manifest, see [history.Memory]. The versions are
// unchanged, so the stored file is kept. If there is no file yet, PutMemory stages an empty one.
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
