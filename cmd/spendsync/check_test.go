package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/check"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// check runs the command and returns its lines by the name of the check.
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

// everything lists the content of a folder: the names and modes, and the change times of files that are not locks.
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
		if st := info.Sys().(*syscall.Stat_t); !e.IsDir() && !strings.HasSuffix(path, ".lock") {
			fmt.Fprintln(&b, info.ModTime().UnixNano(), st.Ino)
		}
		fmt.Fprintln(&b, path, info.Mode())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
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
	for _, name := range []string{"configuration", "store", "data directory",
		"spend report", "advertiser API", "same account", "clock", "key expiry"} {
		if l := lines[name]; l.State != check.OK {
			t.Errorf("%s: %+v", name, l)
		}
	}

	w.must("sync")
	before, data := everything(t, above), w.hashes("")
	if code, lines, last = w.check(); code != exit.OK || lines["data directory"].State != check.OK {
		t.Errorf("after a sync: exit %d: %s, %+v", code, last, lines["data directory"])
	}
	if after := everything(t, above); after != before {
		t.Errorf("check wrote something:\n%s\nwas\n%s", after, before)
	}
	for path, h := range w.hashes("") {
		if data[path] != h {
			t.Errorf("%s changed", path)
		}
	}
	// The output for a person.
	out := w.must("check")
	if !strings.Contains(out, "ok       clock") || strings.Contains(out, "failed") {
		t.Errorf("check says\n%s", out)
	}
}

// TestCheck_BlamesNoClock: if the service does not answer, check reports nothing about the clock.
func TestCheck_BlamesNoClock(t *testing.T) {
	w := newWorld(t)
	closedPort(w)
	w.env["ADVERTISER_URL"] = w.env["REPORT_URL"]
	code, lines, last := w.check()
	if l, isThere := lines["clock"]; code != exit.Unreachable || isThere {
		t.Errorf("exit %d: %s; clock %+v", code, last, l)
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
			check.Failed, "not set: SPENDSYNC_REPORT_USER"},
		"a variable is not ours": {exit.OK, func(w *world) { w.env["PAGESIZE"] = "1" }, "configuration", check.Warning,
			"SPENDSYNC_PAGESIZE"},
		"wrong key": {exit.Auth, func(w *world) { w.env["API_KEY"] = "pushads_wrong" }, "advertiser API",
			check.Failed, "401"},
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
		}, "data directory", check.Failed, "not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(cfg *adsim.Config) {
				small(cfg)
				if name == "the key expires soon" {
					cfg.KeyExpiresAt = worldNow.Add(5*24*time.Hour - time.Hour)
				}
			})
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

// TestCheck_SeesAClockThatIsWrong sets this machine's clock ahead of the service's clock.
func TestCheck_SeesAClockThatIsWrong(t *testing.T) {
	for ahead, want := range map[time.Duration]string{0: check.OK, -time.Minute: check.Warning,
		50 * time.Minute: check.Warning, 2 * time.Hour: check.Failed} {
		w := newWorldInLine(t)
		a := newApp(w.environ(), io.Discard, io.Discard)
		a.now = func() time.Time { return worldNow.Add(ahead) }
		if err := a.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		j := (&runner{&a.call}).newJob()
		answer := check.Run(t.Context(), check.Options{Config: a.cfg, Client: a.clientOptions(), Now: a.now, Job: j})
		i := slices.IndexFunc(answer.Checks, func(l check.Line) bool { return l.Check == "clock" })
		if i < 0 || answer.Checks[i].State != want {
			t.Errorf("%s ahead: %+v", ahead, answer.Checks)
		}
	}
}

// newWorldInLine returns a small world that does not run in parallel, for a test that makes several worlds.
func newWorldInLine(t *testing.T) *world { return makeWorld(t, small) }
