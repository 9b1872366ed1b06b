package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/extract/adsim"
)

// lockedBuffer collects the output of a server. It can be read while the server runs.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs the command until the returned function stop is called, which returns the command's error.
func start(t *testing.T, args ...string) (api, report string, stdout *lockedBuffer, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout = &lockedBuffer{}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), stdout, io.Discard) }()
	urls := regexp.MustCompile(`(?s)_ADVERTISER_URL=(\S+)\n.*_REPORT_URL=(\S+)\n.*_PASSWORD=\S+\n`)
	for deadline := time.Now().Add(time.Minute); ; {
		if found := urls.FindStringSubmatch(stdout.String()); found != nil {
			api, report = found[1], found[2]
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not listen")
		}
	}
	return api, report, stdout, func() error { cancel(); return <-ended }
}

func get(t *testing.T, url string, edit func(*http.Request)) (int, []byte) {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

func TestRun_ServesUntilItIsStopped(t *testing.T) {
	api, report, stdout, stop := start(t, "-now", "2026-11-21T20:00:00Z", "-frozen", "-rows-per-day", "300",
		"-quirk", "envelope-bare", "-rate-limit", "0")
	want := "export SPENDSYNC_ADVERTISER_URL=" + api + "\nexport SPENDSYNC_API_KEY=adv_sim_key\nexport " +
		"SPENDSYNC_REPORT_URL=" + report +
		"\nexport SPENDSYNC_REPORT_USER=analyst@example.com\nexport SPENDSYNC_REPORT_PASSWORD=sim-password\n"
	if got := stdout.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if status, body := get(t, api+"/v1/campaigns", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer adv_sim_key")
	}); status != 200 || body[0] != '[' {
		t.Errorf("%d %s", status, body)
	}
	status, body := get(t, report+"/ads/spend-report?start_date=2026-11-21&end_date=2026-11-21&columns=date",
		func(r *http.Request) { r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword) })
	if status != 200 || !bytes.Contains(body, []byte(`"data":[{"date":"2026-11-21"}]`)) {
		t.Errorf("%d %s", status, body)
	}
	var clock struct {
		Now      time.Time
		Standing bool
	}
	_, body = get(t, strings.TrimSuffix(api, adsim.APIPrefix)+"/_sim/clock", func(r *http.Request) {
		r.Method, r.Body = http.MethodPost, io.NopCloser(strings.NewReader("{}"))
	})
	if err := json.Unmarshal(body, &clock); err != nil || !clock.Standing ||
		clock.Now.Sub(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)) > time.Minute {
		t.Errorf("%s, %v", body, err)
	}
	if err := stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(strings.TrimSuffix(api, adsim.APIPrefix), "http://"),
		time.Second); err == nil {
		t.Error("it still listens")
	}
}

func TestRun_HasQuirks(t *testing.T) {
	api, _, _, stop := start(t, "-frozen", "-rate-limit", "0", "-quirk", "bom,clock-none", "-quirk", "ids-long")
	asReader := func(r *http.Request) { r.Header.Set("Authorization", "Bearer adv_sim_key") }
	if _, body := get(t, api+"/v1/campaigns", asReader); !bytes.HasPrefix(body,
		[]byte("\xef\xbb\xbf{\"campaigns\":[{\"campaign_id\":\"C")) {
		t.Errorf("got %.80q", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestControl_IsForLoopback(t *testing.T) {
	for ip, want := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": false, "10.0.0.1": false} {
		if got := isLoopback(&net.TCPAddr{IP: net.ParseIP(ip)}); got != want {
			t.Errorf("%s: got %v", ip, got)
		}
	}
}

func TestParse_RefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"-nosuch"}, {"-now", "yesterday"}, {"-quirk", "bom,nosuch"},
		{"serve"}, {"-rows-per-day", "many"}} {
		var stderr bytes.Buffer
		if _, err := parse(args, &stderr); !errors.Is(err, errUsage) || stderr.Len() == 0 {
			t.Errorf("%v: got %v, said %q", args, err, stderr.String())
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got %v", err)
	}
	for _, q := range adsim.Quirks() {
		if !strings.Contains(help.String(), "  "+q.Name+" ") || !strings.Contains(help.String(), q.Doc) {
			t.Errorf("-h does not list %s", q.Name)
		}
	}
}

func TestParse_SaysWhatAnAccountMay(t *testing.T) {
	o, err := parse([]string{"-prepaid", "500"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c := o.config; c.Prepaid != 500_000_000 {
		t.Errorf("got %+v", c)
	}
}
