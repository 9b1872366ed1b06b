package load

import (
	"fmt"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"spendsync/schema"
)

// maxRawPage bounds what a stored reply may unpack to.
const maxRawPage = 1 << 30

// readRawPages unpacks stored replies, in order, after checking their bytes.
func readRawPages(disk disk, dir string, a *Account, pages []string) ([][]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRawPage))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	bodies := make([][]byte, len(pages))
	for i, path := range pages {
		if err := disk.checkBytes(dir, path, a.Files[path]); err != nil {
			return nil, err
		}
		packed, err := disk.readFile(filepath.Join(dir, path))
		if err != nil {
			return nil, err
		}
		if bodies[i], err = dec.DecodeAll(packed, nil); err != nil {
			return nil, damaged(path, "", "it does not unpack: %v", err)
		}
	}
	return bodies, nil
}

// Fingerprints tell the stored replies of a day from all others, in order; none
// where one is not known or they are not all of the day.
func (s *Store) Fingerprints(day schema.Date) []string {
	a := s.Account()
	var all []string
	var rows int64
	for _, path := range a.RawPages(day) {
		f := a.Files[path]
		if f.Fingerprint == "" {
			return nil
		}
		all, rows = append(all, f.Fingerprint), rows+f.Rows
	}
	if known := a.Days[day]; known == nil || known.Sums.Rows != rows {
		return nil
	}
	return all
}

// RawPage is one stored reply of a day, unpacked. Pages are counted from 1.
func (s *Store) RawPage(day schema.Date, page int) ([]byte, error) {
	a := s.Account()
	paths := a.RawPages(day)
	if page < 1 || page > len(paths) {
		return nil, fmt.Errorf("there is no stored page %d of %s", page, day)
	}
	bodies, err := readRawPages(s.opts.disk, s.dir, a, paths[page-1:page])
	if err != nil {
		return nil, err
	}
	return bodies[0], nil
}

// RawPages are the stored replies of a day, unpacked; none where none are kept.
func (s *Store) RawPages(day schema.Date) ([][]byte, error) {
	a := s.Account()
	return readRawPages(s.opts.disk, s.dir, a, a.RawPages(day))
}
