package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/spendsync-lake/lake/laketest"
	"spendsync/cmd/spendsync-lake/lake/restsim"
	"spendsync/load/manifest"
)

// emptyStore makes a store with one account that has no data yet.
func emptyStore(t *testing.T, generation int64) string {
	t.Helper()
	dir := t.TempDir()
	m := manifest.New()
	m.Generation, m.RunID = generation, fmt.Sprintf("R%d", generation)
	m.Of("acme")
	e, err := m.Encode()
	for path, part := range e.AccountFiles {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700),
			os.WriteFile(filepath.Join(dir, path), part, 0o600))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, manifest.FileName), e.Root, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// lakeOf serves a catalog whose tables are stored in a folder. It returns the variables that make the command use this
// catalog.
func lakeOf(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) (environ []string) {
	t.Helper()
	folder := t.TempDir()
	rest := &restsim.Catalog{Warehouse: "file://" + folder}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			rest.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return []string{"SPENDSYNC_LAKE_CATALOG=" + srv.URL}
}

func command(t *testing.T, environ []string, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	a := &app{environ: environ, stdout: &b, stderr: &b, now: time.Now}
	return a.run(t.Context(), args), b.String()
}

func TestCommands_FollowAStore(t *testing.T) {
	environ := append(lakeOf(t, nil), "SPENDSYNC_DATA_DIR="+emptyStore(t, 2))
	metrics := filepath.Join(t.TempDir(), "lake.prom")
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"verify"}, 8, "the lake has generation 0, the store 2"},
		{[]string{"follow"}, 0, "committed generation 2 of 1 accounts"},
		{[]string{"follow"}, 0, "the lake has generation 2 already"},
		{[]string{"verify", "--deep"}, 0, "the lake holds generation 2"},
		{[]string{"maintain"}, 0, "0 orphans deleted"},
		{[]string{"follow", "--bogus"}, 2, "bogus"},
		{[]string{"bogus"}, 2, "unknown command"},
		{[]string{"--version"}, 0, "spendsync-lake version devel"},
	} {
		code, out := command(t, append(environ, "SPENDSYNC_LAKE_METRICS_FILE="+metrics), step.args...)
		if code != step.code || !strings.Contains(out, step.says) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", step.args, code, step.code, step.says, out)
		}
	}
	for age, want := range map[string]int{"59m": 2, "1h": 0, "1 week": 2} {
		if code, out := command(t, append(environ, "SPENDSYNC_LAKE_SNAPSHOT_AGE="+age), "maintain"); code != want {
			t.Errorf("%s: exit code %d, want %d:\n%s", age, code, want, out)
		}
	}
	for dir, want := range map[string]int{emptyStore(t, 1): 10, t.TempDir(): 2} {
		if code, out := command(t, append(environ, "SPENDSYNC_DATA_DIR="+dir), "follow"); code != want {
			t.Errorf("exit code %d, want %d:\n%s", code, want, out)
		}
	}
}

// TestMetrics_CountGenerationsWhileTheLakeIsAway: the metrics file keeps the lake's last known generation, so that the
// metric of missing generations still grows while the lake is unreachable.
func TestMetrics_CountGenerationsWhileTheLakeIsAway(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lake.prom")
	environ := append(lakeOf(t, nil), "SPENDSYNC_LAKE_METRICS_FILE="+file)
	if code, out := command(t, append(environ, "SPENDSYNC_DATA_DIR="+emptyStore(t, 2)), "follow"); code != 0 {
		t.Fatal(out)
	}
	if code, out := command(t, append(environ, "SPENDSYNC_DATA_DIR="+emptyStore(t, 7),
		"SPENDSYNC_LAKE_CATALOG=http://127.0.0.1:1"), "follow"); code != 5 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"spendsync_lake_generations_behind 5\n", "spendsync_lake_exit_code 5\n",
		"spendsync_lake_generation 2\n"} {
		if !strings.Contains(string(b), line) {
			t.Errorf("no %q in:\n%s", line, b)
		}
	}
}

// TestFollow_TellsWhatOthersWrote: rows that another program deleted come back with the next generation, and the output
// of the command mentions this.
func TestFollow_TellsWhatOthersWrote(t *testing.T) {
	w, s, file := laketest.New(t), laketest.Sample(t), filepath.Join(t.TempDir(), "lake.prom")
	environ := []string{"SPENDSYNC_DATA_DIR=" + s.Dir, "SPENDSYNC_LAKE_WAREHOUSE=wh", "SPENDSYNC_LAKE_CATALOG=" + w.URL,
		"SPENDSYNC_LAKE_S3_ENDPOINT=" + w.S3, "AWS_REGION=us-east-1", "SPENDSYNC_LAKE_METRICS_FILE=" + file}
	t.Setenv("AWS_ACCESS_KEY_ID", laketest.AccessKey) // the SDK reads the process's environment
	t.Setenv("AWS_SECRET_ACCESS_KEY", laketest.SecretKey)
	follow := func(says, metric string) {
		t.Helper()
		code, out := command(t, environ, "follow")
		b, err := os.ReadFile(file)
		if code != 0 || !strings.Contains(out, says) || err != nil || !strings.Contains(string(b), metric) {
			t.Errorf("exit code %d, want 0 with %q and %q:\n%s%s%v", code, says, metric, out, b, err)
		}
		w.Check(s)
	}
	follow("committed generation 1", "spendsync_lake_foreign_changes 0\n")
	w.Delete("spend_daily", "acme")
	s.Versions("acme", 3)
	s.Publish()
	follow("another program had written to spend_daily: ", "spendsync_lake_foreign_changes 1\n")
}

// TestSecrets_AreNeverShown: the command shows no secret, even if a catalog's reply contains every header of the
// request.
func TestSecrets_AreNeverShown(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) bool {
		body := new(bytes.Buffer)
		body.ReadFrom(r.Body)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"NotAuthorizedException","code":401}}`,
			fmt.Sprint(r.Header, body, " canary-access canary-secret canary-password"))
		return true
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("canary-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := "SPENDSYNC_DATA_DIR=" + emptyStore(t, 1)
	for _, secret := range []string{"SPENDSYNC_LAKE_TOKEN_FILE=" + file, "SPENDSYNC_LAKE_TOKEN=canary-token",
		"SPENDSYNC_LAKE_CREDENTIAL=id:canary-password"} {
		environ := append(lakeOf(t, echo), store, secret, "AWS_ACCESS_KEY_ID=canary-access",
			"AWS_SECRET_ACCESS_KEY=canary-secret")
		for _, args := range [][]string{{"follow"}, {"verify"}, {"maintain"}} {
			code, out := command(t, environ, args...)
			// The client shows nothing of the reply to a request with client credentials.
			if code != 3 || strings.Contains(secret, "TOKEN") != strings.Contains(out, "[redacted]") {
				t.Errorf("%s %v: exit code %d:\n%s", secret, args, code, out)
			}
			if strings.Contains(secret, "TOKEN") && !strings.Contains(out, "canary-access") {
				t.Errorf("%s %v: the id of the access key is no secret, and is not shown:\n%s", secret, args, out)
			}
			for _, canary := range []string{"canary-token", "canary-secret", "canary-password"} {
				if strings.Contains(out, canary) && strings.Contains(strings.Join(environ, " ")+"canary-token",
					canary) {
					t.Errorf("%s %v shows %s:\n%s", secret, args, canary, out)
				}
			}
		}
	}
	code, out := command(t, []string{"SPENDSYNC_LAKE_CATALOG=http://me:canary-password@127.0.0.1"}, "follow")
	if code != 2 || strings.Contains(out, "canary") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	code, out = command(t, []string{"SPENDSYNC_LAKE_CATALOG=http://10.1.2.3", store}, "follow")
	if code != 2 || !strings.Contains(out, "SPENDSYNC_ALLOW_HTTP") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestManual_NamesEveryCommandAndVariable checks README.md in this folder.
func TestManual_NamesEveryCommandAndVariable(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer), now: time.Now}
	for _, c := range a.root().Commands() {
		if !strings.Contains(string(b), "| `"+c.Name()) {
			t.Errorf("the README has no line of %s", c.Name())
		}
		if c.Short == "" || c.RunE == nil || c.Args(c, []string{"more"}) == nil {
			t.Errorf("%s takes anything, or says nothing", c.Name())
		}
	}
	for _, name := range variables() {
		if !strings.Contains(string(b), "`SPENDSYNC_"+name+"`") {
			t.Errorf("the README has no line of %s", name)
		}
	}
}

// variables returns the names of the variables in settings.
func variables() (names []string) {
	for f := range reflect.TypeFor[settings]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("env"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
