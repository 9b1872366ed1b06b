package loadtest

import (
	"os"
	"sync"
	"testing"
)

// Stores are prepared stores, by name, for tests that begin with the same content. Each is created once and then
// copied.
type Stores struct {
	mu   sync.Mutex
	made map[string]string // folders of the stores, by name
}

// Copy puts the store called name into dir. The first call for a name runs the given function, which must create the
// store in dir. Later calls copy that store. The master copy is in the temporary folder of the tests, which [InMemory]
// removes.
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
