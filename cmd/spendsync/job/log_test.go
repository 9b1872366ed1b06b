package job

import (
	"strings"
	"sync"
	"testing"
)

// testLog is a run's log. It is written to the test's own, which shows with -v or after a failure, too.
type testLog struct {
	t    *testing.T
	mu   sync.Mutex
	said strings.Builder
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t.Context().Err() == nil { // a test that has ended takes no lines
		l.t.Log(strings.TrimSpace(string(p)))
	}
	return l.said.Write(p)
}

// String returns what is said from a warning on, or for people.
func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}
