package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
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

	"spendsync/cmd/spendsync/exit"
	"spendsync/extract/adsim"
)

// check runs the command and returns its lines by what they are about.
func (w *world) check() (code int, lines map[string]checked, last string) {
	w.t.Helper()
	w.service.SetNow(time.Now()) // its clock stands, and a busy machine takes its time
	code, out, last := w.run("check", "--json")
	var a checkAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		w.t.Fatalf("%v in %s", err, out)
	}
	if a.ExitCode != code {
		w.t.Errorf("exit %d, the answer says %d", code, a.ExitCode)
	}
	lines = map[string]checked{}
	for _, l := range a.Checks {
		if (l.State == checkOK) != (l.Do == "") || l.Found == "" {
			w.t.Errorf("%+v", l)
		}
		if lines[l.Check].State != checkFailed {
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
	w := newWorld(t)
	for says, want := range map[string]struct{ state, found string }{
		`"scope":"write"`:           {checkWarning, "may change things"},
		`"can_make_changes":true`:   {checkWarning, "may change things"},
		`"scopes":["read","write"]`: {checkWarning, "may change things"},
		`"read_only":false`:         {checkWarning, "may change things"},
		`"read_only":true`:          {checkOK, "the key acts on ADV1"},
		`"name":"x"`:                {checkOK, "does not say whether"},
	} {
		w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/v1/me") {
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
	w := newWorld(t)
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
		"spend report", "advertiser API", "same account", "clock", "key expiry", "openapi.json"} {
		if l := lines[name]; l.State != checkOK && !(name == "memory" && l.State == checkWarning) {
			t.Errorf("%s: %+v", name, l)
		}
	}

	w.must("sync")
	before, data := everything(t, above), w.hashes("")
	if code, lines, last = w.check(); code != exit.OK || lines["file system"].State != checkOK {
		t.Errorf("after a sync: exit %d: %s, %+v", code, last, lines["file system"])
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
	w.service.SetNow(time.Now())
	out := w.must("check")
	if !strings.Contains(out, "ok       clock") || strings.Contains(out, "failed") {
		t.Errorf("check says\n%s", out)
	}
}

func TestCheck_NamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		break_ func(w *world)
		check  string
		state  string
		says   string
	}{
		"a variable is missing":   {exit.Usage, func(w *world) { delete(w.env, "REPORT_USER") }, "configuration", checkFailed, "SPENDSYNC_REPORT_USER is not set"},
		"a variable is malformed": {exit.Usage, func(w *world) { w.env["REREAD_AFTER"] = "soon" }, "configuration", checkFailed, "SPENDSYNC_REREAD_AFTER"},
		"a variable is not ours":  {exit.OK, func(w *world) { w.env["PAGESIZE"] = "1" }, "configuration", checkWarning, "SPENDSYNC_PAGESIZE"},
		"wrong password":          {exit.Auth, func(w *world) { w.env["REPORT_PASSWORD"] = "wrong" }, "spend report", checkFailed, "Incorrect username or password"},
		"wrong key":               {exit.Auth, func(w *world) { w.env["API_KEY"] = "pushads_wrong" }, "advertiser API", checkFailed, "401"},
		"nobody listens": {exit.Unreachable, func(w *world) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				w.t.Fatal(err)
			}
			w.env["REPORT_URL"] = "http://" + l.Addr().String()
			l.Close()
		}, "spend report", checkFailed, "refused"},
		"a wrong path":         {exit.Usage, func(w *world) { w.env["ADVERTISER_URL"] += "/v1" }, "advertiser API", checkFailed, "404"},
		"the key expires soon": {exit.OK, nil, "key expiry", checkWarning, "in 4 days"},
		"the key of another account": {exit.Auth, func(w *world) {
			other := httptest.NewServer(adsim.New(adsim.Config{Campaigns: 3, RateLimit: -1, Seed: 99}))
			w.t.Cleanup(other.Close)
			w.env["ADVERTISER_URL"] = other.URL + adsim.APIPrefix
		}, "same account", checkFailed, "knows none of the report's campaigns"},
		"a file in the place of the folder": {exit.Usage, func(w *world) {
			if err := os.WriteFile(w.dir, nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
		}, "data directory", checkFailed, "not a directory"},
		"a run goes on": {exit.OK, func(w *world) {
			if err := os.MkdirAll(filepath.Join(w.dir, "locks"), 0o755); err != nil {
				w.t.Fatal(err)
			}
			lock := flock.New(filepath.Join(w.dir, "locks", "account=acme.lock"))
			if err := lock.Lock(); err != nil {
				w.t.Fatal(err)
			}
			w.t.Cleanup(func() { lock.Close() })
		}, "lock", checkWarning, "the lock of account acme is held by"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(cfg *adsim.Config) {
				small(cfg)
				if name == "the key expires soon" {
					cfg.KeyExpiresAt = time.Now().Add(5*24*time.Hour - time.Hour)
				}
			})
			if c.break_ != nil {
				c.break_(w)
			}
			code, lines, last := w.check()
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, last)
			}
			if l, told := lines["same account"]; told && lines["spend report"].State == checkFailed {
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
	for ahead, want := range map[time.Duration]string{0: checkOK, -time.Minute: checkWarning, time.Hour: checkFailed} {
		c := checker{app: newApp(nil, nil, nil)}
		w := newWorldInLine(t)
		c.app.environ = w.environ()
		if !c.configuration(t.Context()) {
			t.Fatal(c.lines)
		}
		for _, client := range []interface{ Close() }{c.report, c.api} {
			defer client.Close()
		}
		if _, err := c.api.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		theirs, _ := c.api.ServiceTime()
		c.app.now = func() time.Time { return theirs.Add(ahead) }
		c.clock()
		i := slices.IndexFunc(c.lines, func(l checked) bool { return l.Check == "clock" })
		if i < 0 || c.lines[i].State != want {
			t.Errorf("%s ahead: %+v", ahead, c.lines)
		}
	}
}

// newWorldInLine is a small world for a test that makes several.
func newWorldInLine(t *testing.T) *world { return makeWorld(t, small) }
