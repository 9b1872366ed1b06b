package manifest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
)

// bomb returns a few KB of zstd that expand to 1 GiB and one byte, with or without that size in the header.
func bomb(t *testing.T, sized bool) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if sized {
		z.ResetContentSize(&b, maxUnpacked+1)
	}
	block := make([]byte, 1<<20)
	for range maxUnpacked >> 20 {
		if _, err := z.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := z.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRawPage_UnpacksNoMoreThanRecorded: a reply with another hash is damage, and is not decompressed. A reply with the
// published hash is decompressed only up to the size that the manifest allows.
func TestRawPage_UnpacksNoMoreThanRecorded(t *testing.T) {
	dir, sized, unsized := t.TempDir(), bomb(t, true), bomb(t, false)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	page := z.EncodeAll([]byte(strings.Repeat("a reply ", 1<<17)), nil) // 1 MiB
	large := z.EncodeAll(make([]byte, 3<<20), nil)
	lines := append(z.EncodeAll([]byte("one\n"), nil), z.EncodeAll([]byte("two\n"), nil)...) // two frames
	wide, err := zstd.NewWriter(nil, zstd.WithWindowSize(128<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		info    File
		other   bool  // the manifest has another file's hash
		size    int64 // decompressed size; 0: the reply is damaged
		most    uint64
		says    string
	}{
		"page/recorded":        {content: page, info: File{Kind: KindRaw, Rows: 1, Unpacked: 1 << 20}, size: 1 << 20},
		"page/of an old store": {content: page, info: File{Kind: KindRaw, Rows: 1}, size: 1 << 20},
		"page/of unknown rows": {content: page, info: File{Kind: KindRaw}, size: 1 << 20},
		"page/one byte more":   {content: page, info: File{Kind: KindRaw, Unpacked: 1<<20 - 1}, says: "1048575"},
		"page/one byte less":   {content: page, info: File{Kind: KindRaw, Unpacked: 1<<20 + 1}, says: "1048577"},
		"page/large":           {content: large, info: File{Kind: KindRaw}, size: 3 << 20},
		"replies/of old":       {content: large, info: File{Kind: KindSettings, Rows: 1}, size: 3 << 20},
		"replies/two frames":   {content: lines, info: File{Kind: KindSettings, Rows: 2, Unpacked: 8}, size: 8},
		"replies/one frame more": {content: lines, info: File{Kind: KindSettings, Rows: 1, Unpacked: 4},
			says: "4 bytes"},
		"bomb/in a page's place": {content: sized, info: File{Kind: KindRaw, Rows: 1, Unpacked: 100}, other: true,
			most: 1 << 20, says: "not those that were published"},
		"bomb/recorded": {content: sized, info: File{Kind: KindRaw, Unpacked: 100}, most: 16 << 20, says: "100 bytes"},
		"bomb/unsized": {content: unsized, info: File{Kind: KindRaw, Unpacked: 100}, most: 16 << 20,
			says: "100 bytes"},
		"bomb/after one": {content: append(page[:len(page):len(page)], sized...), info: File{Kind: KindRaw,
			Unpacked: 1 << 20}, most: 16 << 20, says: "1048576 bytes"},
		"bomb/of replies": {content: unsized, info: File{Kind: KindSettings, Rows: 1, Unpacked: 100}, most: 16 << 20,
			says: "100 bytes"},
		"bomb/of a wide window": {content: wide.EncodeAll(make([]byte, 200<<20), nil), info: File{Kind: KindRaw,
			Unpacked: 100}, most: 16 << 20, says: "window"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "x")
			if err := os.WriteFile(path, c.content, 0o644); err != nil {
				t.Fatal(err)
			}
			c.info.Bytes, c.info.SHA256 = int64(len(c.content)), durable.HashBytes(c.content)
			if c.other {
				c.info.SHA256 = durable.HashBytes(page)
			}
			dec, err := newUnpacker()
			if err != nil {
				t.Fatal(err)
			}
			defer dec.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := rawPage(durable.OS, dir, "x", &c.info, dec, nil)
			runtime.ReadMemStats(&after)
			switch {
			case c.size > 0 && (err != nil || int64(len(got)) != c.size):
				t.Errorf("%d bytes, %v; want %d", len(got), err, c.size)
			case c.size == 0 && (!errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%d bytes, %v; want damage that names %q", len(got), err, c.says)
			}
			if took := after.TotalAlloc - before.TotalAlloc; c.most > 0 && took > c.most {
				t.Errorf("%d bytes of memory were taken, want at most %d", took, c.most)
			}
		})
	}
}
