package loadtest

import (
	"os"
	"sync"
	"testing"
)

// Stores are stores that tests begin with, by name. Each is made once and copied.
type Stores struct {
	mu   sync.Mutex
	made map[string]string // their folders
}

// Copy makes the store called name in dir: by do for the first test, which leaves a store in dir, and as a copy for
// the others. It lives in the temporary folder of the process's tests, which [InMemory] removes.
func (s *Stores) Copy(t testing.TB, name, dir string, do func()) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.made[name]; ok {
		if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
			t.Fatal(err)
		}
		return
	}
	do()
	made, err := os.MkdirTemp("", "spendsync-store-")
	if err == nil {
		err = os.CopyFS(made, os.DirFS(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		return
	}
	if s.made == nil {
		s.made = map[string]string{}
	}
	s.made[name] = made
}
