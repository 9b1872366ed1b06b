package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/load/remote"
	"spendsync/queries"
	"spendsync/schema"
)

// world is a simulated service and a store. Its method run runs commands as a user would.
type world struct {
	t       *testing.T
	cfg     adsim.Config
	service *adsim.Service
	server  *httptest.Server
	dir     string
	env     map[string]string

	transport http.RoundTripper // nil: use the network
	bucket    remote.Options    // the zero value has the usual pauses between tries
	now       func() time.Time  // this machine's clock
	passed    *atomic.Int64     // milliseconds by which this machine's clock is ahead of the service's clock

	only   func([]queries.Query) []queries.Query // selects the views of the warehouse; nil: all
	limits runLimits

	unnamed bool // whether no campaign name has been read into the store

	session *duck.Session // the session of the last question, or nil
	asked   os.FileInfo   // the DuckDB file that the session has open
}

// worldNow is the time at which worlds start: an afternoon in Chicago, far from midnight and from the days on which the
// clocks change.
var worldNow = time.Date(2026, time.June, 17, 20, 20, 0, 0, time.UTC)

// newWorld returns a world with a small account. The service's clock is stopped until the test moves it. This machine's
// clock is ahead of the service's clock by one second for every command and one millisecond for every time it is read,
// so that no two runs start at the same time. Worlds share nothing, so their tests run in parallel.
func newWorld(t *testing.T, edit ...func(*adsim.Config)) *world {
	t.Helper()
	t.Parallel()
	return makeWorld(t, edit...)
}

// withMarts gives the warehouse all views and marts, for tests that read marts. The warehouse of a new world has only
// the views of schema main, which halves the work of a command.
func (w *world) withMarts() *world {
	w.only = nil
	return w
}

// mainViews returns the views of schema main, and the views that these read.
func mainViews(all []queries.Query) (some []queries.Query) {
	needed := ""
	for _, q := range slices.Backward(all) { // a view reads only views before it
		if q.Schema == "main" && q.Parameters == "" || strings.Contains(needed, q.Schema+"."+q.Name) {
			needed += q.SQL
			some = append(some, q)
		}
	}
	slices.Reverse(some)
	return some
}

func makeWorld(t *testing.T, edit ...func(*adsim.Config)) *world {
	t.Helper()
	cfg := adsim.Config{Campaigns: 6, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 60, RateLimit: -1}
	for _, e := range edit {
		e(&cfg)
	}
	w := &world{t: t, cfg: cfg, service: adsim.New(cfg), dir: filepath.Join(t.TempDir(), "data"),
		passed: new(atomic.Int64), limits: testLimits, only: mainViews}
	w.service.SetNow(worldNow)
	w.now = func() time.Time { return w.service.Now().Add(time.Duration(w.passed.Add(1)) * time.Millisecond) }
	w.server = httptest.NewServer(w.service)
	t.Cleanup(w.server.Close)
	w.env = map[string]string{
		"ADVERTISER_URL": w.server.URL + adsim.APIPrefix, "API_KEY": adsim.DefaultKey,
		"REPORT_URL": w.server.URL + adsim.ReportPrefix, "REPORT_USER": adsim.DefaultUser,
		"REPORT_PASSWORD": adsim.DefaultPassword,
		"DATA_DIR":        w.dir, "ACCOUNT": "acme", "LOG_FORMAT": "text", "LOG_LEVEL": "error",
		"RETRY_BUDGET": "300ms", "HTTP_TIMEOUT": "5s", "LOCK_WAIT": "5s", "DUCKDB_MEMORY": "512MiB",
	}
	return w
}

// firstSyncs has the folders of stores after the first sync of an account. Worlds with the same account copy such a
// store.
var firstSyncs struct {
	sync.Mutex
	done map[string]string
}

// synced gives a new world a store with the first sync of its account.
func (w *world) synced() *world {
	t := w.t
	t.Helper()
	account := fmt.Sprintf("%+v %s %t", w.cfg, w.service.Now(), w.only == nil)
	firstSyncs.Lock()
	defer firstSyncs.Unlock()
	if first, ok := firstSyncs.done[account]; ok {
		w.passed.Add(1500)
		if err := os.CopyFS(w.dir, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w.must("sync")
	root, err := os.MkdirTemp("", "spendsync-first-sync-")
	if err == nil {
		removeAtExit = append(removeAtExit, root)
		err = os.CopyFS(root, os.DirFS(w.dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	if firstSyncs.done == nil {
		firstSyncs.done = map[string]string{}
	}
	firstSyncs.done[account] = root
	return w
}

// copied returns a world with the same account and a copy of the store, for a subtest.
func (w *world) copied(t *testing.T) *world {
	t.Helper()
	c := *w
	c.t, c.dir, c.env, c.session = t, filepath.Join(t.TempDir(), "data"), maps.Clone(w.env), nil
	c.env["DATA_DIR"] = c.dir
	if err := os.CopyFS(c.dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	return &c
}

// removeAtExit lists folders that several tests use. They are removed when the process ends.
var removeAtExit []string

// twoAccounts returns a world whose service has a second account.
func twoAccounts(t *testing.T) *world {
	return newWorld(t, func(c *adsim.Config) {
		c.Accounts = []adsim.Config{{Seed: 2, Campaigns: 6, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 60,
			RateLimit: -1}}
	})
}

const secondUser = "analyst2@example.com"

// roundTripper is a transport that is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *world) environ() []string {
	var env []string
	for k, v := range w.env {
		env = append(env, config.Prefix+k+"="+v)
	}
	return env
}

// run runs a command and returns its exit code, its answer and the last line of
// stderr.
func (w *world) run(args ...string) (code int, stdout, lastLine string) {
	w.t.Helper()
	return w.runCtx(w.t.Context(), args...)
}

func (w *world) runCtx(ctx context.Context, args ...string) (code int, stdout, lastLine string) {
	w.t.Helper()
	code, stdout, stderr := w.execute(ctx, args)
	if testing.Verbose() {
		w.t.Logf("spendsync %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
	}
	if strings.Contains(stdout+stderr, adsim.DefaultPassword) || strings.Contains(stdout+stderr, adsim.DefaultKey) {
		w.t.Errorf("spendsync %s shows a secret:\n%s%s", strings.Join(args, " "), stdout, stderr)
	}
	return code, stdout, ending(stderr)
}

// ending returns how a command ended: the last JSON line, or the last lines of text as one line.
func ending(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "spendsync: ") {
			return strings.Join(lines[i:], " ")
		}
	}
	return lines[len(lines)-1]
}

// execute runs a command in this process.
func (w *world) execute(ctx context.Context, args []string) (code int, stdout, stderr string) {
	w.passed.Add(1000)
	var out, errOut bytes.Buffer
	a := newApp(w.environ(), &out, &errOut)
	a.now, a.transport, a.bucket, a.only, a.limits = w.now, w.transport, w.bucket, w.only, w.limits
	code = a.run(ctx, args)
	return code, out.String(), errOut.String()
}

// stderr runs a command and returns everything that it writes to stderr.
func (w *world) stderr(args ...string) (code int, text string) {
	w.t.Helper()
	code, _, text = w.execute(w.t.Context(), args)
	return code, text
}

// must runs a command, which has to succeed, and returns its output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	code, out, last := w.run(args...)
	if code != exit.OK {
		w.t.Fatalf("spendsync %s: exit %d: %s", strings.Join(args, " "), code, last)
	}
	return out
}

// ask asks the published warehouse a question; cells are joined by bars. The DuckDB file stays open until another file
// is published.
func (w *world) ask(q string) string {
	w.t.Helper()
	info, err := os.Stat(filepath.Join(w.dir, duck.FileName))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.session == nil || !os.SameFile(info, w.asked) || info.ModTime() != w.asked.ModTime() {
		s, err := duck.OpenSession(w.t.Context(), w.dir, duck.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		if w.session != nil {
			w.session.Close()
		} else {
			w.t.Cleanup(func() { w.session.Close() })
		}
		w.session, w.asked = s, info
	}
	a, err := w.session.Query(w.t.Context(), q)
	if err != nil {
		w.t.Fatalf("%s: %v", q, err)
	}
	var lines []string
	for _, r := range a.Rows {
		lines = append(lines, strings.Join(cellsOf(r), "|"))
	}
	return strings.Join(lines, "\n")
}

// cellsOf returns the cells of a row as text.
func cellsOf(row []schema.Null[string]) (cells []string) {
	for _, c := range row {
		if !c.Valid {
			c.V = "NULL"
		}
		cells = append(cells, c.V)
	}
	return cells
}

// today returns the service's present day, from which the tests count back.
func (w *world) today() schema.Date { return date(w.service.Today()) }

// checkTruth compares every day that the report still covers, row by row, in DuckDB and in Parquet, with the true rows
// of the simulated service. It also verifies the store.
func (w *world) checkTruth() {
	w.t.Helper()
	w.must("verify")
	m, err := manifest.Read(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	inDuckDB := map[string]string{}
	for _, line := range strings.Split(w.ask(`SELECT report_date, campaign_id, creative_id, source_id, campaign_name,
		spend, clicks, impressions, conversions FROM spend_daily`), "\n") {
		if line != "" {
			inDuckDB[strings.Join(strings.SplitN(line, "|", 5)[:4], "|")] = line
		}
	}
	for d := w.today() - 32; d <= w.today(); d++ {
		want := map[string]string{}
		for l := range w.service.Truth(d.String()) {
			spend := schema.Money(l.Spend)
			key := fmt.Sprintf("%s|%s|%s|%s", d, l.CampaignID, l.CreativeID, l.SourceID)
			if w.unnamed {
				l.CampaignName = ""
			}
			want[key] = fmt.Sprintf("%s|%s|%d.%06d|%d|%d|%d", key, l.CampaignName, spend/schema.Dollar,
				spend%schema.Dollar, l.Clicks, l.Impressions, l.Conversions)
		}
		path := "parquet/spend_daily/account=acme/day=" + d.String() + "/data.parquet"
		if m.Accounts["acme"].Files[path] == nil {
			w.t.Errorf("%s is not published", path)
			continue
		}
		rows, err := parquet.ReadRows(filepath.Join(w.dir, path), schema.SpendDaily)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(rows) != len(want) {
			w.t.Errorf("%s: %d rows in Parquet, the service has %d", d, len(rows), len(want))
		}
		for _, r := range rows {
			key := fmt.Sprintf("%s|%s|%s|%s", d, r.CampaignID, r.CreativeID, r.SourceID)
			got := fmt.Sprintf("%s|%s|%d.%06d|%d|%d|%d", key, r.CampaignName, r.Spend/schema.Dollar,
				r.Spend%schema.Dollar, r.Clicks.V, r.Impressions.V, r.Conversions.V)
			if got != want[key] {
				w.t.Errorf("Parquet has  %s\nthe service %s", got, want[key])
			}
			if inDuckDB[key] != want[key] {
				w.t.Errorf("DuckDB has   %s\nthe service %s", inDuckDB[key], want[key])
			}
			delete(inDuckDB, key)
		}
	}
	for _, line := range inDuckDB {
		if d := date(strings.SplitN(line, "|", 2)[0]); d >= w.today()-32 {
			w.t.Errorf("DuckDB has a row that the service has not: %s", line)
		}
	}
}

// hashes returns a hash of each file under some folders of the store.
func (w *world) hashes(under ...string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, u := range under {
		err := filepath.WalkDir(filepath.Join(w.dir, u), func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			out[p] = fmt.Sprintf("%x", sha256.Sum256(b))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.t.Fatal(err)
		}
	}
	return out
}

// proven returns the hashes of the files that depend only on the replies, and not on how many runs there were: the
// Parquet files except those about runs and readings, and the stored replies of the report.
func (w *world) proven() map[string]string {
	w.t.Helper()
	out := w.hashes("parquet", "raw/spend_report")
	maps.DeleteFunc(out, func(path, _ string) bool {
		return strings.Contains(path, "parquet/ops_") || strings.Contains(path, "parquet/reading/")
	})
	return out
}

func (w *world) summary(stdout string) schema.Run {
	w.t.Helper()
	var r schema.Run
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		w.t.Fatalf("%v in %s", err, stdout)
	}
	return r
}

func TestSync_CopiesTheWholeReach(t *testing.T) {
	w := newWorld(t)
	w.env["PAGE_SIZE"] = "25"
	r := w.summary(w.must("sync", "--json"))
	if r.DaysProven != 33 || r.DaysChanged != 33 || !r.Published || r.Generation != 1 || r.CampaignsRead < 6 {
		t.Errorf("first sync: %+v", r)
	}
	w.checkTruth()
	if got := w.ask("SELECT count(*) FROM spend_change"); got != "0" {
		t.Errorf("a first read wrote %s lines of spend_change", got)
	}
	if got := w.ask("SELECT state, control_total_state, count(*) FROM ops.day_coverage GROUP BY ALL " +
		"ORDER BY 1"); got != "complete|matched|32\nopen|open|1" {
		t.Errorf("coverage = %s", got)
	}
}

func TestSync_TwiceChangesOnlyTheLedger(t *testing.T) {
	w := newWorld(t).synced()
	w.must("sync") // with this world's clock, because the balance changes every ten minutes
	before, data := w.proven(), w.ask("FROM spend_daily ORDER BY ALL")
	w.env["REREAD_AFTER"] = "0s" // read everything again
	r := w.summary(w.must("sync", "--json"))
	if r.DaysPlanned != 33 || r.DaysProven != 33 || r.DaysChanged != 0 {
		t.Errorf("second sync: %+v", r)
	}
	after := w.proven()
	if len(before) < 66 || len(before) != len(after) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	for path, h := range before {
		if after[path] != h {
			t.Errorf("%s changed", path)
		}
	}
	if w.ask("FROM spend_daily ORDER BY ALL") != data {
		t.Error("spend_daily changed")
	}
	if got := w.ask("SELECT count(*) FROM ops.run"); got != "3" {
		t.Errorf("ops.run has %s runs", got)
	}
	delete(w.env, "REREAD_AFTER")
	if r := w.summary(w.must("sync", "--json")); r.DaysPlanned != 3 {
		t.Errorf("third sync planned %d days, want the 3 young ones", r.DaysPlanned)
	}
}

// TestSync_PlacesTheGuide: a sync writes the guide into the data directory and updates it. If a user has another file
// with the same name, this file stays.
func TestSync_PlacesTheGuide(t *testing.T) {
	w := newWorld(t).synced()
	path := filepath.Join(w.dir, guideName)
	title, _, _ := strings.Cut(queries.Guide, "\n")
	for _, c := range []struct{ is, want string }{
		{"", queries.Guide}, {title + "\nof an earlier version\n", queries.Guide}, {"# Mine\n", "# Mine\n"},
	} {
		if c.is != "" {
			if err := os.WriteFile(path, []byte(c.is), 0o644); err != nil {
				t.Fatal(err)
			}
			w.must("sync")
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
			t.Errorf("%.20q became %.40q, %v", c.is, got, err)
		}
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	w.must("sync") // the sync reports this, and does not fail
	w.must("verify")
}

// TestSync_PasswordRotatedInMidRun: from some request on, the service accepts only a new password. By then the password
// file has the new password. The run reads the file again, and ends like an undisturbed run.
func TestSync_PasswordRotatedInMidRun(t *testing.T) {
	w := newWorld(t, small)
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) error { return os.WriteFile(file, []byte(password+"\n"), 0o600) }
	if err := write("the old one"); err != nil {
		t.Fatal(err)
	}
	delete(w.env, "REPORT_PASSWORD")
	w.env["REPORT_PASSWORD_FILE"] = file
	var asked atomic.Int64
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		user, password, isReport := r.BasicAuth()
		if !isReport {
			return http.DefaultTransport.RoundTrip(r)
		}
		right := "the old one"
		if n := asked.Add(1); n > 12 {
			right = "the new one"
			if n == 13 {
				if err := write(right); err != nil {
					return nil, err
				}
			}
		}
		r = r.Clone(r.Context())
		if r.SetBasicAuth(user, "wrong"); password == right {
			r.SetBasicAuth(user, adsim.DefaultPassword)
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	if code, _, last := w.run("sync"); code != exit.OK {
		t.Errorf("exit %d: %s", code, last)
	}
	w.checkTruth()
}
