package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/spendsync-lake/lake/laketest"
	"spendsync/load/loadtest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// asCommand is the variable that makes this test binary run as the command.
const asCommand = "SPENDSYNC_LAKE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(loadtest.InMemory(m))
}

// killer kills the running command at one of its requests, before or after the service has served it. The test chooses
// a number of requests instead of a time, because a fast machine might end the run before that time.
type killer struct {
	mu     sync.Mutex
	left   int  // requests until the kill; 0: no kill
	before bool // kill before the service handles the last request; false: after it has replied
	kill   func() error
}

// of wraps a server so that the killer counts each request to the server.
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

// run runs the command, kills it at its n-th request (0: never), and reports whether it was killed.
func (k *killer) run(t *testing.T, environ []string, n int, before bool, args ...string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(environ, asCommand+"=1", "TMPDIR="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	k.mu.Lock() // requests wait until k knows the process
	err := cmd.Start()
	if err == nil {
		k.left, k.before, k.kill = n, before, cmd.Process.Kill
	}
	k.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	k.mu.Lock() // do not count the requests of the test itself
	k.left = 0
	k.mu.Unlock()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v: %v: %s", args, err, out.String())
	}
	return err != nil
}

// TestCommands_ConvergeAfterKills kills followers and maintenance of a lake with a long history at each of their
// requests and then at random ones, while the store publishes more generations. After each kill the lake holds a single
// generation; after each clean run it holds the newest generation; at the end it passes a deep verify. If fewer than
// 300 kills are planned, the test skips some of the requests.
func TestCommands_ConvergeAfterKills(t *testing.T) {
	schematest.Long(t)
	if testing.Short() {
		t.Skip("takes a minute under the race detector, which sees no other process")
	}
	kills, stride := laketest.Rounds(6, 10_000), 1
	if kills < 300 {
		stride = 1 + 300/kills
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var k killer
	w, s := laketest.New(t, k.of), laketest.NewStore(t, "acme")
	s.Now, s.Every = time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), 24*time.Hour
	environ := []string{"PATH=" + os.Getenv("PATH"), "SPENDSYNC_DATA_DIR=" + s.Dir, "SPENDSYNC_LAKE_WAREHOUSE=wh",
		"SPENDSYNC_LAKE_CATALOG=" + w.URL, "SPENDSYNC_LAKE_S3_ENDPOINT=" + w.S3, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=" + laketest.AccessKey, "AWS_SECRET_ACCESS_KEY=" + laketest.SecretKey}
	// 2025-12-28; the 240 days from then on end before s.Now
	first := schema.Date(20450)
	change := func(days int) {
		for range days {
			s.Spend("acme", (first + schema.Date(r.IntN(240))).String(), 1+r.IntN(5), r.Int64N(1e6))
		}
		s.Publish()
	}
	change(300)
	k.run(t, environ, 0, false, "follow")
	deaths := map[string]int{}
	// kill kills a command at its n-th request, and reports whether it was still running.
	kill := func(command string, n int, before bool) bool {
		t.Helper()
		change(1 + r.IntN(4))
		state := w.State()
		killed := k.run(t, environ, n, before, command)
		isFollow := command == "follow"
		if isFollow && !maps.Equal(state, w.State()) {
			w.Check(s) // the generation must be complete
		}
		if killed {
			deaths[command]++
		}
		if isFollow && r.IntN(3) == 0 {
			k.run(t, environ, 0, false, "follow")
			w.Check(s)
		}
		if t.Failed() {
			t.Fatalf("%s was killed at request %d (before it: %t)", command, n, before)
		}
		return killed
	}
	commands := []string{"follow", "maintain"}
	for _, command := range commands {
		for n := 1; kill(command, n, false) && kill(command, n, true); {
			n += stride
		}
	}
	sum := func() (n int) {
		for _, d := range deaths {
			n += d
		}
		return n
	}
	byStep := sum()
	for sum() < max(kills, byStep+kills/3) {
		kill(commands[r.IntN(len(commands))], 1<<r.IntN(7), r.IntN(2) == 0)
	}
	k.run(t, environ, 0, false, "follow")
	k.run(t, environ, 0, false, "verify", "--deep")
	t.Logf("%d processes were killed, %d of them by step: %v; %d generations, %d files", sum(), byStep, deaths,
		s.M.Generation, len(w.Live()))
}
