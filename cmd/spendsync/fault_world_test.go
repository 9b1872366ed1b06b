package main

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"spendsync/extract/adsim"
	"spendsync/extract/adsim/tools"
	"spendsync/schema"
)

// faultNow is when the worlds of the fault tests begin: noon in Chicago, five days
// after the clocks changed.
var faultNow = time.Date(2026, time.March, 13, 17, 0, 0, 0, time.UTC)

// The secrets of the fault tests. No fault brings them into any output.
const (
	canaryKey      = "adv_cAn4ryKey0123456789"
	canaryPassword = `cAn4ryPass"wörd/&<+ %`
)

// inProcess runs a test in a world without sockets. Its clock, that of the service
// and of spendsync, stands until the test moves it. The store begins as a copy of
// from, or empty.
func inProcess(t *testing.T, from fs.FS, edit ...func(*adsim.Config)) *world {
	t.Helper()
	cfg := adsim.Config{
		Campaigns: 6, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 60, RateLimit: -1,
		APIKey: canaryKey, ReportPassword: canaryPassword,
	}
	for _, e := range edit {
		e(&cfg)
	}
	w := &world{t: t, service: adsim.New(cfg, tools.New), dir: filepath.Join(t.TempDir(), "data"),
		passed: new(atomic.Int64), limits: testLimits}
	w.withoutMarts()
	w.transport, w.now = w.service.Transport(), w.service.Now
	w.service.SetNow(faultNow)
	w.env = map[string]string{
		"ADVERTISER_URL": "https://ads.test" + adsim.APIPrefix, "API_KEY": canaryKey,
		"REPORT_URL": "https://report.test" + adsim.ReportPrefix, "REPORT_USER": adsim.DefaultUser,
		"REPORT_PASSWORD": canaryPassword,
		"DATA_DIR":        w.dir, "ACCOUNT": "acme", "LOG_FORMAT": "text", "LOG_LEVEL": "debug", "PAGE_SIZE": "20",
		"RETRY_BUDGET": "20ms", "HTTP_TIMEOUT": "5s", "DUCKDB_MEMORY": "512MiB",
	}
	if from != nil {
		if err := os.CopyFS(w.dir, from); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(w.wantNoCanaryInFiles)
	return w
}

// syncedStore is a store that was synced at faultNow. It is made once.
func syncedStore(t *testing.T) fs.FS {
	t.Helper()
	makeSynced.Do(func() {
		w := inProcess(t, nil)
		w.must("sync")
		files := fstest.MapFS{}
		err := filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			name, _ := filepath.Rel(w.dir, path)
			b, err := os.ReadFile(path)
			files[filepath.ToSlash(name)] = &fstest.MapFile{Data: b, Mode: 0o644}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		synced = files
	})
	if len(synced) < 70 {
		t.Fatalf("the synced store has %d files", len(synced))
	}
	return synced
}

var (
	makeSynced sync.Once
	synced     fstest.MapFS
)

// later is a world whose store was synced 32 days ago: each day of the reach is due,
// and none is lost.
func later(t *testing.T, edit ...func(*adsim.Config)) *world {
	t.Helper()
	w := inProcess(t, syncedStore(t), edit...)
	w.service.Advance(32 * 24 * time.Hour)
	return w
}

// runLogged runs a command and returns all of stderr, too. No output shows a secret.
func (w *world) runLogged(args ...string) (code int, stderr, lastLine string) {
	w.t.Helper()
	code, stdout, stderr := w.execute(w.t.Context(), args)
	w.wantNoCanary(strings.Join(args, " "), stdout+stderr)
	return code, stderr, ending(stderr)
}

// published is the content of all that readers see.
func (w *world) published() map[string]string {
	w.t.Helper()
	return w.hashes("parquet", "raw", "manifest.json", "warehouse.duckdb")
}

// wantUnchanged requires that files are unchanged.
func (w *world) wantUnchanged(what string, was, is map[string]string) {
	w.t.Helper()
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if is[path] != was[path] {
			w.t.Errorf("%s: %s is not as it was", what, path)
		}
	}
	for path := range is {
		if _, ok := was[path]; !ok {
			w.t.Errorf("%s: %s is new", what, path)
		}
	}
	if len(was) < 70 {
		w.t.Errorf("%s: only %d files were published", what, len(was))
	}
}

// wantNoCanaryInFiles looks for the secrets in every file of the store: as bytes,
// in the replies after decompressing them, and in every text of the warehouse.
func (w *world) wantNoCanaryInFiles() {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), "cAn4ry") {
			w.t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.t.Error(err)
	}
}

// wantNoCanary requires that an output shows no secret, in no form.
func (w *world) wantNoCanary(where, text string) {
	w.t.Helper()
	if i := strings.Index(text, "cAn4ry"); i >= 0 {
		w.t.Errorf("%s shows a secret: %s", where, text[max(0, i-100):min(len(text), i+100)])
	}
}

// paidRow is a row with spend on that page of a day, from 0 within the page.
func (w *world) paidRow(day schema.Date, page, size int) int {
	w.t.Helper()
	i := 0
	for l := range w.service.Truth(day.String()) {
		if i/size == page-1 && l.Spend > 0 && l.Clicks > 0 {
			return i % size
		}
		i++
	}
	w.t.Fatalf("no paid row on page %d of %s", page, day)
	return 0
}

// onTheWay is a transport that changes requests and replies on their way.
type onTheWay func(*http.Request) (*http.Response, error)

func (f onTheWay) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
