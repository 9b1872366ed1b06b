package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestFault_BodiesWithoutEnd sends replies that never stop over a real connection
// (A23, A24): zeros out of a small gzip, headers, and an error. Each ends at a cap.
func TestFault_BodiesWithoutEnd(t *testing.T) {
	schematest.Long(t)
	for name, tc := range map[string]struct {
		reply http.HandlerFunc
		code  int
		says  string
	}{
		"A24 gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			endless(z, 0)
		}, exit.Contract, "larger than the cap of 67108864 bytes"},
		"A23 headers": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3000 {
				w.Header().Set("X-"+strconv.Itoa(i), strings.Repeat("x", 1000))
			}
		}, exit.Unreachable, "header"},
		"A44 an error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			endless(w, 'x')
		}, exit.Contract, "status 418"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inProcess(t, nil)
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header()["Date"] = nil // the world's clock is another
				tc.reply(rw, r)
			}))
			t.Cleanup(server.Close)
			w.transport = nil
			w.env["REPORT_URL"], w.env["ADVERTISER_URL"], w.env["HTTP_TIMEOUT"] = server.URL, server.URL, "30s"
			code, _, last := w.runLogged("backfill", "--from", "2026-03-08", "--to", "2026-03-08")
			if code != tc.code || !strings.Contains(last, tc.says) {
				t.Errorf("exit %d, want %d and %q: %s", code, tc.code, tc.says, last)
			}
		})
	}
}

// endless writes one byte until nobody takes it any more.
func endless(w io.Writer, b byte) {
	chunk := []byte(strings.Repeat(string(b), 1<<20))
	for range 10 << 10 {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// TestFault_TheWrongCertificate: who cannot prove to be the service gets no
// credentials, and is asked once only (A39).
func TestFault_TheWrongCertificate(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	w := inProcess(t, nil)
	w.transport = nil
	w.env["REPORT_URL"], w.env["ADVERTISER_URL"] = server.URL, server.URL
	code, _, last := w.runLogged("backfill", "--from", "2026-03-08", "--to", "2026-03-08")
	if code != exit.Unreachable || !strings.Contains(last, "certificate") || strings.Contains(last, "attempts") {
		t.Errorf("exit %d: %s", code, last)
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests were sent to a service that is not who it says", asked.Load())
	}
}

// TestFault_RefusedInTheMiddle: after some requests the password is refused (A25).
// Refused from the first request on, it is wrong; refused after it was accepted, it may pass. Of the days read until
// then each is whole. With a new password in its file the same run continues.
func TestFault_RefusedInTheMiddle(t *testing.T) {
	schematest.Long(t)
	for name, tc := range map[string]struct {
		after   int64
		rotated bool
		code    int
		says    string
	}{
		"at once":           {0, false, exit.Auth, "nothing published"},
		"within a day":      {8, false, exit.DayAtRisk, "published generation 2: 2 days of 10 planned proven"},
		"rotated meanwhile": {17, true, exit.DayAtRisk, "10 days of 10 planned proven"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "within a day" {
				schematest.Long(t)
			}
			t.Parallel()
			w := later(t, func(c *adsim.Config) { c.ReportPassword = canaryPassword + "2" })
			file := filepath.Join(t.TempDir(), "password")
			write := func(password string) {
				if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(canaryPassword)
			delete(w.env, "REPORT_PASSWORD")
			w.env["REPORT_PASSWORD_FILE"], w.limits.concurrency = file, 1
			var requests atomic.Int64
			var refused sync.Once
			w.transport = onTheWay(func(r *http.Request) (*http.Response, error) {
				if _, password, basic := r.BasicAuth(); basic && password == canaryPassword {
					if requests.Add(1) <= tc.after {
						r = r.Clone(r.Context())
						r.SetBasicAuth(adsim.DefaultUser, canaryPassword+"2") // what was right until now
					} else if tc.rotated {
						refused.Do(func() { write(canaryPassword + "2") })
					}
				}
				return w.service.Transport().RoundTrip(r)
			})
			code, _, last := w.runLogged("backfill", "--from", "2026-03-21", "--to", "2026-03-30")
			if code != tc.code || !strings.Contains(last, tc.says) {
				t.Errorf("exit %d, want %d and %q: %s", code, tc.code, tc.says, last)
			}
			if tc.says == "nothing published" {
				return
			}
			for d := date("2026-03-21"); d <= date("2026-03-30"); d++ {
				switch state := w.state(d); {
				case state == "complete":
					w.checkDays(d)
				case state != "missing" || tc.rotated:
					t.Errorf("%s is %s", d, state)
				}
			}
		})
	}
}

// hostileTexts are texts that somebody may call a campaign, or a source.
var hostileTexts = []string{
	"../../../../etc/cron.d/x", "a/b", "..", "", "CON", "=", "x=y", strings.Repeat("é", 90), "%2e%2e%2f", `C:\x`,
	"~root", "$(reboot)", "`reboot`", "-rf",
	"=HYPERLINK(\"http://evil.test\";\"x\")", "+1+cmd|' /C calc'!A0", "@SUM(1)", "<script>alert(1)</script>",
	"</script><img src=x onerror=alert(1)>",
	"'; DROP TABLE spend_daily; --", `"; ATTACH 'x' AS y; --`, "{{template}}", "%s%n%d", "\u202etxt.exe", "a\u200bb",
	"N\u0303", "Ñ", "🏳️‍🌈", "NULL", "null", "NaN", "\\N",
}

// TestFault_HostileTexts lets every row of a day be of a source that is called
// something else, of a campaign that is called worse (A21, A41, A42). All of it is
// stored unchanged, and none of it becomes a path or a statement.
func TestFault_HostileTexts(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	w := inProcess(t, syncedStore(t))
	day := date("2026-03-08")
	// And a row of two millions: the marts carry larger sums than most accounts have.
	if _, err := w.service.Restate(day.String(), adsim.Restatement{Kind: "change", Row: 5,
		Measures: &adsim.Measures{Spend: 2e12, Clicks: 1e6, Impressions: 1e8}}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	said := map[string]bool{}
	w.transport = onTheWay(func(r *http.Request) (*http.Response, error) {
		resp, err := w.service.Transport().RoundTrip(r)
		if err != nil || !strings.Contains(r.URL.RawQuery, "start_date="+day.String()) ||
			!strings.Contains(r.URL.RawQuery, "include_creatives=true") {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		text := renamed(string(body), `"source_id":"`, func(n int) string {
			return hostileTexts[n%len(hostileTexts)] +
				strconv.Itoa(n/len(hostileTexts))
		}, said)
		text = renamed(text, `"campaign_name":"`, func(n int) string { return hostileTexts[n%len(hostileTexts)] }, said)
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		return resp, nil
	})
	w.env["PAGE_SIZE"] = "10000"
	code, _, last := w.runLogged("backfill", "--from", day.String(), "--to", day.String())
	if code != exit.Partial || !strings.Contains(last, "1 day of 1 planned proven") ||
		!strings.Contains(last, `source_id "../../../../etc/cron.d/x0" (another form)`) {
		t.Fatalf("exit %d: %s", code, last)
	}
	code, _, last = w.runLogged("backfill", "--from", day.String(), "--to", day.String())
	if code != exit.OK || strings.Contains(last, "new form") {
		t.Fatalf("the forms of IDs are reported again, exit %d: %s", code, last)
	}
	stored := map[string]bool{}
	for _, column := range []string{"source_id", "campaign_name"} {
		for text := range strings.SplitSeq(w.ask("SELECT DISTINCT "+column+" FROM spend_daily WHERE report_date = "+
			"'2026-03-08' AND "+column+" <> ''"), "\n") {
			stored[text] = true
		}
	}
	delete(said, "")
	for _, text := range slices.Sorted(maps.Keys(said)) {
		if !stored[text] {
			t.Errorf("%q is not stored as it is", text)
		}
	}
	if len(said) < 2*len(hostileTexts)-3 {
		t.Errorf("only %d hostile texts were sent", len(said))
	}
	w.must("verify")
	err := filepath.WalkDir(filepath.Dir(w.dir), func(path string, _ os.DirEntry, err error) error {
		for _, text := range []string{"etc", "reboot", "CON", "%2e", "script", "DROP"} {
			if strings.Contains(strings.TrimPrefix(path, filepath.Dir(filepath.Dir(w.dir))), text) {
				t.Errorf("%s: a text became a path", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// renamed gives each value of a key another text, in order, and notes it.
func renamed(body, key string, text func(n int) string, said map[string]bool) string {
	parts := strings.Split(body, key)
	for n := 1; n < len(parts); n++ {
		t := text(n - 1)
		said[t] = true
		quoted, _ := json.Marshal(t)
		end := 0
		for parts[n][end] != '"' {
			if parts[n][end] == '\\' {
				end++
			}
			end++
		}
		parts[n] = string(quoted[1:len(quoted)-1]) + parts[n][end:]
	}
	return strings.Join(parts, key)
}

// TestFault_UnknownStatuses: a status that the description does not name is stored as
// it is and keeps nothing back (A21).
func TestFault_UnknownStatuses(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	w := inProcess(t, syncedStore(t))
	w.service.Advance(time.Second)
	var active string
	for _, id := range w.service.CampaignIDs() {
		if s, _ := w.service.Settings(id); s.Status == "active" {
			active = id
		}
	}
	w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Path: "/v1/campaigns/" + active, Column: "status",
		Value: `"zombie"`})
	w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Path: "/v1/campaigns/" + active + "/creatives", Row: -1,
		Column: "status", Value: `"undead"`})
	w.must("sync")
	if got := w.ask("SELECT (SELECT status FROM campaign WHERE campaign_id = '" + active +
		"'), (SELECT string_agg(DISTINCT status, ',') FROM creative WHERE campaign_id = '" + active +
		"' AND read_state <> 'stub')"); got != "zombie|undead" {
		t.Errorf("statuses = %s", got)
	}
}

// TestFault_LeavesNothingOpen counts what a faulty run leaves behind in its process:
// no goroutine, no connection, no file. It does not run beside others.
func TestFault_LeavesNothingOpen(t *testing.T) {
	schematest.Long(t)
	w := inProcess(t, syncedStore(t))
	server := httptest.NewServer(w.service)
	t.Cleanup(server.Close)
	w.transport = nil
	w.env["REPORT_URL"], w.env["ADVERTISER_URL"] = server.URL+adsim.ReportPrefix, server.URL+adsim.APIPrefix
	w.env["HTTP_TIMEOUT"] = "200ms"
	day := []string{"backfill", "--from", "2026-03-08", "--to", "2026-03-08"}
	w.run(day...) // what is made once in a process
	left := func() (goroutines, files int) {
		for range 200 {
			http.DefaultClient.CloseIdleConnections()
			server.CloseClientConnections()
			time.Sleep(time.Millisecond)
		}
		open, _ := os.ReadDir("/proc/self/fd")
		return runtime.NumGoroutine(), len(open)
	}
	goroutines, files := left()
	for _, f := range []adsim.Fault{
		{Kind: adsim.Stall, After: 100}, {Kind: adsim.Hang}, {Kind: adsim.Cut}, {Kind: adsim.Reset}, {Kind: adsim.HTML},
		{Kind: adsim.Status, Status: 500},
		{Kind: adsim.Status, Status: 401}, {Kind: adsim.Total}, {Kind: adsim.Trailing},
		{Kind: adsim.Stall, Path: "/v1/me"}, {Kind: adsim.Status, Status: 429, RetryAfter: "3600"},
	} {
		w.service.ClearFaults()
		w.service.Fail(f)
		w.run(day...)
	}
	w.service.ClearFaults()
	w.run(day...)
	if g, f := left(); g > goroutines || f > files {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before; %d open files, %d before\n%s", g, goroutines, f, files,
			buf[:runtime.Stack(buf, true)])
	}
}

// TestFault_RandomSyncs lets anything happen to whole syncs: faults on the wire, lies,
// and restatements between any two requests. Each run ends with a code that it may end
// with, each day that is stored is one that the service had, and one clean run ends in
// the truth.
func TestFault_RandomSyncs(t *testing.T) {
	schematest.Long(t)
	runs, seed := schematest.Times(0, 1, 20), schematest.Seed(t)
	for i := range runs {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			w := later(t)
			c := &chaos{Rand: rand.New(rand.NewPCG(seed, uint64(i))), w: w, states: map[string]map[string]bool{}}
			w.transport, w.env["REREAD_AFTER"], w.env["RETRY_BUDGET"], w.env["HTTP_TIMEOUT"] = c, "0s", "200ms", "300ms"
			for d := w.today() - 31; d <= w.today(); d++ {
				c.note(d)
			}
			codes := map[int]int{}
			for range 2 {
				w.service.Advance(time.Second) // all days are due again
				code, _, last := w.runLogged("sync")
				codes[code]++
				if !slices.Contains([]int{exit.OK, exit.Auth, exit.Partial, exit.Unreachable, exit.Contract,
					exit.DayAtRisk}, code) {
					t.Errorf("exit %d: %s", code, last)
				}
				w.service.ClearFaults()
				c.check()
			}
			t.Logf("seed %d run %d: exit codes %v, %d faults, %d restatements", seed, i, codes, c.struck, c.moved)
			w.transport = w.service.Transport()
			w.service.Advance(time.Second)
			w.env["RETRY_BUDGET"], w.env["HTTP_TIMEOUT"] = "5s", "5s"
			w.must("sync", "--full") // what was archived 32 days ago has other creatives now
			w.checkTruth()
			w.checkSettings()
		})
	}
}

// chaos is a service on whose way to spendsync anything may happen, and whose days
// may be restated before any request.
type chaos struct {
	*rand.Rand
	w             *world
	mu            sync.Mutex
	states        map[string]map[string]bool // by day, what it ever added up to
	struck, moved int
}

// note notes what a day adds up to.
func (c *chaos) note(d schema.Date) {
	sum, err := c.w.service.TruthSum(d.String())
	if err != nil {
		c.w.t.Error(err)
		return
	}
	if c.states[d.String()] == nil {
		c.states[d.String()] = map[string]bool{}
	}
	c.states[d.String()][fmt.Sprintf("%d|%s|%d", sum.Rows, sum.Exact(), sum.Clicks)] = true
}

// check compares the days that are stored with what they ever were.
func (c *chaos) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.must("verify")
	for line := range strings.SplitSeq(c.w.ask("SELECT report_date, count(*), sum(spend), sum(clicks) FROM "+
		"spend_daily WHERE report_date > '2026-03-13' GROUP BY 1"), "\n") {
		day, sums, _ := strings.Cut(line, "|")
		if line != "" && !c.states[day][sums] {
			c.w.t.Errorf("%s is stored as %s, which it never was: %v", day, sums,
				slices.Collect(maps.Keys(c.states[day])))
		}
	}
}

func (c *chaos) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	if c.IntN(8) == 0 {
		d := c.w.today() - schema.Date(c.IntN(32))
		measures := &adsim.Measures{Spend: c.Int64N(1 << 40), Clicks: c.Int64N(1 << 30), Impressions: c.Int64N(1 << 40)}
		change := adsim.Restatement{Kind: []string{"change", "insert", "delete"}[c.IntN(3)], Row: c.IntN(50),
			Measures: measures}
		if _, err := c.w.service.Restate(d.String(), change); err == nil {
			c.moved++
		}
		c.note(d)
	}
	var f adsim.Fault
	if c.IntN(10) == 0 {
		c.struck++
		f = randomFaults[c.IntN(len(randomFaults))]
		f.Row, f.Rows, f.Times = c.IntN(20), 1+c.IntN(3), 1
		f.Path, f.Query = strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, adsim.APIPrefix), adsim.ReportPrefix),
			r.URL.RawQuery
		c.w.service.Fail(f)
	}
	c.mu.Unlock()
	return c.w.service.Transport().RoundTrip(r)
}

var randomFaults = []adsim.Fault{
	{Kind: adsim.Status, Status: 500}, {Kind: adsim.Status, Status: 503}, {Kind: adsim.Status, Status: 429},
	{Kind: adsim.HTML}, {Kind: adsim.Empty}, {Kind: adsim.Null},
	{Kind: adsim.Cut}, {Kind: adsim.Cut, After: 50, Chunked: true}, {Kind: adsim.Reset}, {Kind: adsim.Stall, After: 20},
	{Kind: adsim.Shift}, {Kind: adsim.Total},
	{Kind: adsim.Drop}, {Kind: adsim.Duplicate}, {Kind: adsim.Duplicate, InPlace: true},
	{Kind: adsim.Duplicate, InPlace: true, Other: true}, {Kind: adsim.Trailing},
	{Kind: adsim.NoPagination}, {Kind: adsim.RepeatKey, Column: "clicks", Value: "1"}, {Kind: adsim.OtherDay},
	{Kind: adsim.Status, Status: 404}, {Kind: adsim.Unreadable},
}
