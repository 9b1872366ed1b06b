package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/extract/adsim"
	"spendsync/load/durable"
	"spendsync/schema/schematest"
)

// check runs the command and returns its lines by what they are about.
func (w *world) check() (code int, lines map[string]check.Line, last string) {
	w.t.Helper()
	code, out, last := w.run("check", "--json")
	var a check.Findings
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		w.t.Fatalf("%v in %s", err, out)
	}
	if a.ExitCode != code {
		w.t.Errorf("exit %d, the answer says %d", code, a.ExitCode)
	}
	lines = map[string]check.Line{}
	for _, l := range a.Checks {
		if (l.State == check.OK) != (l.Do == "") || l.Found == "" {
			w.t.Errorf("%+v", l)
		}
		if lines[l.Check].State != check.Failed {
			lines[l.Check] = l
		}
	}
	return code, lines, last
}

// everything is all that a folder has: names, modes, sizes, content, times of
// change and of last access.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano(), st.Ino)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCheck_SaysWhetherTheKeyMayWrite in every spelling that a sync understands.
func TestCheck_SaysWhetherTheKeyMayWrite(t *testing.T) {
	w := newWorld(t).withoutMarts()
	for says, want := range map[string]struct{ state, found string }{
		`"scope":"write"`:           {check.Warning, "can make changes"},
		`"can_make_changes":true`:   {check.Warning, "can make changes"},
		`"scopes":["read","write"]`: {check.Warning, "can make changes"},
		`"read_only":false`:         {check.Warning, "can make changes"},
		`"read_only":true`:          {check.OK, "the key acts on ADV1"},
		`"name":"x"`:                {check.OK, "does not state whether"},
	} {
		w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/v1/me") {
				out.Header().Set("Date", w.service.Now().UTC().Format(http.TimeFormat))
				fmt.Fprintf(out, `{"advertiser_id":"ADV1",%s}`, says)
				return
			}
			w.service.ServeHTTP(out, r)
		})
		_, lines, _ := w.check()
		if got := lines["advertiser API"]; got.State != want.state || !strings.Contains(got.Found, want.found) {
			t.Errorf("%s: %+v", says, got)
		}
	}
}

func TestCheck_FindsAllWell(t *testing.T) {
	w := newWorld(t).withoutMarts()
	above := filepath.Dir(w.dir)
	before := everything(t, above)
	code, lines, last := w.check()
	if code != exit.OK || !strings.Contains(last, "0 failed") {
		t.Errorf("before the first sync: exit %d: %s", code, last)
	}
	if after := everything(t, above); after != before {
		t.Errorf("check before the first sync wrote something:\n%s\nwas\n%s", after, before)
	}
	for _, name := range []string{"configuration", "time zone", "memory", "store", "data directory", "space", "lock",
		"spend report", "advertiser API", "same account", "clock", "key expiry"} {
		if l := lines[name]; l.State != check.OK && !(name == "memory" && l.State == check.Warning) {
			t.Errorf("%s: %+v", name, l)
		}
	}

	w.must("sync")
	clone := filepath.Join(above, "clone")
	whole := durable.System{}.Clone(filepath.Join(w.dir, "manifest.json"), clone) != nil
	if err := os.Remove(clone); err != nil {
		t.Fatal(err)
	}
	before, data := everything(t, above), w.hashes("")
	if code, lines, last = w.check(); code != exit.OK || lines["file system"].State != check.OK {
		t.Errorf("after a sync: exit %d: %s, %+v", code, last, lines["file system"])
	}
	if found := lines["bytes written"].Found; strings.Contains(found, "the DuckDB file whole") != whole {
		t.Errorf("where a clone fails is %v, check says %q", whole, found)
	}
	if after := everything(t, above); after != before {
		t.Errorf("check wrote something:\n%s\nwas\n%s", after, before)
	}
	for path, h := range w.hashes("") {
		if data[path] != h {
			t.Errorf("%s changed", path)
		}
	}
	// As a person sees it.
	out := w.must("check")
	if !strings.Contains(out, "ok       clock") || strings.Contains(out, "failed") {
		t.Errorf("check says\n%s", out)
	}
}

func TestCheck_NamesWhatIsWrong(t *testing.T) {
	schematest.Long(t)
	for name, c := range map[string]struct {
		code   int
		break_ func(w *world)
		check  string
		state  string
		says   string
	}{
		"a variable is missing": {exit.Usage, func(w *world) { delete(w.env, "REPORT_USER") }, "configuration",
			check.Failed, "SPENDSYNC_REPORT_USER is not set"},
		"a variable is malformed": {exit.Usage, func(w *world) { w.env["REREAD_AFTER"] = "soon" }, "configuration",
			check.Failed, "SPENDSYNC_REREAD_AFTER"},
		"a variable is not ours": {exit.OK, func(w *world) { w.env["PAGESIZE"] = "1" }, "configuration", check.Warning,
			"SPENDSYNC_PAGESIZE"},
		"wrong password": {exit.Auth, func(w *world) { w.env["REPORT_PASSWORD"] = "wrong" }, "spend report",
			check.Failed, "refused the user or password (401): SPENDSYNC_REPORT_USER"},
		"wrong key": {exit.Auth, func(w *world) { w.env["API_KEY"] = "pushads_wrong" }, "advertiser API",
			check.Failed, "401"},
		"nobody listens": {exit.Unreachable, func(w *world) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				w.t.Fatal(err)
			}
			w.env["REPORT_URL"] = "http://" + l.Addr().String()
			l.Close()
		}, "spend report", check.Failed, "refused"},
		"an unknown host": {exit.Usage, unknownHost("REPORT_URL"), "spend report", check.Failed,
			"SPENDSYNC_REPORT_URL names a host that DNS does not know"},
		"DNS is down": {exit.Unreachable, noDNS, "spend report", check.Failed, "DNS does not answer for"},
		"a wrong path": {exit.Usage, func(w *world) { w.env["ADVERTISER_URL"] += "/v1" }, "advertiser API",
			check.Failed, "404"},
		"the key expires soon": {exit.OK, nil, "key expiry", check.Warning, "in 4 days"},
		"the key of another account": {exit.Auth, func(w *world) {
			other := httptest.NewServer(adsim.New(adsim.Config{Campaigns: 3, RateLimit: -1, Seed: 99,
				Now: func() time.Time { return worldNow }}))
			w.t.Cleanup(other.Close)
			w.env["ADVERTISER_URL"] = other.URL + adsim.APIPrefix
		}, "same account", check.Failed, "knows none of the report's campaigns"},
		"a file in the place of the folder": {exit.Usage, func(w *world) {
			if err := os.WriteFile(w.dir, nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
		}, "data directory", check.Failed, "not a directory"},
		"a run is active": {exit.OK, func(w *world) {
			if err := os.MkdirAll(filepath.Join(w.dir, "locks"), 0o755); err != nil {
				w.t.Fatal(err)
			}
			lock := flock.New(filepath.Join(w.dir, "locks", "account=acme.lock"))
			if err := lock.Lock(); err != nil {
				w.t.Fatal(err)
			}
			w.t.Cleanup(func() { lock.Close() })
		}, "lock", check.Warning, "account acme: another run holds the lock"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(cfg *adsim.Config) {
				small(cfg)
				if name == "the key expires soon" {
					cfg.KeyExpiresAt = worldNow.Add(5*24*time.Hour - time.Hour)
				}
			}).withoutMarts()
			if c.break_ != nil {
				c.break_(w)
			}
			code, lines, last := w.check()
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, last)
			}
			if l, told := lines["same account"]; told && lines["spend report"].State == check.Failed {
				t.Errorf("a report that was not read is compared by: %+v", l)
			}
			if l := lines[c.check]; l.State != c.state || !strings.Contains(l.Found, c.says) {
				t.Errorf("%s: %+v, want %s: %s", c.check, l, c.state, c.says)
			}
		})
	}
}

// TestCheck_SeesAClockThatIsWrong lets this machine's clock run ahead.
func TestCheck_SeesAClockThatIsWrong(t *testing.T) {
	for ahead, want := range map[time.Duration]string{0: check.OK, -time.Minute: check.Warning,
		50 * time.Minute: check.Warning, 2 * time.Hour: check.Failed} {
		w := newWorldInLine(t)
		a := newApp(w.environ(), io.Discard, io.Discard)
		a.now = func() time.Time { return worldNow.Add(ahead) }
		if err := a.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		j, err := (&runner{&a.call}).newJob()
		if err != nil {
			t.Fatal(err)
		}
		answer := check.Run(t.Context(), check.Options{Config: a.cfg, Client: a.clientOptions(), Now: a.now, Job: j})
		i := slices.IndexFunc(answer.Checks, func(l check.Line) bool { return l.Check == "clock" })
		if i < 0 || answer.Checks[i].State != want {
			t.Errorf("%s ahead: %+v", ahead, answer.Checks)
		}
	}
}

// newWorldInLine is a small world for a test that makes several.
func newWorldInLine(t *testing.T) *world { return makeWorld(t, small).withoutMarts() }

// TestCheck_SeesAStoreWithoutItsManifest: a sync would refuse to begin there.
func TestCheck_SeesAStoreWithoutItsManifest(t *testing.T) {
	w := newWorld(t, small).withoutMarts().synced()
	if err := os.Remove(filepath.Join(w.dir, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	code, lines, _ := w.check()
	if l := lines["store"]; code != exit.Usage || l.State != check.Failed ||
		!strings.Contains(l.Found, "a store lies there") || !strings.Contains(l.Do, "backup") {
		t.Errorf("exit %d: %+v", code, l)
	}
	for _, command := range []string{"verify", "status", "sync", "rebuild"} {
		if code, _, last := w.run(command); code != exit.Damaged || !strings.Contains(last, "a store lies there") {
			t.Errorf("%s: exit %d: %s", command, code, last)
		}
	}
}

// TestCheck_ComparesTheReportWithTheList: some campaigns of the report that the key does
// not know may have been deleted, or be another account's.
func TestCheck_ComparesTheReportWithTheList(t *testing.T) {
	w := newWorld(t).withoutMarts()
	var gone string
	for row := range w.service.Truth((w.today() - 1).String()) {
		gone = row.CampaignID
	}
	w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/"+gone):
			out.Header().Set("Date", w.service.Now().UTC().Format(http.TimeFormat))
			http.Error(out, `{"error":{"code":"not_found","message":"no such campaign"}}`, http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/v1/campaigns"):
			rec := httptest.NewRecorder()
			w.service.ServeHTTP(rec, r)
			maps.Copy(out.Header(), rec.Header())
			out.Header().Del("Content-Length")
			text := strings.ReplaceAll(rec.Body.String(), gone, "C9999999")
			out.WriteHeader(rec.Code)
			io.WriteString(out, text)
		default:
			w.service.ServeHTTP(out, r)
		}
	})
	code, lines, _ := w.check() // a sync cannot read C9999999, and ends in 4
	l := lines["same account"]
	if code != exit.Partial || l.State != check.Warning || !strings.Contains(l.Found, gone) {
		t.Errorf("exit %d: %+v", code, l)
	}
}
