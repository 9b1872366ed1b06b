package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// spans is a collector of traces that keeps what it is sent.
type spans struct {
	mu      sync.Mutex
	list    []*tracev1.Span
	service string
	raw     bytes.Buffer
}

func (s *spans) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var req collector.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(b, &req) != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(b)
	for _, rs := range req.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				s.service = a.Value.GetStringValue()
			}
		}
		for _, ss := range rs.ScopeSpans {
			s.list = append(s.list, ss.Spans...)
		}
	}
}

// syncTo runs a sync in a process of its own, for the library reads its variables
// from the environment.
func (w *world) syncTo(endpoint string) (code int, stderr string) {
	w.t.Helper()
	cmd := w.start(w.t.Context(), "sync")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint, "OTEL_SERVICE_NAME=copies")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), errOut.String()
}

func TestTrace_OfARun(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	failing := (w.today() - 20).String()
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Day: failing})
	got := &spans{}
	server := httptest.NewServer(got)
	defer server.Close()
	if code, stderr := w.syncTo(server.URL); code != exit.Partial || strings.Contains(stderr, "traces") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	names := map[string]int{}
	var root *tracev1.Span
	for _, s := range got.list {
		names[s.Name]++
		if len(s.ParentSpanId) == 0 {
			root = s
		}
	}
	for name, want := range map[string]int{"sync": 1, "day": 33, "read account": 1, "read settings": 1,
		"stage settings": 1, "publish": 1} {
		if names[name] != want {
			t.Errorf("%d spans %q, want %d", names[name], name, want)
		}
	}
	if root == nil || root.Name != "sync" || got.service != "copies" {
		t.Fatalf("root %v, service %s", root, got.service)
	}
	attribute := func(s *tracev1.Span, key string) string {
		for _, a := range s.Attributes {
			if a.Key == key {
				return a.Value.GetStringValue()
			}
		}
		return ""
	}
	for _, s := range got.list {
		if s != root && !bytes.Equal(s.ParentSpanId, root.SpanId) {
			t.Errorf("%s has another parent", s.Name)
		}
		wrong := s == root || s.Name == "day" && attribute(s, "spendsync.day") == failing
		if bad := s.Status.GetCode() == tracev1.Status_STATUS_CODE_ERROR; bad != wrong {
			t.Errorf("%s %s: status %v", s.Name, attribute(s, "spendsync.day"), s.Status)
		}
	}
	if attribute(root, "spendsync.account") != "acme" || attribute(root, "spendsync.run_id") == "" {
		t.Errorf("root: %v", root.Attributes)
	}
	for _, secret := range []string{adsim.DefaultKey, adsim.DefaultPassword} {
		if strings.Contains(got.raw.String(), secret) {
			t.Error("a secret is in the trace")
		}
	}
}

// TestTrace_NobodyListens: a run does not depend on who watches it.
func TestTrace_NobodyListens(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	w.env["LOG_LEVEL"] = "warn"
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	begin := time.Now()
	code, stderr := w.syncTo(server.URL)
	if code != exit.OK || !strings.Contains(stderr, "traces could not be sent") {
		t.Errorf("exit %d after %s: %s", code, time.Since(begin), stderr)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if !strings.HasPrefix(lines[len(lines)-1], "spendsync: published generation 1") {
		t.Errorf("the last line is %s", lines[len(lines)-1])
	}
}

func TestTrace_OnlyWhereSomebodyAsks(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
	for _, c := range []struct {
		env    []string
		wanted bool
		why    string
	}{
		{nil, false, ""},
		{[]string{endpoint}, true, ""},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:4318/v1/traces",
			"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, true, ""},
		{[]string{endpoint, "OTEL_SDK_DISABLED=true"}, false, ""},
		{[]string{endpoint, "OTEL_TRACES_EXPORTER=none"}, false, "none"},
		{[]string{endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, false, "grpc"},
	} {
		wanted, why := traceEndpoint(openTelemetry(slices.Concat(c.env, os.Environ())))
		if wanted != c.wanted || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("%v: %t, %q", c.env, wanted, why)
		}
	}
}
