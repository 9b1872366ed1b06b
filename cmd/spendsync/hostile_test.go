package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/spendsync/metrics"
	"spendsync/schema"
)

// hostileReplies are replies that would cost a careless client its memory or its stack.
func hostileReplies(t *testing.T) map[string]http.HandlerFunc {
	t.Helper()
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	if _, err := z.Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	gzipped := bytes.Repeat(member.Bytes(), 64) // 1 GiB
	var packed bytes.Buffer
	e, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
	if err == nil {
		_, err = io.CopyN(e, zeroes{}, 1<<30)
	}
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	encoded := func(name string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", name)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}
	}
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	return map[string]http.HandlerFunc{
		"gzip bomb": encoded("gzip", gzipped),
		"zstd bomb": encoded("zstd", packed.Bytes()),
		"gzip in disguise": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(gzipped)
		},
		"deep lists":   text(strings.Repeat("[", 4<<20)),
		"deep objects": text(strings.Repeat(`{"data":`, 1<<19)),
		"deep rows":    text(`{"columns":["date"],"rows":` + strings.Repeat("[", 4<<20)),
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"data":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestClients_HostileReplies: each client ends with an error, or ignores the body, and takes bounded memory.
// spendsync-lake has the same test in load/lake.
func TestClients_HostileReplies(t *testing.T) {
	read := func(t *testing.T, to string) *config.Config {
		c, err := config.Read(t.Context(), []string{"SPENDSYNC_REPORT_URL=" + to, "SPENDSYNC_ADVERTISER_URL=" + to,
			"SPENDSYNC_REPORT_USER=ann", "SPENDSYNC_REPORT_PASSWORD=p", "SPENDSYNC_API_KEY=k",
			"SPENDSYNC_RETRY_BUDGET=1ms"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for client, c := range map[string]struct {
		ask       func(t *testing.T, to string) error
		most      uint64 // bytes of memory, counted as often as they are taken
		readsBody bool   // a successful reply counts by its content, not by its status
	}{
		"report": {most: 512 << 20, readsBody: true, ask: func(t *testing.T, to string) error {
			c, err := read(t, to).ReportClient(config.ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range c.Spend(t.Context(), schema.DateOf(time.Now()), 10, nil, nil) {
				return err
			}
			return nil
		}},
		"advertiser API": {most: 512 << 20, readsBody: true, ask: func(t *testing.T, to string) error {
			c, err := read(t, to).AdvertiserClient(config.ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Campaign(t.Context(), "C1234567")
			return err
		}},
		"pushgateway": {most: 64 << 20, ask: func(t *testing.T, to string) error {
			u, err := url.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			return metrics.Push(t.Context(), u, "account", "acme", &metrics.Facts{End: time.Now()})
		}},
	} {
		for name, reply := range hostileReplies(t) {
			for _, status := range []int{200, 500} {
				t.Run(fmt.Sprintf("%s/%s/%d", client, name, status), func(t *testing.T) {
					asked := 0
					s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						asked++
						_, _ = io.Copy(io.Discard, r.Body)
						reply(&withStatus{ResponseWriter: w, status: status}, r)
					}))
					s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
					s.Start()
					defer s.Close()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := c.ask(t, s.URL)
					runtime.ReadMemStats(&after)
					if took := after.TotalAlloc - before.TotalAlloc; took > c.most {
						t.Errorf("%d bytes of memory were taken, want at most %d", took, c.most)
					}
					if asked == 0 || err == nil && (c.readsBody || status == 500) {
						t.Errorf("%d requests: %v", asked, err)
					}
					if err != nil && len(err.Error()) > 4000 {
						t.Errorf("a message of %d bytes", len(err.Error()))
					}
				})
			}
		}
	}
}

// withStatus answers with a status before the first byte.
type withStatus struct {
	http.ResponseWriter
	status int
}

func (w *withStatus) Write(p []byte) (int, error) {
	if w.status != 0 {
		w.WriteHeader(w.status)
		w.status = 0
	}
	return w.ResponseWriter.Write(p)
}

func (w *withStatus) Unwrap() http.ResponseWriter { return w.ResponseWriter }
