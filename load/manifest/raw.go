package manifest

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
)

const (
	// maxUnpacked bounds what any file of replies unpacks to, whatever its manifest records.
	maxUnpacked = 1 << 30
	// maxRow and freeUnpacked bound a reply whose unpacked size is not recorded: stores from before
	// [File.Unpacked] have such replies. A row of the report takes some 300 bytes.
	maxRow       = 64 << 10
	freeUnpacked = 1 << 20
	// maxWindow bounds the memory of a decoder, in addition to its result. Our encoders use windows of up to 8 MiB.
	maxWindow = 64 << 20
)

// mostUnpacked returns how many bytes a file of replies may unpack to.
func (f *File) mostUnpacked() int64 {
	switch {
	case f.Unpacked > 0:
		return min(f.Unpacked, maxUnpacked)
	case f.Kind == KindRaw && f.Rows > 0 && f.Rows < maxUnpacked/maxRow:
		return freeUnpacked + f.Rows*maxRow
	}
	return maxUnpacked
}

// newUnpacker returns a decoder for stored replies.
func newUnpacker() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
}

// RawPages unpacks stored replies in order, each after checking its bytes. A page is valid only until the
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

// rawPage unpacks a stored reply after checking its bytes. room is reused for the result. No reply unpacks to
// more than its manifest allows: 200 KB of zstd can hold 6 GB.
func rawPage(disk durable.Disk, dir, path string, info *File, dec *zstd.Decoder, room []byte) ([]byte, error) {
	if err := CheckBytes(disk, dir, path, info); err != nil {
		return nil, err
	}
	packed, err := disk.ReadFile(filepath.Join(dir, path), info.Bytes)
	if err != nil {
		return nil, err
	}
	// Not a bytes.Buffer: the decoder would unpack all of it at once.
	if err := dec.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	limit := info.mostUnpacked()
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
