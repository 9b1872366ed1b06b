package load

import (
	"fmt"
	"iter"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// Fingerprints returns the identities of the stored replies of a day, in order. It returns none if one is
// unknown, if they are not all of the day, or if a reply on the disk differs from the published one: the
// service has to give it again then.
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

// rawDamage returns the first damage of the stored replies of a day; nil if they are intact.
func (s *Store) rawDamage(day schema.Date) error {
	a := s.Account()
	for _, path := range a.RawPages(day) {
		if err := manifest.CheckBytes(s.opts.disk, s.dir, path, a.Files[path]); err != nil {
			return err
		}
	}
	return nil
}

// RawPage returns one stored reply of a day, unpacked. Pages are counted from 1.
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

// RawPages returns the stored replies of a day, unpacked one by one, each valid only until the next
// iteration. Nothing follows an error.
func (s *Store) RawPages(day schema.Date) iter.Seq2[[]byte, error] {
	a := s.Account()
	return manifest.RawPages(s.opts.disk, s.dir, a, a.RawPages(day))
}
