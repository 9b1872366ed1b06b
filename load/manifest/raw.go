package manifest

import (
	"iter"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
)

// maxRawPage bounds what a stored reply may unpack to.
const maxRawPage = 1 << 30

// NewUnpacker returns a decoder for stored replies.
func NewUnpacker() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRawPage))
}

// RawPages unpacks stored replies in order, each after checking its bytes. A page is valid only until the
// next iteration. Nothing follows an error.
func RawPages(disk durable.Disk, dir string, a *Account, paths []string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		dec, err := NewUnpacker()
		if err != nil {
			yield(nil, err)
			return
		}
		defer dec.Close()
		var page []byte
		for _, path := range paths {
			if page, err = RawPage(disk, dir, path, a.Files[path], dec, page[:0]); !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// RawPage unpacks a stored reply after checking its bytes. room is reused for the result.
func RawPage(disk durable.Disk, dir, path string, info *File, dec *zstd.Decoder, room []byte) ([]byte, error) {
	if err := CheckBytes(disk, dir, path, info); err != nil {
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
