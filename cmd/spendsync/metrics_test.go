package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/metrics"
	"spendsync/extract/adsim"
	"spendsync/load/manifest"
	"spendsync/schema/schematest"
)

// readMetrics parses a file of metrics into its samples: name{labels} to value.
func readMetrics(t *testing.T, path string) map[string]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			samples[name+"{"+strings.Join(labels, ",")+"}"] = m.Gauge.GetValue()
		}
	}
	return samples
}

// small configures an account so small that a sync is short.
func small(c *adsim.Config) { c.Campaigns, c.CreativesPerCampaign, c.RowsPerDay = 2, 2, 10 }

func TestMetrics_AreOfEveryRun(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.Quirks = []string{"auto-funding-off"} }).withMarts()
	file := filepath.Join(t.TempDir(), "spendsync.prom")
	w.env["METRICS_FILE"] = file

	run := w.summary(w.must("sync", "--json"))
	got := readMetrics(t, file)
	end := w.today() + 33 // today is the oldest day that is not complete
	for sample, want := range map[string]float64{
		`spendsync_last_run_exit_code{account="acme"}`:                         0,
		`spendsync_last_run_requests{account="acme"}`:                          float64(run.Requests),
		`spendsync_last_run_rows{account="acme"}`:                              float64(run.RowsRead),
		`spendsync_last_run_read_bytes{account="acme"}`:                        float64(run.BytesRead),
		`spendsync_last_run_steps{account="acme",outcome="proven"}`:            33,
		`spendsync_coverage{account="acme",state="complete"}`:                  32,
		`spendsync_coverage{account="acme",state="open"}`:                      1,
		`spendsync_coverage{account="acme",state="missing"}`:                   0,
		`spendsync_stored_rows{account="acme"}`:                                float64(run.RowsRead),
		`spendsync_last_success_timestamp_seconds{account="acme"}`:             metrics.Seconds(run.FinishedAt.Time()),
		`spendsync_oldest_unproven_day_lost_timestamp_seconds{account="acme"}`: metrics.Seconds(end.Start()),
	} {
		if v, ok := got[sample]; !ok || v != want {
			t.Errorf("%s = %v (there: %t), want %v", sample, v, ok, want)
		}
	}
	for _, kind := range metrics.BreakKinds {
		var broke float64
		fmt.Sscan(w.ask("SELECT count(*) FROM mart.breaks WHERE kind = '"+kind+"'"), &broke)
		if v, ok := got[`spendsync_breaks{account="acme",kind="`+kind+`"}`]; !ok || v != broke {
			t.Errorf("%g campaigns broke by %s, the metric says %g (there: %t)", broke, kind, v, ok)
		}
	}
	var balance float64
	fmt.Sscan(w.ask("SELECT balance FROM account"), &balance)
	if v := got[`spendsync_balance_dollars{account="acme"}`]; v != balance || v == 0 {
		t.Errorf("balance = %v, want %v", v, balance)
	}
	for _, name := range []string{"spendsync_balance_runway_seconds", "spendsync_api_key_expiry_timestamp_seconds",
		"spendsync_warehouse_bytes", "spendsync_last_run_duration_seconds", "spendsync_last_run_timestamp_seconds"} {
		if got[name+`{account="acme"}`] <= 0 {
			t.Errorf("%s = %v", name, got[name+`{account="acme"}`])
		}
	}

	success := got[`spendsync_last_success_timestamp_seconds{account="acme"}`]
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503})
	if code, _, last := w.run("sync"); code != exit.Unreachable {
		t.Fatalf("exit %d: %s", code, last)
	}
	got = readMetrics(t, file)
	if got[`spendsync_last_run_exit_code{account="acme"}`] != exit.Unreachable ||
		got[`spendsync_last_run_retries{account="acme"}`] == 0 ||
		got[`spendsync_last_success_timestamp_seconds{account="acme"}`] != success ||
		got[`spendsync_coverage{account="acme",state="complete"}`] != 32 {
		t.Errorf("after a run that failed: %v", got)
	}

	// A run that publishes without the creatives does not count as a success, either.
	w.service.ClearFaults()
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 400, Path: "/v1/campaigns/*/creatives"})
	if code, _, last := w.run("sync"); code != exit.Partial {
		t.Fatalf("exit %d: %s", code, last)
	}
	if got = readMetrics(t, file); got[`spendsync_last_success_timestamp_seconds{account="acme"}`] != success {
		t.Errorf("after creatives that cannot be read: %v", got)
	}

	// The configuration is invalid.
	w.env["PAGE_SIZE"] = "many"
	if code, _, last := w.run("sync"); code != exit.Usage {
		t.Fatalf("exit %d: %s", code, last)
	}
	if got = readMetrics(t, file); got[`spendsync_last_run_exit_code{account="acme"}`] != exit.Usage ||
		got[`spendsync_coverage{account="acme",state="complete"}`] != 32 {
		t.Errorf("after a wrong variable: %v", got)
	}
	left, err := filepath.Glob(filepath.Dir(file) + "/*")
	if err != nil || len(left) != 1 {
		t.Errorf("beside the metrics: %v, %v", left, err)
	}
}

// TestMetrics_AreUsed: an alert or a panel reads each metric.
func TestMetrics_AreUsed(t *testing.T) {
	text := ""
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		b, err := os.ReadFile("deploy/monitoring/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	for _, m := range metrics.All {
		if !regexp.MustCompile(m.Name + `\b`).MatchString(text) {
			t.Errorf("nothing reads %s", m.Name)
		}
	}
}

// gateway simulates a Pushgateway, and keeps the requests that it receives.
type gateway struct {
	status             int
	method, path, body string
	user, password     string
}

func (g *gateway) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	g.method, g.path, g.body = r.Method, r.URL.Path, string(b)
	g.user, g.password, _ = r.BasicAuth()
	rw.WriteHeader(g.status)
	fmt.Fprint(rw, "the gateway is out of order")
}

func TestMetrics_ArePushed(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t, small)
	g := &gateway{status: http.StatusOK}
	server := httptest.NewServer(g)
	defer server.Close()
	w.env["PUSHGATEWAY_URL"] = strings.Replace(server.URL, "http://", "http://pusher:s3cr3t-of-the-gateway@", 1) +
		"/prefix/"
	w.must("sync")
	if g.method != http.MethodPost || g.path != "/prefix/metrics/job/spendsync/account/acme" || g.user != "pusher" ||
		g.password != "s3cr3t-of-the-gateway" {
		t.Errorf("%s %s by %s:%s", g.method, g.path, g.user, g.password)
	}
	if !strings.Contains(g.body, "spendsync_last_run_exit_code 0\n") ||
		!strings.Contains(g.body, `spendsync_coverage{state="complete"} 32`) {
		t.Errorf("pushed: %s", g.body)
	}

	// If the gateway fails, the run only warns, and does not show the gateway's password.
	g.status = http.StatusInternalServerError
	u, err := url.Parse(w.env["PUSHGATEWAY_URL"])
	if err != nil {
		t.Fatal(err)
	}
	err = metrics.Push(t.Context(), u, "account", "acme", &metrics.Inputs{})
	if err == nil || !strings.Contains(err.Error(), "out of order") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("a gateway that answers 500: %v", err)
	}
	server.Close()
	w.env["LOG_LEVEL"] = "warn"
	code, stderr := w.stderr("sync")
	if code != exit.OK || !strings.Contains(stderr, "could not be pushed") || strings.Contains(stderr, "s3cr3t") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	for address, says := range map[string]string{
		"ftp://pusher:s3cr3t@gateway": "of the form", "http://pusher:s3cr3t@gateway.example.com": "shown to everyone",
		"http://pusher:s3cr3t@[gateway": "of the form",
	} {
		w.env["PUSHGATEWAY_URL"] = address
		if code, stderr = w.stderr("sync"); code != exit.Usage || !strings.Contains(stderr, says) ||
			strings.Contains(stderr, "s3cr3t") || strings.Contains(stderr, "Post ") {
			t.Errorf("%s: exit %d: %s", address, code, stderr)
		}
	}
}

// TestMetrics_OfAVerifiedBackup: verify --from writes its own file beside the metrics file of sync, which stays
// unchanged.
func TestMetrics_OfAVerifiedBackup(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withMarts().synced()
	dir := t.TempDir()
	w.env["METRICS_FILE"] = filepath.Join(dir, "spendsync.prom")
	g := &gateway{status: http.StatusOK}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	w.must("sync")
	ofSync := readMetrics(t, w.env["METRICS_FILE"])
	w.env["PUSHGATEWAY_URL"] = server.URL
	bucket := "file://" + filepath.Join(t.TempDir(), "bucket")
	m, err := manifest.Read(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	w.must("push", bucket)
	w.must("verify", "--from", bucket)
	sample := metrics.Backup + `{account="acme"}`
	v := readMetrics(t, filepath.Join(dir, "spendsync-verify.prom"))[sample]
	if v != metrics.Seconds(m.PublishedAt.Time()) {
		t.Errorf("%s = %v", sample, v)
	}
	if after := readMetrics(t, w.env["METRICS_FILE"]); !maps.Equal(after, ofSync) {
		t.Error("the metrics of sync have changed")
	}
}
