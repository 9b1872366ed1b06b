// Package loadtest contains helpers for tests of stores.
package loadtest

import (
	"io/fs"
	"os"
	"testing"
)

// Files returns the contents of the files below a folder, by path.
func Files(t testing.TB, dir string) map[string]string {
	t.Helper()
	files, folder := map[string]string{}, os.DirFS(dir)
	err := fs.WalkDir(folder, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(folder, path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
