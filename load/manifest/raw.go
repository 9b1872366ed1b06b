package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
)

const (
	// maxUnpacked bounds the decompressed size of a reply. Replies that were stored before [File.Unpacked] existed have
	// no smaller bound.
	maxUnpacked = 1 << 30
	// maxWindow bounds the memory of a decoder, not counting its result. Our encoders use windows of up to 8 MiB.
	maxWindow = 64 << 20
)

// newUnpacker returns a decoder for stored replies.
func newUnpacker() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
}

// RawPages checks the bytes of stored replies and yields them decompressed, in order. A page is valid only until the
// next iteration. Nothing follows an error.
func RawPages(disk durable.Disk, dir string, a *Account, paths []string) iter.Seq2[[]byte, error] {
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

// rawPage checks and decompresses a stored reply. It writes the result into the given slice, if that is large enough.
// The size of the result is limited because 200 KB of zstd can expand to 6 GB.
func rawPage(disk durable.Disk, dir, path string, info *File, dec *zstd.Decoder, room []byte) ([]byte, error) {
	if err := CheckBytes(disk, dir, path, info); err != nil {
		return nil, err
	}
	packed, err := disk.ReadFile(filepath.Join(dir, path), info.Bytes)
	if err != nil {
		return nil, err
	}
	// Do not pass a bytes.Buffer: the decoder would decompress the whole buffer at once, without the limit.
	if err := dec.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	limit := min(cmp.Or(info.Unpacked, maxUnpacked), maxUnpacked)
	page := bytes.NewBuffer(room)
	if info.Unpacked > 0 {
		page.Grow(int(limit) + bytes.MinRead)
	}
	switch n, err := page.ReadFrom(io.LimitReader(dec, limit+1)); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, durable.Damaged(path, "", "it does not unpack: %v", err)
	case n > limit:
		return nil, durable.Damaged(path, "", "%d bytes unpack to more than the %d bytes that are recorded",
			len(packed), limit)
	case n < info.Unpacked:
		return nil, durable.Damaged(path, "", "it unpacks to %d bytes, and %d are recorded", n, info.Unpacked)
	}
	return page.Bytes(), nil
}
