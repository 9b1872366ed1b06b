package load

import (
	"fmt"
	"iter"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// Fingerprints identify the stored replies of a day, in order; none
// where one is not known or they are not all of the day, or where a reply is not on the
// disk as it was published: the service has to give it once more.
func (s *Store) Fingerprints(day schema.Date) []string {
	a := s.Account()
	var all []string
	var rows int64
	for _, path := range a.RawPages(day) {
		f := a.Files[path]
		if f.Fingerprint == "" || manifest.CheckBytes(s.opts.disk, s.dir, path, f) != nil {
			return nil
		}
		all, rows = append(all, f.Fingerprint), rows+f.Rows
	}
	if known := a.Days[day]; known == nil || known.Sums.Rows != rows {
		return nil
	}
	return all
}

// rawDamage is what is wrong with the stored replies of a day; nil: nothing is.
func (s *Store) rawDamage(day schema.Date) error {
	a := s.Account()
	for _, path := range a.RawPages(day) {
		if err := manifest.CheckBytes(s.opts.disk, s.dir, path, a.Files[path]); err != nil {
			return err
		}
	}
	return nil
}

// RawPage is one stored reply of a day, unpacked. Pages are counted from 1.
func (s *Store) RawPage(day schema.Date, page int) ([]byte, error) {
	a := s.Account()
	paths := a.RawPages(day)
	if page < 1 || page > len(paths) {
		return nil, fmt.Errorf("there is no stored page %d of %s", page, day)
	}
	dec, err := manifest.NewUnpacker()
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	path := paths[page-1]
	return manifest.RawPage(s.opts.disk, s.dir, path, a.Files[path], dec, nil)
}

// RawPages are the stored replies of a day, unpacked one by one, each the loop body's
// alone; none where none are kept. Nothing follows an error.
func (s *Store) RawPages(day schema.Date) iter.Seq2[[]byte, error] {
	a := s.Account()
	return manifest.RawPages(s.opts.disk, s.dir, a, a.RawPages(day))
}
