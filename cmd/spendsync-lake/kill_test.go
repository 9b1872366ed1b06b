package main

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"spendsync/load/lake/laketest"
	"spendsync/load/lake/resttest"
	"spendsync/schema"
)

// asCommand has this test binary be the command.
const asCommand = "SPENDSYNC_LAKE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// killer kills the running command at one of its requests, before or after the service has served it.
// A moment on the clock would depend on the machine: a fast run ends before it.
type killer struct {
	mu     sync.Mutex
	left   int  // requests until the kill; 0: none
	before bool // the service never sees the last request
	kill   func() error
}

// of wraps a service.
func (k *killer) of(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		last := k.left == 1
		k.left = max(k.left-1, 0)
		before, kill := k.before, k.kill
		k.mu.Unlock()
		if last && before {
			_ = kill()
			return
		}
		service.ServeHTTP(w, r)
		if last {
			_ = kill()
		}
	})
}

// run runs the command and kills it at its n-th request; 0: it may end. It reports whether it was killed.
func (k *killer) run(t *testing.T, environ []string, n int, before bool, args ...string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(environ, asCommand+"=1", "TMPDIR="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	k.mu.Lock() // until the process is there to be killed
	err := cmd.Start()
	if err == nil {
		k.left, k.before, k.kill = n, before, cmd.Process.Kill
	}
	k.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v: %v: %s", args, err, out.String())
	}
	return err != nil
}

// TestCommands_ConvergeAfterKills: followers, commits of the inbox and maintenance are killed at random
// requests while the store goes on and months of it close; then both lakes pass a deep verify. SPENDSYNC_TEST_KILLS
// is the number of rounds.
func TestCommands_ConvergeAfterKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector, which sees no other process")
	}
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("SPENDSYNC_TEST_KILLS"), "6"))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	backend := s3mem.New()
	if err := backend.CreateBucket("lake"); err != nil {
		t.Fatal(err)
	}
	var k killer
	storage := httptest.NewServer(k.of(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
	defer storage.Close()
	rest := httptest.NewServer(k.of(&resttest.Catalog{Warehouse: "s3://lake/wh"}))
	defer rest.Close()
	s := laketest.NewStore(t, "acme")
	s.Now, s.Every = time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), 24*time.Hour
	environ := []string{"PATH=" + os.Getenv("PATH"), "SPENDSYNC_DATA_DIR=" + s.Dir, "SPENDSYNC_LAKE_WAREHOUSE=wh",
		"SPENDSYNC_LAKE_CATALOG=" + rest.URL, "SPENDSYNC_LAKE_S3_ENDPOINT=" + storage.URL, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret-canary"}
	// The same store in two lakes: one that it follows into, and one by way of an inbox.
	inbox := append(environ[:len(environ):len(environ)], "SPENDSYNC_LAKE_MODE=inbox", "SPENDSYNC_LAKE_NAMESPACE=fleet")
	first := schema.Date(20450) // 2025-12-28: of many months some are closed, and some close while this runs
	s.Spend("acme", first.String(), 3, 1)
	s.Publish()
	k.run(t, environ, 0, false, "follow")
	deaths := 0
	for range rounds {
		for range 1 + r.IntN(4) {
			s.Spend("acme", (first + schema.Date(r.IntN(240))).String(), 1+r.IntN(5), r.Int64N(1e6))
		}
		s.Publish()
		for _, one := range []struct {
			environ []string
			command string
		}{{environ, "follow"}, {environ, "maintain"}, {inbox, "follow"}, {inbox, "commit"}} {
			if r.IntN(3) > 0 && k.run(t, one.environ, 1<<r.IntN(8), r.IntN(2) == 0, one.command) {
				deaths++
			}
		}
	}
	for _, with := range [][]string{environ, inbox} {
		k.run(t, with, 0, false, "follow")
		k.run(t, with, 0, false, "commit")
		k.run(t, with, 0, false, "verify", "--deep")
	}
	if deaths == 0 {
		t.Error("nothing was killed")
	}
	t.Logf("%d of about %d processes were killed", deaths, rounds*8/3)
}
