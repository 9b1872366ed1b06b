package notice

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver simulates a service on loopback. It answers with the given statuses in order, and then repeats the last
// status.
type receiver struct {
	mu       sync.Mutex
	statuses []int
	location string
	got      []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, req.URL.RequestURI())
	if r.location != "" {
		w.Header().Set("Location", r.location)
	}
	status := http.StatusOK
	if len(r.statuses) > 0 {
		status = r.statuses[0]
		if len(r.statuses) > 1 {
			r.statuses = r.statuses[1:]
		}
	}
	w.WriteHeader(status)
}

func (r *receiver) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func serve(t *testing.T, r *receiver) *url.URL {
	t.Helper()
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestHeartbeat_SpeaksAsHealthchecks: the requests report the start, and then success or the exit code.
func TestHeartbeat_SpeaksAsHealthchecks(t *testing.T) {
	for code, end := range map[int]string{0: "/ping/cAn4ry", 4: "/ping/cAn4ry/4", 143: "/ping/cAn4ry/143"} {
		r := &receiver{}
		u := serve(t, r)
		u.Path, u.RawQuery = "/ping/cAn4ry/", "create=1"
		if code == 0 {
			u.Path = "/ping/cAn4ry"
		}
		if err := errors.Join(Beat(t.Context(), u, "start"), Beat(t.Context(), u, strconv.Itoa(code))); err != nil {
			t.Fatal(err)
		}
		if want := []string{"/ping/cAn4ry/start?create=1", end + "?create=1"}; !slices.Equal(r.requests(), want) {
			t.Errorf("exit %d: %q, want %q", code, r.requests(), want)
		}
	}
	if err := Beat(t.Context(), nil, "1"); err != nil {
		t.Error(err)
	}
}

// TestHeartbeat_TriesAgain: if a receiver fails, the request is repeated; if it refuses, the request is not repeated.
func TestHeartbeat_TriesAgain(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		ok       bool
		asked    int
	}{
		"fails once":   {[]int{503, 200}, true, 2},
		"fails always": {[]int{500}, false, 3},
		"is in a rush": {[]int{429, 429, 200}, true, 3},
		"refuses":      {[]int{404}, false, 1},
		"redirects":    {[]int{302}, false, 1},
	} {
		r := &receiver{statuses: c.statuses, location: "https://evil.test/cAn4ry"}
		u := serve(t, r)
		u.Path = "/cAn4ry"
		err := Beat(t.Context(), u, "0")
		if (err == nil) != c.ok || len(r.requests()) != c.asked {
			t.Errorf("%s: %v after %d requests", name, err, len(r.requests()))
		}
		if err != nil && (strings.Contains(err.Error(), "cAn4ry") || !strings.Contains(err.Error(), u.Host)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHeartbeat_ADeadReceiverEndsWithItsTime tests a receiver that accepts a connection and never answers, and a port
// without a listener. The error shows only the host of the address.
func TestHeartbeat_ADeadReceiverEndsWithItsTime(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, address := range []string{s.URL, gone.URL} {
		u, err := url.Parse(address + "/cAn4ry?token=cAn4ry")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err = Beat(ctx, u, "0")
		cancel()
		if err == nil || strings.Contains(err.Error(), "cAn4ry") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
