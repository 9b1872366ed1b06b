package job

import (
	"strings"
	"sync"
	"testing"
)

// testLog holds the log of a run. It also writes the lines to the log of the test.
type testLog struct {
	t    *testing.T
	mu   sync.Mutex
	said strings.Builder
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t.Context().Err() == nil { // a test that has ended must not log
		l.t.Log(strings.TrimSpace(string(p)))
	}
	return l.said.Write(p)
}

// String returns the collected lines.
func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}
