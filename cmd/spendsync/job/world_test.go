package job

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/duck/ducktest"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// worldNow is the time at which worlds start: noon in Chicago, five days after a clock change.
var worldNow = time.Date(2026, time.March, 13, 17, 0, 0, 0, time.UTC)

// world is a simulated service without sockets, and a store. Both use one clock, which stands still until the test
// moves it.
type world struct {
	t       *testing.T
	cfg     adsim.Config
	service *adsim.Service
	job     Job
	runs    int
	log     *testLog // the log of the last run

	transport http.RoundTripper // nil: the transport of the service
	// retryBudget is the retry budget of the clients; 0: too short for any wait.
	retryBudget time.Duration
	user        string // the user of the report
	password    string
	key         string
}

// newWorld returns a world with a small account and an empty store.
func newWorld(t *testing.T, edit ...func(*adsim.Config)) *world {
	t.Helper()
	t.Parallel()
	cfg := adsim.Config{
		Campaigns: 4, CreativesPerCampaign: 2, Sources: 30, RowsPerDay: 30, RateLimit: -1, FreezeRestatements: true,
	}
	for _, e := range edit {
		e(&cfg)
	}
	w := &world{
		t: t, cfg: cfg, service: adsim.New(cfg),
		user: adsim.DefaultUser, password: adsim.DefaultPassword, key: adsim.DefaultKey,
	}
	w.service.SetNow(worldNow)
	w.job = Job{
		Account: "acme", DataDir: filepath.Join(t.TempDir(), "data"), Version: "test",
		Store: load.Options{
			LockWait: 5 * time.Second, DuckDB: duck.Options{Memory: "512MiB", Threads: 1},
			Version: "test",
			Now:     w.now,
		},
		Plan:        PlanOptions{YoungDays: 3, RereadAfter: 20 * time.Hour, PageSize: 1000},
		Concurrency: 4, RequestsPerMinute: 120, StopGrace: time.Minute, Now: w.now,
	}
	return w
}

// now returns the time of this machine's clock.
func (w *world) now() time.Time { return w.service.Now() }

// today returns the current day by the service's clock.
func (w *world) today() schema.Date { return schema.DateOf(w.service.Now()) }

// client returns a client of one of the two interfaces.
func (w *world) client(url string, perMinute int, authorize func(*http.Request)) *extract.Client {
	w.t.Helper()
	transport := w.transport
	if transport == nil {
		transport = w.service.Transport()
	}
	c, err := extract.NewClient(extract.Options{
		BaseURL: url, Authorize: authorize, Timeout: 5 * time.Second,
		RetryBudget: cmp.Or(w.retryBudget, 20*time.Millisecond),
		PerMinute:   perMinute, Transport: transport, Log: w.job.Log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// next returns the job of the next run.
func (w *world) next() Job {
	w.t.Helper()
	w.runs++
	j := w.job
	j.RunID = fmt.Sprintf("run%06d", w.runs)
	w.log = &testLog{t: w.t}
	j.Log = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	j.Report = w.client("https://report.test"+adsim.ReportPrefix, 0, func(r *http.Request) {
		r.SetBasicAuth(w.user, w.password)
	})
	j.API = w.client("https://ads.test"+adsim.APIPrefix, 120, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+w.key)
	})
	return j
}

// sync runs the job, and requires an exit code and every text of says in the run's sentence.
func (w *world) sync(code int, says ...string) *Result {
	w.t.Helper()
	res, err := w.next().Sync(w.t.Context())
	return w.want(res, err, code, says...)
}

// firsts are the stores after the first sync of an account.
var firsts loadtest.Stores

// first runs the first sync, of a service in its initial state. Worlds with the same configuration share the resulting
// store.
func (w *world) first() {
	w.t.Helper()
	runs := w.runs + 1
	firsts.Copy(w.t, fmt.Sprintf("%+v", w.cfg), w.job.DataDir, func() { w.sync(exit.OK) })
	w.runs = runs
}

func (w *world) want(res *Result, err error, code int, says ...string) *Result {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("the run did not begin: %v", err)
	}
	if res.Run.ExitCode != int64(code) {
		w.t.Errorf("exit %d, want %d: %s", res.Run.ExitCode, code, res.Run.Message.V)
	}
	for _, text := range says {
		if !strings.Contains(res.Run.Message.V, text) {
			w.t.Errorf("the run does not say %q: %s", text, res.Run.Message.V)
		}
	}
	return res
}

// rereadAll makes the next runs read every day.
func (w *world) rereadAll() { w.job.Plan.RereadAfter = -1 }

// account returns the published state of the account.
func (w *world) account() *manifest.Account {
	w.t.Helper()
	m, err := manifest.Read(w.job.DataDir)
	if err != nil {
		w.t.Fatal(err)
	}
	return m.Accounts[w.job.Account]
}

// wantTruth compares the spend and the number of rows of every day in reach, except the days in but, with the
// service's. It also verifies the store.
func (w *world) wantTruth(but ...schema.Date) {
	w.t.Helper()
	known := w.account()
	skip := map[schema.Date]bool{}
	for _, d := range but {
		skip[d] = true
	}
	for d := w.today() - schema.ReachDays; d <= w.today(); d++ {
		sum, err := w.service.TruthSum(d.String())
		if err != nil {
			w.t.Fatal(err)
		}
		switch day := known.Days[d]; {
		case skip[d]:
		case day == nil:
			w.t.Errorf("%s is not stored", d)
		case int64(day.Sums.Spend) != sum.Spend || day.Sums.Rows != int64(sum.Rows):
			w.t.Errorf("%s: %d rows and %s are stored, the service has %d and %d millionths",
				d, day.Sums.Rows, day.Sums.Spend, sum.Rows, sum.Spend)
		}
	}
	w.wantVerified()
}

// wantVerified requires that the store verifies without damage. By default it checks one world of three, because the
// tests of package load verify after each step.
func (w *world) wantVerified() {
	w.t.Helper()
	if !schematest.Drawn(w.t.Name(), 3) {
		return
	}
	report, err := load.Verify(w.t.Context(), w.job.DataDir, w.job.Store, RowsOfReplies(w.job.Service))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range report.Damages {
		w.t.Errorf("damaged: %v", d)
	}
}

// ask runs a query on the published warehouse, and returns the cells joined by bars.
func (w *world) ask(format string, args ...any) string {
	w.t.Helper()
	a, err := ducktest.Query(w.t.Context(), w.job.DataDir, fmt.Sprintf(format, args...))
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, row := range a.Rows {
		var cells []string
		for _, c := range row {
			if !c.Valid {
				c.V = "NULL"
			}
			cells = append(cells, c.V)
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	return strings.Join(lines, "\n")
}
