package job

import (
	"log/slog"
	"strings"
	"testing"
)

// newTestLog writes to the test's own log, which shows with -v or after a failure.
func newTestLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil { // a test that has ended takes no lines
		w.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}
