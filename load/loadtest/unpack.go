package loadtest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Unpack unpacks a store from testdata/stores into a folder.
func Unpack(t testing.TB, packed, dir string) {
	t.Helper()
	b, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.FileInfo().IsDir() {
			continue
		}
		b, err := io.ReadAll(r)
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
