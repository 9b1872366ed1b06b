package job_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/spendsync/job"
	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/loadtest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// noon is the instant at which the syncs with quirks begin: 14:00 in Chicago.
var noon = time.Date(2026, time.November, 21, 20, 0, 0, 0, time.UTC)

// The credentials of the account, which must be found nowhere.
const (
	canaryKey      = "adv_canary_5c1f9"
	canaryPassword = "canary/pass+word=7d"
)

// quirkWorld is a small account at the simulated service with a store beside it.
type quirkWorld struct {
	t       *testing.T
	service *adsim.Service
	dir     string
	runs    int
	log     bytes.Buffer // of the last run
	page    int          // rows asked for a page
	views   []duck.View  // that are published; nil: none

	transport http.RoundTripper // nil: the service's own
}

func newQuirkWorld(t *testing.T, quirks ...string) *quirkWorld {
	t.Helper()
	w := &quirkWorld{t: t, dir: filepath.Join(t.TempDir(), "data"), page: 20}
	w.service = adsim.New(adsim.Config{
		Seed: 5, Campaigns: 7, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 30, RateLimit: -1,
		FreezeRestatements: true,
		APIKey:             canaryKey, ReportPassword: canaryPassword, Quirks: quirks,
	})
	w.service.SetNow(noon)
	t.Cleanup(w.wantNoSecret)
	return w
}

// client asks the service in-process.
func (w *quirkWorld) client(base, authorization string, log *slog.Logger) *extract.Client {
	w.t.Helper()
	c, err := extract.NewClient(extract.Options{
		BaseURL: base, Authorize: func(r *http.Request) { r.Header.Set("Authorization", authorization) },
		Timeout: 5 * time.Second, RetryBudget: 20 * time.Millisecond, Log: log, Transport: w.roundTripper(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *quirkWorld) roundTripper() http.RoundTripper {
	if w.transport != nil {
		return w.transport
	}
	return w.service.Transport()
}

// sync runs once and returns what became of it. What it logged is in w.log.
func (w *quirkWorld) sync() *job.Result {
	w.t.Helper()
	result, err := w.job().Sync(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// job is the next run.
func (w *quirkWorld) job() job.Job {
	w.t.Helper()
	w.log.Reset()
	log := slog.New(slog.NewTextHandler(&lockedWriter{to: &w.log}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	w.runs++
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(adsim.DefaultUser+":"+canaryPassword))
	j := job.Job{
		RunID: fmt.Sprintf("run%d", w.runs), Account: "acme", DataDir: w.dir, Version: "test",
		Store: load.Options{
			DuckDB:  duck.Options{Memory: "256MiB", Threads: 1, Views: w.views},
			KeepRaw: true, Version: "test",
			Log: log, Now: w.service.Now,
		},
		Report: w.client("https://report.test"+adsim.ReportPrefix, basic, log),
		API:    w.client("https://ads.test"+adsim.APIPrefix, "Bearer "+canaryKey, log),
		Plan:   job.PlanOptions{YoungDays: 3, PageSize: w.page}, Concurrency: 4, RequestsPerMinute: 1_000_000,
		Now: w.service.Now, Log: log,
	}
	w.t.Cleanup(j.Report.Close)
	w.t.Cleanup(j.API.Close)
	return j
}

// lockedWriter takes what several goroutines log.
type lockedWriter struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// wantNoSecret looks for the credentials in all files of the store and in the log.
func (w *quirkWorld) wantNoSecret() {
	w.t.Helper()
	secrets := []string{canaryKey, canaryPassword, strings.ReplaceAll(canaryPassword, "/", `\/`),
		base64.StdEncoding.EncodeToString([]byte(adsim.DefaultUser + ":" + canaryPassword)),
		url.QueryEscape(canaryPassword)}
	for _, secret := range []string{canaryKey, canaryPassword} {
		for before := range 3 { // wherever it stands in other text that is written in base64
			code := base64.RawStdEncoding.EncodeToString([]byte("..."[:before] + secret))
			secrets = append(secrets, code[4:len(code)-2])
		}
	}
	look := func(where string, in []byte) {
		for _, s := range secrets {
			if bytes.Contains(in, []byte(s)) {
				w.t.Errorf("%s shows %s", where, s)
			}
		}
	}
	look("the log", w.log.Bytes())
	err := filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := plainFile(path)
		look(path, b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Error(err)
	}
}

// days counts the days of the account by their state and by that of their total.
func days(result *job.Result) string {
	counts := map[string]int{}
	for _, c := range result.Coverage {
		counts[c.State+"/"+c.ControlTotalState]++
	}
	return listed(counts)
}

func listed(counts map[string]int) string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(list, ", ")
}

// numbers says on how many days the stored rows do not add up to what the service
// holds, and how many are not stored.
func (w *quirkWorld) numbers() string {
	w.t.Helper()
	counts := map[string]int{}
	for d := schema.DateOf(noon) - 32; d <= schema.DateOf(noon); d++ {
		truth, err := w.service.TruthSum(d.String())
		if err != nil {
			w.t.Fatal(err)
		}
		rows := rowsOf(w, schema.SpendDaily, filepath.Join("account=acme", "day="+d.String()))
		var sum adsim.Sum
		for _, r := range rows {
			sum.Rows++
			sum.Spend += int64(r.Spend)
			sum.Clicks += r.Clicks.V
			sum.Impressions += r.Impressions.V
		}
		truth.Conversions = 0
		switch {
		case rows == nil && truth.Rows > 0:
			counts["not stored"]++
		case sum != truth:
			counts["other"]++
		}
	}
	return listed(counts)
}

// rowsOf reads a Parquet file of a table; nil where there is none.
func rowsOf[R any](w *quirkWorld, t schema.TableOf[R], under string) []R {
	w.t.Helper()
	rows, err := parquet.ReadRows(filepath.Join(w.dir, "parquet", t.Name, under, "data.parquet"), t)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return rows
}

// lines asks the published warehouse and returns a line for each row, its cells joined by bars.
func (w *quirkWorld) lines(sql string) string {
	w.t.Helper()
	a, err := loadtest.Query(w.t.Context(), w.dir, sql)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, row := range a.Rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, cell.V)
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return strings.Join(all, "\n")
}

// tried reports whether a test tries case i of a long table: one of 32 by default, of eight in .ci/run, or each
// in .ci/long.
func tried(i int) bool {
	return i%schematest.Times(32, 8, 1) == 0
}
