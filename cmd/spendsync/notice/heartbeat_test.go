package notice

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver stands for a service on loopback. It answers with the statuses in their order, and with
// the last one from then on.
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

// TestHeartbeat_SpeaksAsHealthchecks: start, then success or the exit code, under one rid.
func TestHeartbeat_SpeaksAsHealthchecks(t *testing.T) {
	uuidForm := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	const runID = "01JQZ3W9Y8V7T6S5R4Q3P2N1M0"
	for code, end := range map[int]string{0: "/ping/cAn4ry", 4: "/ping/cAn4ry/4", 143: "/ping/cAn4ry/143"} {
		r := &receiver{}
		u := serve(t, r)
		u.Path, u.RawQuery = "/ping/cAn4ry/", "create=1"
		if code == 0 {
			u.Path = "/ping/cAn4ry"
		}
		h := NewHeartbeat(u, runID)
		h.Start(t.Context())
		if err := h.End(t.Context(), code); err != nil {
			t.Fatal(err)
		}
		got := r.requests()
		for i, path := range []string{"/ping/cAn4ry/start", end} {
			rid, ok := "", i < len(got)
			if ok {
				rid, ok = strings.CutPrefix(got[i], path+"?create=1&rid=")
			}
			if !ok || !uuidForm.MatchString(rid) || !strings.HasSuffix(got[0], rid) {
				t.Errorf("exit %d: %q, want %s", code, got, path)
			}
		}
	}
	var none *Heartbeat
	none.Start(t.Context())
	if err := none.End(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// TestHeartbeat_TriesAgain: a receiver that fails at times loses nothing; one that refuses is not
// asked again.
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
		err := NewHeartbeat(u, "").End(t.Context(), 0)
		if (err == nil) != c.ok || len(r.requests()) != c.asked {
			t.Errorf("%s: %v after %d requests", name, err, len(r.requests()))
		}
		if err != nil && (strings.Contains(err.Error(), "cAn4ry") || !strings.Contains(err.Error(), u.Host)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHeartbeat_ADeadReceiverEndsWithItsTime: one that accepts and never answers, and a port that
// nothing listens at. The error shows no part of the address but its host.
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
		h := NewHeartbeat(u, "")
		h.Start(ctx)
		err = h.End(ctx, 0)
		cancel()
		if err == nil || strings.Contains(err.Error(), "cAn4ry") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
