package main

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/notice"
	"spendsync/extract/adsim"
	"spendsync/load/remote"
	"spendsync/schema/schematest"
)

// beats is a receiver of heartbeats on loopback. It keeps the paths of the requests, and answers with a status.
type beats struct {
	mu     sync.Mutex
	status int
	paths  []string
}

func (b *beats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paths = append(b.paths, r.URL.Path)
	w.WriteHeader(b.status)
}

// take returns the paths since the last call.
func (b *beats) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.paths
	b.paths = nil
	return taken
}

// TestHeartbeat_OfRuns: every run reports its start and its exit code. A run with an invalid variable reports only its
// exit code. Other commands report nothing. A receiver that fails does not change the exit code, and its address
// appears in no output.
func TestHeartbeat_OfRuns(t *testing.T) {
	w := newWorld(t, small)
	b := &beats{status: http.StatusOK}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "heartbeat")
	if err := os.WriteFile(file, []byte(server.URL+"/cAn4ry\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env["HEARTBEAT_URL_FILE"], w.env["LOG_LEVEL"] = file, "debug"
	for _, step := range []struct {
		edit func()
		args []string
		code int
		want []string
	}{
		{nil, []string{"sync"}, exit.OK, []string{"/cAn4ry/start", "/cAn4ry"}},
		{nil, []string{"status"}, exit.OK, nil},
		{nil, []string{"sync", "--from", "x"}, exit.Usage, []string{"/cAn4ry/start", "/cAn4ry/2"}},
		{func() { w.env["API_KEY"] = "wrong-key" }, []string{"sync"}, exit.Auth,
			[]string{"/cAn4ry/start", "/cAn4ry/3"}},
		{func() { w.env["YOUNG_DAYS"] = "many" }, []string{"sync"}, exit.Usage, []string{"/cAn4ry/2"}},
		{func() {
			w.env["YOUNG_DAYS"], w.env["THRESHOLDS"] = "3", "foo=2"
			w.env["NOTIFY_URL"], w.env["NOTIFY"] = server.URL, "day"
		}, []string{"sync"}, exit.Usage, []string{"/cAn4ry/2"}},
		{func() {
			w.env["THRESHOLDS"], w.env["NOTIFY_URL"], w.env["API_KEY"] = "", "", adsim.DefaultKey
			b.status = 500
		}, []string{"sync"}, exit.OK, nil},
		{func() { w.env["HEARTBEAT_URL_FILE"] = file + ".none" }, []string{"sync"}, exit.OK, nil},
		{func() { w.env["HEARTBEAT_URL_FILE"], w.env["HEARTBEAT_URL"] = "", "ftp://host/cAn4ry" }, []string{"sync"},
			exit.Usage, nil},
		{func() { w.env["HEARTBEAT_URL"] = "http://host.example.com/cAn4ry" }, []string{"sync"}, exit.Usage, nil},
	} {
		if step.edit != nil {
			step.edit()
		}
		code, stderr := w.stderr(step.args...)
		got := b.take()
		if code != step.code || step.want != nil && !slices.Equal(got, step.want) {
			t.Errorf("%v: exit %d, want %d; received %q, want %q", step.args, code, step.code, got, step.want)
		}
		if strings.Contains(stderr, "cAn4ry") {
			t.Errorf("%v shows the address: %s", step.args, stderr)
		}
		if b.status == 500 && step.code == exit.OK && !strings.Contains(stderr, "heartbeat") {
			t.Errorf("%v: no warning: %s", step.args, stderr)
		}
	}
}

// inboxes is a receiver of JSON on loopback. It keeps the notices, and answers with a status.
type inboxes struct {
	mu     sync.Mutex
	status int
	got    []notice.Message
	all    strings.Builder // the bodies of all requests
}

func (b *inboxes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, _ := io.ReadAll(r.Body)
	b.all.Write(text)
	var body struct{ Notices []notice.Message }
	if err := json.Unmarshal(text, &body); err == nil && b.status == http.StatusOK {
		b.got = append(b.got, body.Notices...)
	}
	w.WriteHeader(b.status)
}

// take returns the kind, place and state of each notice that was accepted since the last call.
func (b *inboxes) take() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.got {
		all = append(all, m.Kind+" "+m.Place+" "+m.State)
	}
	b.got = nil
	return all
}

// TestNotices_OfRuns: the start and the end of a finding are reported once, by the first run that can reach the
// receiver. No message, log or file shows a secret. A receiver that cannot be reached does not change an exit code.
func TestNotices_OfRuns(t *testing.T) {
	schematest.Long(t) // the tests of package notice cover when something is reported
	t.Run("in one folder", func(t *testing.T) { testNotices(t, func(*world) {}) })
	t.Run("in a new folder each time, from a bucket", func(t *testing.T) {
		bucket := "file://" + filepath.Join(t.TempDir(), "bucket")
		testNotices(t, func(w *world) {
			w.dir = filepath.Join(t.TempDir(), "data")
			w.env["DATA_DIR"], w.env["BUCKET"] = w.dir, bucket
		})
	})
}

// testNotices prepares each run by a call of move.
func testNotices(t *testing.T, move func(w *world)) {
	w := newWorld(t, small).withMarts()
	b := &inboxes{status: http.StatusOK}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	w.env["NOTIFY_URL"], w.env["LOG_LEVEL"] = server.URL+"/?t=cAn4ry", "warn"
	w.env["NOTIFY"] = "account,failed,settings"
	wrong := func() { w.env["API_KEY"], w.env["REPORT_PASSWORD"] = "adv_cAn4ryKey", "cAn4ryPass" }
	right := func() { w.env["API_KEY"], w.env["REPORT_PASSWORD"] = adsim.DefaultKey, adsim.DefaultPassword }
	for _, step := range []struct {
		what string
		edit func()
		code int
		want []string
	}{
		{"all is well", right, exit.OK, nil},
		{"wrong credentials", wrong, exit.Auth, []string{"account credentials begins"}},
		{"still", func() {}, exit.Auth, nil},
		{"right again", right, exit.OK, []string{"account credentials over"}},
		{"nothing new", func() {}, exit.OK, nil},
		{"somebody changes a bid, and the receiver is away", func() {
			b.status = http.StatusServiceUnavailable
			w.service.Advance(time.Hour)
			bids := map[string]string{}
			for r := rand.New(rand.NewPCG(1, 1)); len(bids) == 0; { // an archived campaign cannot change
				w.changeBid(r, bids)
			}
		}, exit.OK, nil},
		{"it is back", func() { b.status = http.StatusOK }, exit.OK, []string{"settings begins"}},
		{"and told once", func() {}, exit.OK, nil},
		{"one run fails", func() { w.env["YOUNG_DAYS"] = "99" }, exit.Usage, nil},
		{"two do", func() {}, exit.Usage, []string{"failed 2 begins"}},
		{"none does", func() { w.env["YOUNG_DAYS"] = "3" }, exit.OK, []string{"failed 2 over"}},
	} {
		step.edit()
		move(w)
		code, stderr := w.stderr("sync")
		got := b.take()
		for i, g := range got { // the place of this finding is the time at which it was seen
			if strings.HasPrefix(g, "settings ") {
				got[i] = "settings begins"
			}
		}
		if code != step.code || !slices.Equal(got, step.want) {
			t.Errorf("%s: exit %d, told %q, want exit %d, %q: %s", step.what, code, got, step.code, step.want, stderr)
		}
		if strings.Contains(stderr, "cAn4ry") {
			t.Errorf("%s: a secret shows: %s", step.what, stderr)
		}
	}
	if strings.Contains(b.all.String(), "cAn4ry") || !strings.Contains(b.all.String(), "default_bid") {
		t.Errorf("sent: %s", b.all.String())
	}
	if text, err := os.ReadFile(filepath.Join(w.dir, notice.Folder, "account=acme.json")); err != nil ||
		strings.Contains(string(text), "cAn4ry") {
		t.Errorf("%s %v", text, err)
	}
}

// TestNotices_OfABucketThatFails: if a run in a new folder cannot fetch the state of the notices, it sends a notice
// again and leaves the bucket's state unchanged: the end has the ID of the first notice. Damaged state counts as none.
func TestNotices_OfABucketThatFails(t *testing.T) {
	schematest.Long(t)
	w := makeWorld(t, small).withMarts()
	s, url := newS3(t)
	w.env["BUCKET"], w.bucket = url, remote.Options{Pause: time.Millisecond}
	b := &inboxes{status: http.StatusOK}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	w.env["NOTIFY_URL"], w.env["NOTIFY"] = server.URL, "account"
	var ids []string
	for _, step := range []struct {
		password string
		status   int // of a reply in place of the state; 0: the state itself
		text     string
		want     string
	}{
		{adsim.DefaultPassword, 0, "", ""},
		{"wrong", 0, "", notice.Begins},
		{"wrong", http.StatusForbidden, "", notice.Begins},
		{adsim.DefaultPassword, 0, "", notice.Over},
		{"wrong", http.StatusOK, "{", notice.Begins},
		{adsim.DefaultPassword, 0, "", notice.Over},
	} {
		w.dir, w.env["REPORT_PASSWORD"] = filepath.Join(t.TempDir(), "data"), step.password
		w.env["DATA_DIR"] = w.dir
		s.reply(func(rw http.ResponseWriter, r *http.Request) bool {
			if step.status == 0 || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/notices/") {
				return false
			}
			rw.WriteHeader(step.status)
			_, _ = io.WriteString(rw, step.text)
			return true
		})
		code, stderr := w.stderr("sync")
		b.mu.Lock()
		if len(b.got) != min(1, len(step.want)) || len(b.got) == 1 && b.got[0].State != step.want {
			t.Errorf("%+v: exit %d, told %+v: %s", step, code, b.got, stderr)
		}
		for _, m := range b.got {
			ids = append(ids, m.ID)
		}
		b.got = nil
		b.mu.Unlock()
	}
	if len(ids) != 5 || ids[2] != ids[0] || ids[1] == ids[0] || ids[4] != ids[3] {
		t.Errorf("the IDs are %q", ids)
	}
}

// TestNotices_OfQuietDays: if the spend of an account develops as usual, at most one finding is reported in fifty days.
// Each day has one run. Notices about days and settings are left out: the warehouse compares days with the machine's
// clock and not with the simulated clock, and the account's settings do change.
func TestNotices_OfQuietDays(t *testing.T) {
	schematest.Long(t)
	days := schematest.Times(1, 2, 50)
	w := newWorld(t, func(c *adsim.Config) {
		c.Campaigns, c.CreativesPerCampaign, c.RowsPerDay = 8, 3, 200
	}).withMarts()
	b := &inboxes{status: http.StatusOK}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	w.env["NOTIFY_URL"], w.env["LOG_LEVEL"] = server.URL, "warn"
	w.env["NOTIFY"] = "account,failed,runway,break,leak,loses,block,backup"
	w.must("sync")
	t.Logf("before the first day: %q", b.take())
	var told []string
	for range days {
		w.service.Advance(24 * time.Hour)
		w.must("sync")
		told = append(told, b.take()...)
	}
	begun := slices.DeleteFunc(slices.Clone(told), func(m string) bool { return !strings.HasSuffix(m, " begins") })
	if t.Logf("in %d days: %q", days, told); len(begun) > max(1, days/50) {
		t.Errorf("%d notices in %d days: %q", len(begun), days, begun)
	}
}
