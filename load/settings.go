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

// BidsRead is the name of the confirmations that record when each campaign's bids per source could last be
// read, by campaign. It is not a table: it fills one column of source_mode_history.
const BidsRead = "source_bids"

// StoredTable reads an account's rows of a table that has one file per account.
func StoredTable[R any](s *Store, t schema.TableOf[R]) ([]R, error) {
	path := manifest.PartPath(t.Table, s.account, 0)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	return manifest.Rows(s.opts.disk, s.dir, path, info, t)
}

// StoredHistory reads an account's versions and their confirmations.
func StoredHistory[R any, P history.Versioned[R]](s *Store, t schema.TableOf[R]) (history.Versions[R], error) {
	rows, err := StoredTable(s, t)
	h := history.Versions[R]{Rows: rows, Confirmations: s.Account().Confirmations[t.Name]}
	if err != nil || len(rows) == 0 {
		return h, err
	}
	return withNewColumns[R, P](s.opts.disk, filepath.Join(s.dir, manifest.PartPath(t.Table, s.account, 0)), t, h)
}

// StoredGroups reads an account's versions in batches, and their confirmations.
func StoredGroups[R any](s *Store, t schema.TableOf[R]) (h history.Groups[R], err error) {
	h.Confirmations = s.Account().Confirmations[t.Name]
	path := manifest.PartPath(t.Table, s.account, 0)
	if info := s.Account().Files[path]; info != nil {
		h.Stored = manifest.Batches(s.opts.disk, s.dir, path, info, t)
		h.Added, err = parquet.Added(s.opts.disk, filepath.Join(s.dir, path), t.Table)
	}
	return h, err
}

// PutTable stages all rows of an account's table. Equal rows give an equal file, and then the stored one
// stays.
func PutTable[R any](s *Store, a *Area, to *Part, t schema.TableOf[R], rows []R) error {
	return PutGroups(s, a, to, t, func(yield func([]R, error) bool) { yield(rows, nil) }, nil)
}

// PutGroups is PutTable for versions that come in batches. Their confirmations may be known only after the last batch;
// nil means none.
func PutGroups[R any](s *Store, a *Area, to *Part, t schema.TableOf[R], rows iter.Seq2[[]R, error],
	m *history.Confirmations) error {
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
		to.Confirmations[t.Name] = *m
	}
	return err
}

// PutHistory stages an account's versions and their confirmations.
func PutHistory[R any, P history.Versioned[R]](s *Store, a *Area, to *Part, t schema.TableOf[R],
	h history.Versions[R]) error {
	rows := func(yield func([]R, error) bool) { yield(h.Rows, nil) }
	err := PutGroups(s, a, to, t, rows, &h.Confirmations)
	if err != nil || to.Files[manifest.PartPath(t.Table, s.account, 0)] == nil {
		return err
	}
	old, err := StoredTable(s, t)
	if err != nil {
		return err
	}
	for id, day := range history.Learned[R, P](t, old, h.Rows) {
		learn(to.learned, id, day)
	}
	return nil
}

// PutConfirmations stages the confirmations of unchanged versions: their file stays. If there is none yet, it stages
// one without rows.
func PutConfirmations[R any](s *Store, a *Area, to *Part, t schema.TableOf[R], m history.Confirmations) error {
	path := manifest.PartPath(t.Table, s.account, 0)
	if s.Account().Files[path] == nil {
		return PutGroups(s, a, to, t, func(func([]R, error) bool) {}, &m)
	}
	delete(to.Files, path)
	to.Confirmations[t.Name] = m
	return nil
}
