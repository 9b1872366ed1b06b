package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load/duck/ducktest"
	"spendsync/load/loadtest"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestMain lets the test binary run as spendsync, for tests that need a separate process.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_PROCESS") {
	case "spendsync":
		mainAt(os.Getenv("TEST_NOW"))
	default:
		code := loadtest.InMemory(m)
		for _, dir := range removeAtExit {
			os.RemoveAll(dir)
		}
		os.Exit(code)
	}
}

// mainAt is main with another time, if one is given.
func mainAt(at string) {
	a := newApp(os.Environ(), os.Stdout, os.Stderr)
	if text := os.Getenv("TEST_LIMITS"); text != "" {
		if _, err := fmt.Sscan(text, &a.limits.concurrency, &a.limits.threads, &a.limits.grace); err != nil {
			panic(err)
		}
	}
	if os.Getenv("TEST_MARTS") == "false" {
		a.only = mainViews
	}
	if at != "" {
		now, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			panic(err)
		}
		var looks atomic.Int64
		a.now = func() time.Time { return now.Add(time.Duration(looks.Add(1)) * time.Millisecond) }
	}
	runMain(a)
}

// run runs a command at the real time, without a world.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	return newApp(environ, stdout, stderr).run(ctx, args)
}

const readerQuestion = "SELECT count(*), sum(spend), sum(clicks), max(_run_id) FROM spend_daily"

// start runs a command of spendsync in a process of its own.
func (w *world) start(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	w.passed.Add(1000)
	cmd.Env = append(append(os.Environ(), w.environ()...), "TEST_PROCESS=spendsync",
		"TEST_NOW="+w.now().Format(time.RFC3339Nano), fmt.Sprintf("TEST_MARTS=%t", w.only == nil),
		fmt.Sprintf("TEST_LIMITS=%d %d %d", w.limits.concurrency, w.limits.threads, w.limits.grace))
	return cmd
}

// killed counts runs by the stage in which they were killed.
type killed struct{ starting, staging, committing, ended, finished int }

func (k *killed) String() string {
	all := max(1, k.starting+k.staging+k.committing+k.ended)
	return fmt.Sprintf("%d killed before the first staged file, %d between it and the commit record, %d between the "+
		"record and the last rename (%d%% between the first staged file and the last rename), %d after it; %d "+
		"finished before the kill",
		k.starting, k.staging, k.committing, (k.staging+k.committing)*100/all, k.ended, k.finished)
}

// note finds out and counts in which stage a run was killed.
func (k *killed) note(w *world, before int64, died bool) {
	staged, _ := filepath.Glob(w.dir + "/staging/*/*")
	_, err := os.Stat(w.dir + "/commit.json")
	m, _ := manifest.Read(w.dir)
	switch {
	case !died:
		k.finished++
	case m != nil && m.Generation > before:
		k.ended++
	case err == nil:
		k.committing++
	case len(staged) > 0:
		k.staging++
	default:
		k.starting++
	}
}

// killOne starts a run, the i-th, and kills it at a random moment. The given duration is that of a complete run. After
// each kill the published warehouse must open; after every 50th kill the store is verified.
func (w *world) killOne(r *rand.Rand, i int, whole time.Duration, count *killed, cmd *exec.Cmd) {
	w.t.Helper()
	before, err := manifest.Read(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	// A fifth of the kills comes at any moment. Staging and commit are short, so two fifths wait for the first staged
	// file, and two fifths for the commit.
	switch i % 5 {
	case 0:
		time.Sleep(time.Duration(r.Int64N(int64(whole))))
	case 1, 2:
		w.await(cmd.Process, "staging/*/*")
		time.Sleep(time.Duration(r.Int64N(int64(whole) / 2)))
	case 3:
		w.await(cmd.Process, "commit.json")
		time.Sleep(time.Duration(r.Int64N(int64(2 * time.Millisecond))))
	case 4:
		w.await(cmd.Process, "staging/*/manifest.json.staged")
		time.Sleep(time.Duration(r.Int64N(int64(4 * time.Millisecond))))
	}
	cmd.Process.Kill()
	cmd.Wait()
	count.note(w, before.Generation, cmd.ProcessState.ExitCode() == -1)
	if _, err := ducktest.Query(w.t.Context(), w.dir, readerQuestion); err != nil {
		w.t.Fatalf("after kill %d: %v", i, err)
	}
	if i%50 == 49 {
		w.must("verify")
		w.t.Logf("%d: %s", i+1, count)
	}
}

// checkNothingStaged checks that a clean run leaves no files in staging.
func (w *world) checkNothingStaged() {
	w.t.Helper()
	left, err := os.ReadDir(w.dir + "/staging")
	if err != nil || len(left) != 0 {
		w.t.Errorf("%d leftovers in staging, %v", len(left), err)
	}
}

// restate makes the service restate a day.
func (w *world) restate(day schema.Date) {
	w.t.Helper()
	for _, change := range []adsim.Restatement{{Kind: "insert"}, {Kind: "multiply", Percent: 103}} {
		// An insert fails if the day has no row with spend.
		if err := w.service.Restate(day.String(), change); err == nil {
			return
		}
	}
	w.t.Fatalf("%s cannot be restated", day)
}

// await waits until a file of the store appears, or the run is over.
func (w *world) await(p *os.Process, pattern string) {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
		if found, _ := filepath.Glob(w.dir + "/" + pattern); len(found) > 0 {
			return
		}
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid)); err == nil &&
			strings.Contains(string(state), ") Z ") {
			return
		}
	}
}

// TestSync_SecondRunExits9 runs two syncs at the same time.
func TestSync_SecondRunExits9(t *testing.T) {
	w := newWorld(t)
	w.service.Fail(adsim.Fault{Kind: adsim.Stall, Times: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := w.start(ctx, "sync")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for len(w.service.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	code, _, last := w.run("sync")
	host, _ := os.Hostname()
	holder := fmt.Sprintf("another run holds the lock: process %d on %s since ", first.Process.Pid, host)
	if code != exit.Locked || !strings.Contains(last, holder) {
		t.Errorf("exit %d: %s, want %q", code, last, holder)
	}
	first.Process.Kill()
	first.Wait()
	// A lock ends with its process. The text that a dead process has left in the lock file does not count as a holder.
	w.must("sync")
	w.checkTruth()
	if line, err := os.ReadFile(filepath.Join(w.dir, "locks", "account=acme.lock")); err != nil || len(line) > 0 {
		t.Errorf("a lock that is free says %q, %v", line, err)
	}
}

// TestSync_AnswerThatCannotBeWritten: if a sync has published but cannot write its answer, the message must not say
// that the store is unchanged.
func TestSync_AnswerThatCannotBeWritten(t *testing.T) {
	w := newWorld(t, small)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full here: %v", err)
	}
	defer full.Close()
	cmd := w.start(t.Context(), "sync", "--json")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = full, &stderr
	_ = cmd.Run()
	last := ending(stderr.String())
	if code := cmd.ProcessState.ExitCode(); code != exit.Storage ||
		!strings.Contains(last, "published generation 1") || strings.Contains(last, "unchanged") {
		t.Errorf("exit %d: %s", code, last)
	}
}
