package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// beats is a receiver of heartbeats on loopback: it keeps the paths, and answers with a status.
type beats struct {
	mu     sync.Mutex
	status int
	paths  []string
}

func (b *beats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paths = append(b.paths, r.URL.Path)
	w.WriteHeader(b.status)
}

// take returns the paths since the last call.
func (b *beats) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.paths
	b.paths = nil
	return taken
}

// TestHeartbeat_OfRuns: every run reports its start and how it ended, a run with a wrong variable its
// end; commands that are no run report nothing. A receiver that fails changes no exit code, and its
// address shows nowhere.
func TestHeartbeat_OfRuns(t *testing.T) {
	w := newWorld(t, small)
	b := &beats{status: http.StatusOK}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "heartbeat")
	if err := os.WriteFile(file, []byte(server.URL+"/cAn4ry\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env["HEARTBEAT_URL_FILE"], w.env["LOG_LEVEL"] = file, "debug"
	for _, step := range []struct {
		edit func()
		args []string
		code int
		want []string
	}{
		{nil, []string{"sync"}, exit.OK, []string{"/cAn4ry/start", "/cAn4ry"}},
		{nil, []string{"status"}, exit.OK, nil},
		{nil, []string{"backfill", "--from", "x"}, exit.Usage, []string{"/cAn4ry/start", "/cAn4ry/2"}},
		{func() { w.env["API_KEY"] = "wrong-key" }, []string{"sync"}, exit.Auth,
			[]string{"/cAn4ry/start", "/cAn4ry/3"}},
		{func() { w.env["YOUNG_DAYS"] = "many" }, []string{"sync"}, exit.Usage, []string{"/cAn4ry/2"}},
		{func() { w.env["YOUNG_DAYS"], w.env["API_KEY"] = "3", adsim.DefaultKey; b.status = 500 },
			[]string{"sync"}, exit.OK, nil},
		{func() { w.env["HEARTBEAT_URL_FILE"] = file + ".none" }, []string{"sync"}, exit.OK, nil},
		{func() { w.env["HEARTBEAT_URL_FILE"], w.env["HEARTBEAT_URL"] = "", "ftp://host/cAn4ry" }, []string{"sync"},
			exit.Usage, nil},
		{func() { w.env["HEARTBEAT_URL"] = "http://host.example.com/cAn4ry" }, []string{"sync"}, exit.Usage, nil},
	} {
		if step.edit != nil {
			step.edit()
		}
		code, stderr := w.stderr(step.args...)
		got := b.take()
		if code != step.code || step.want != nil && !slices.Equal(got, step.want) {
			t.Errorf("%v: exit %d, want %d; received %q, want %q", step.args, code, step.code, got, step.want)
		}
		if strings.Contains(stderr, "cAn4ry") {
			t.Errorf("%v shows the address: %s", step.args, stderr)
		}
		if b.status == 500 && step.code == exit.OK && !strings.Contains(stderr, "heartbeat") {
			t.Errorf("%v: no warning: %s", step.args, stderr)
		}
	}
}
