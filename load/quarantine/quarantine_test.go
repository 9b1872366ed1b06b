package quarantine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/durable"
	"spendsync/schema"
)

// TestReplies_UnpackNoMoreThanDescribed replaces a reply in quarantine by a decompression bomb. The bomb is damage
// because of its hash or, if about.json has the bomb's hash, because of its size.
func TestReplies_UnpackNoMoreThanDescribed(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("a reply")
	bomb := z.EncodeAll(make([]byte, 256<<20), nil)
	f := Folder{Disk: durable.OS, Dir: t.TempDir(), Account: "acme"}
	err = f.Put(Day{Date: 20000, PageSize: 10}, func(yield func(Packed, error) bool) {
		yield(Packed{Content: z.EncodeAll(body, nil), Unpacked: int64(len(body))}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		days, err := f.Days()
		if err != nil || len(days) != 1 {
			t.Fatalf("%+v, %v", days, err)
		}
		replies := 0
		for got, err := range f.Replies(days[0]) {
			replies++
			if want == "" && (err != nil || string(got) != string(body)) {
				t.Errorf("%q, %v", got, err)
			}
			if want != "" && (!errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "0001.json.zst")) {
				t.Errorf("%d bytes, %v; want damage that names %q", len(got), err, want)
			}
		}
		if replies != 1 {
			t.Errorf("%d replies", replies)
		}
	}
	check("")
	dir := f.at("day=" + schema.Date(20000).String())
	if err := os.WriteFile(filepath.Join(dir, "0001.json.zst"), bomb, 0o644); err != nil {
		t.Fatal(err)
	}
	check("when it was published")
	days, err := f.Days()
	if err != nil {
		t.Fatal(err)
	}
	days[0].Pages[0] = Reply{Name: "0001.json.zst", Bytes: int64(len(bomb)), SHA256: durable.HashBytes(bomb),
		Unpacked: int64(len(body))}
	about, err := json.Marshal(days[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, aboutName), about, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	check("more than the 7 bytes")
}
