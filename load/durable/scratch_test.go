package durable

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestScratch_OfDeadProcessesGoes: MakeScratch removes folders with a free lock. It leaves the folder of a living
// process, and a young folder whose process may be about to take its lock.
func TestScratch_OfDeadProcessesGoes(t *testing.T) {
	parent := t.TempDir()
	living, err := MakeScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	folder := func(name string, age time.Duration, files ...string) string {
		dir := filepath.Join(parent, scratchPrefix+name)
		for _, f := range append(files, "spill") {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, f), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	killed, young, old := folder("killed", 0, "lock"), folder("young", 0), folder("old", time.Hour)
	own, err := MakeScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	if Exists(killed) || Exists(old) || !Exists(young) || !Exists(living.Dir) || !Exists(own.Dir) {
		t.Errorf("killed %t, old %t, young %t, living %t, own %t", Exists(killed), Exists(old), Exists(young),
			Exists(living.Dir), Exists(own.Dir))
	}
	if err := own.Remove(); err != nil || Exists(own.Dir) {
		t.Errorf("removed: %v", err)
	}
	if _, err := MakeScratch(filepath.Join(parent, "none")); err == nil {
		t.Error("a folder below nothing")
	}
}

// TestScratch_ManyAtOnce: if another process removes a new folder before the lock is taken, MakeScratch creates another
// folder.
func TestScratch_ManyAtOnce(t *testing.T) {
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s, err := MakeScratch(parent)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
