package check

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestScratchFolder_RemovesWhatIsLeft: a check removes the folders of those that were killed, and neither that of one
// that is running nor a young one, which may be about to get its lock.
func TestScratchFolder_RemovesWhatIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	running, release, err := scratchFolder()
	if err != nil {
		t.Fatal(err)
	}
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(os.TempDir(), scratch+name)
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	killed, young := folder("killed", time.Hour), folder("young", 0)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(running, long, long); err != nil {
		t.Fatal(err)
	}
	own, releaseOwn, err := scratchFolder()
	if err != nil {
		t.Fatal(err)
	}
	exists := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	if exists(killed) || !exists(young) || !exists(running) || !exists(own) {
		t.Errorf("the folder of a killed check exists: %t, a young one: %t, a running check's: %t, its own: %t",
			exists(killed), exists(young), exists(running), exists(own))
	}
	release()
	releaseOwn()
	if exists(running) || exists(own) {
		t.Error("a check that ended has left its folder")
	}
}
