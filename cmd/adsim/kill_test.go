package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
)

// asProcess makes the test binary the command itself, with these arguments.
const asProcess = "ADSIM_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(asProcess); args != "" {
		os.Args = append(os.Args[:1], strings.Split(args, "\n")...)
		main()
		return
	}
	os.Exit(m.Run())
}

// TestState_OutlivesAKill kills the process, which has no time for anything, after
// some writes were answered: the next start has all of them.
func TestState_OutlivesAKill(t *testing.T) {
	dir := t.TempDir()
	state, urls := filepath.Join(dir, "state"), filepath.Join(dir, "urls")
	args := []string{"-addr", "127.0.0.1:0", "-url-file", urls, "-state", state, "-campaigns", "2", "-creatives", "1",
		"-rows-per-day", "40", "-sources", "40", "-rate-limit", "0"}
	have := 0
	for range 2 {
		os.Remove(urls)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asProcess+"="+strings.Join(args, "\n"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var api string
		for deadline := time.Now().Add(2 * time.Minute); api == ""; time.Sleep(time.Millisecond) {
			if b, err := os.ReadFile(urls); err == nil {
				api, _, _ = strings.Cut(string(b), "\n")
			} else if time.Now().After(deadline) {
				t.Fatal("it does not listen")
			}
		}
		if _, body := get(t, api+"/v1/campaigns?search=Kept&limit=100",
			withKey(adsim.DefaultKey)); strings.Count(string(body), `"name":"Kept`) != have {
			t.Errorf("after %d writes: %s", have, body)
		}
		for range 12 {
			post(t, api+"/v1/campaigns", fmt.Sprintf(`{"name":"Kept %d","audience":{},"default_bid":0.5,`+
				`"daily_spend_limit":100}`, have))
			have++
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
	}
	service := adsim.New(adsim.Config{Campaigns: 2, CreativesPerCampaign: 1, RowsPerDay: 40, Sources: 40})
	if err := service.KeepState(state); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, id := range service.CampaignIDs() {
		if s, err := service.Settings(id); err == nil && strings.HasPrefix(s.Name, "Kept") {
			kept++
		}
	}
	if kept != have {
		t.Errorf("%d of %d writes are there", kept, have)
	}
}

func withKey(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}

func post(t *testing.T, url, body string) {
	t.Helper()
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	withKey(adsim.DefaultWriteKey)(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s: status %d", url, body, resp.StatusCode)
	}
}
