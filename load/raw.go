package load

import (
	"fmt"
	"iter"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
	"spendsync/schema"
)

// maxRawPage bounds what a stored reply may unpack to.
const maxRawPage = 1 << 30

func newUnpacker() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRawPage))
}

// rawPages unpacks stored replies, in order, each after checking its bytes. A page is the
// loop body's alone. Nothing follows an error.
func rawPages(disk durable.Disk, dir string, a *Account, paths []string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		dec, err := newUnpacker()
		if err != nil {
			yield(nil, err)
			return
		}
		defer dec.Close()
		var page []byte
		for _, path := range paths {
			if page, err = rawPage(disk, dir, path, a.Files[path], dec, page[:0]); !yield(page, err) || err != nil {
				return
			}
		}
	}
}

func rawPage(disk durable.Disk, dir, path string, info *FileInfo, dec *zstd.Decoder, room []byte) ([]byte, error) {
	if err := checkBytes(disk, dir, path, info); err != nil {
		return nil, err
	}
	packed, err := disk.ReadFile(filepath.Join(dir, path))
	if err != nil {
		return nil, err
	}
	page, err := dec.DecodeAll(packed, room)
	if err != nil {
		return nil, durable.Damaged(path, "", "it does not unpack: %v", err)
	}
	return page, nil
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
	dec, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	path := paths[page-1]
	return rawPage(s.opts.disk, s.dir, path, a.Files[path], dec, nil)
}

// RawPages are the stored replies of a day, unpacked one by one, each the loop body's
// alone; none where none are kept. Nothing follows an error.
func (s *Store) RawPages(day schema.Date) iter.Seq2[[]byte, error] {
	a := s.Account()
	return rawPages(s.opts.disk, s.dir, a, a.RawPages(day))
}
