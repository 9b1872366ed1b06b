package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema/schematest"
)

// stopped is a process of spendsync that got a SIGTERM.
type stopped struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// stopAt starts a command in a process of its own and sends it a SIGTERM when at
// returns. It answers with the exit code and the last line, and fails the test if
// the process takes longer to end than a signal leaves it.
func (w *world) stopAt(at func(p *os.Process), args ...string) (code int, last string) {
	w.t.Helper()
	s := stopped{cmd: w.start(w.t.Context(), args...)}
	s.cmd.Stderr = &s.stderr
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	at(s.cmd.Process)
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.t.Fatal(err)
	}
	s.cmd.Wait()
	if took := time.Since(begin); took > hang {
		w.t.Errorf("%s after the signal it ended", took)
	}
	code = s.cmd.ProcessState.ExitCode()
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() &&
		status.Signal() == syscall.SIGTERM {
		code = exit.Stopped // before the command had begun; a container's code is the same
	}
	return code, ending(s.stderr.String())
}

// testLimits have a grace so long that a busy machine does not decide whether a run still publishes.
var testLimits = runLimits{concurrency: 4, threads: 2, grace: time.Minute}

// hang is when a test gives up waiting: long after what it waits for has come even
// on a machine that is busy with other things.
const hang = 2 * time.Minute

// awaitRequest waits until the service was asked something whose path and query hold a text.
func (w *world) awaitRequest(text string) func(*os.Process) {
	return func(*os.Process) {
		for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			for _, r := range w.service.Requests() {
				if strings.Contains(r.Path+"?"+r.Query, text) {
					return
				}
			}
		}
		w.t.Errorf("the service was never asked %s", text)
	}
}

// stopCase is a state in which a run is stopped.
type stopCase struct {
	env       map[string]string
	serial    bool          // one day of the report at a time
	grace     time.Duration // 0: that of tests
	fault     func(w *world) adsim.Fault
	at        func(w *world) func(*os.Process)
	holdLock  bool
	published string // how many days are complete afterwards; empty: unknown
	done      bool   // the signal comes when nothing is left to be read
	says      string
}

var stopCases = map[string]stopCase{
	"reading": {
		serial: true,
		fault: func(w *world) adsim.Fault {
			return adsim.Fault{Kind: adsim.Stall, Day: (w.today() - 23).String()}
		},
		at: func(w *world) func(*os.Process) { return w.awaitFault }, published: "9",
		says: "stopped by a signal: published generation",
	},
	"throttled": {
		env: map[string]string{"RETRY_BUDGET": "10m"}, grace: usual.grace,
		fault: func(*world) adsim.Fault { return adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "300"} },
		at:    func(w *world) func(*os.Process) { return w.awaitFault }, published: "0",
		says: "stopped by a signal: nothing published",
	},
	"in back-off": {
		env: map[string]string{"RETRY_BUDGET": "10m"}, grace: usual.grace,
		fault: func(*world) adsim.Fault { return adsim.Fault{Kind: adsim.Status, Status: 503} },
		at:    func(w *world) func(*os.Process) { return w.awaitFault }, published: "0",
		says: "stopped by a signal: nothing published",
	},
	"reading settings": {
		env: map[string]string{"HTTP_TIMEOUT": "2m"}, serial: true,
		fault: func(*world) adsim.Fault {
			return adsim.Fault{Kind: adsim.Stall, Path: "/v1/campaigns/C*/creatives"}
		},
		at: func(w *world) func(*os.Process) {
			return w.awaitRequest("start_date=" + w.today().String()) // the last day
		}, published: "32",
		says: "stopped by a signal: published generation",
	},
	"waiting for the store's lock": {
		env: map[string]string{"LOCK_WAIT": "5m"}, grace: 4 * time.Second, holdLock: true, published: "0",
		// Some days are proven by then, and that is all that it takes.
		at:   func(w *world) func(*os.Process) { return w.awaitRequest("start_date=" + w.today().String()) },
		says: "stopped by a signal before anything was published: waiting for store.lock",
	},
	"building the DuckDB file": {
		at: func(w *world) func(*os.Process) {
			return func(p *os.Process) { w.await(p, "staging/*/warehouse.duckdb.staged") }
		}, published: "32", done: true,
		says: "published generation",
	},
	"building, without a grace": {
		grace: 1,
		at: func(w *world) func(*os.Process) {
			return func(p *os.Process) { w.await(p, "staging/*/warehouse.duckdb.staged") }
		},
		says: "stopped by a signal before anything was published: ",
	},
	"in the commit": {
		at: func(w *world) func(*os.Process) {
			return func(p *os.Process) { w.await(p, "commit.json") }
		}, published: "32", done: true,
		says: "published generation",
	},
}

// TestSync_StoppedAtEachStep sends a SIGTERM in every state that a run can wait
// in. It ends in time, publishes what is complete, and the next run ends as if
// nothing had been.
func TestSync_StoppedAtEachStep(t *testing.T) {
	schematest.Long(t)
	for name, c := range stopCases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, few).withoutMarts()
			for k, v := range c.env {
				w.env[k] = v
			}
			if c.serial {
				w.limits.concurrency = 1
			}
			w.limits.grace = cmp.Or(c.grace, w.limits.grace)
			if c.fault != nil {
				w.service.Fail(c.fault(w))
			}
			if c.holdLock {
				if err := os.MkdirAll(filepath.Join(w.dir, "locks"), 0o755); err != nil {
					t.Fatal(err)
				}
				lock := flock.New(filepath.Join(w.dir, "locks", "store.lock"))
				if err := lock.Lock(); err != nil {
					t.Fatal(err)
				}
				defer lock.Close()
			}
			code, last := w.stopAt(c.at(w), "sync")
			want := exit.Stopped
			if c.done {
				want = exit.OK
			}
			if code != want || !strings.Contains(last, c.says) || strings.Contains(last, "context canceled") {
				t.Errorf("exit %d, want %d and %q: %s", code, want, c.says, last)
			}
			if c.published == "0" {
				if _, err := manifest.Read(w.dir); !errors.Is(err, durable.ErrEmpty) {
					t.Errorf("something is published, or the manifest is damaged: %v", err)
				}
			} else if c.published != "" {
				if got := w.ask("SELECT count(*) FROM ops.day_coverage WHERE state = 'complete'"); got != c.published {
					t.Errorf("%s days are complete, want %s", got, c.published)
				}
			}
			if c.holdLock {
				return // the lock is the test's until its end
			}
			w.service.ClearFaults()
			delete(w.env, "REQUESTS_PER_MINUTE")
			w.must("sync")
			w.checkTruth()
		})
	}
}

// awaitFault waits until a fault has struck.
func (w *world) awaitFault(*os.Process) {
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for _, r := range w.service.Requests() {
			if r.Fault != "" {
				return
			}
		}
	}
	w.t.Error("no fault has struck")
}

// TestSync_StoppedAtRandom sends a SIGTERM at random moments of a sync.
func TestSync_StoppedBeforeTheFirstDay(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	proven := 0
	for n := 1; proven == 0; n++ { // it looks at the clock a few times before it reads
		ctx, stop := context.WithCancel(t.Context())
		looks := 0
		var mu sync.Mutex
		w.now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			if looks++; looks == n {
				stop()
			}
			return worldNow
		}
		code, _, last := w.runCtx(ctx, "sync")
		stop()
		if code != exit.Stopped || !strings.Contains(last, "stopped by a signal") {
			t.Fatalf("stopped at look %d: exit %d: %s", n, code, last)
		}
		run, err := manifest.LastRun(w.dir, "acme")
		if err != nil {
			t.Fatal(err)
		}
		if run != nil {
			if proven = int(run.DaysProven); run.ExitCode != exit.Stopped {
				t.Fatalf("stopped at look %d: the ledger says %+v", n, run)
			}
		}
	}
}

func TestSync_StoppedAtRandom(t *testing.T) {
	schematest.Long(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, few).withoutMarts()
	w.env["PAGE_SIZE"], w.env["REREAD_AFTER"] = "5", "0s"
	if out, err := w.start(t.Context(), "sync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := len(w.service.Requests())
	codes := map[int]int{}
	for range 4 {
		// Somewhere between the first request and the last fifth of them.
		after := len(w.service.Requests()) + 1 + r.IntN(whole*4/5)
		code, last := w.stopAt(func(*os.Process) {
			for deadline := time.Now().Add(hang); len(w.service.Requests()) < after && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
		}, "sync")
		codes[code]++
		if code != exit.Stopped && code != exit.OK {
			t.Errorf("exit %d: %s", code, last)
		}
	}
	t.Logf("exit codes: %v", codes)
	if codes[exit.Stopped] == 0 {
		t.Error("no run was stopped")
	}
	w.must("sync")
	w.checkTruth()
}

// TestSync_StoppedWhileHungUp holds commands up where nothing can be interrupted, at
// an output that no process reads: the process ends all the same.
func TestSync_StoppedWhileHungUp(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withoutMarts()
	w.limits.grace = 10 * time.Millisecond
	for _, args := range [][]string{{"sync"}, {"sync", "--json"}, {"tables"}} {
		code, after := -1, 300*time.Millisecond
		for ; code == -1; after *= 2 { // the signal came before the command had begun
			code = w.stopHungUp(after, args)
		}
		if code != exit.Stopped {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}

// stopHungUp sends a SIGTERM to a command that nobody listens to, and returns its exit code.
func (w *world) stopHungUp(after time.Duration, args []string) int {
	w.t.Helper()
	r, full, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	defer full.Close()
	fill(w.t, full)
	ctx, stop := context.WithTimeout(w.t.Context(), hang/2)
	defer stop()
	cmd := w.start(ctx, args...)
	cmd.Stdout, cmd.Stderr = full, full
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(after)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	cmd.Wait()
	if ctx.Err() != nil {
		w.t.Fatalf("%v: it goes on", args)
	}
	return cmd.ProcessState.ExitCode()
}

// fill fills a pipe.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	if err := pipe.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err == nil; {
		_, err = pipe.Write(make([]byte, 512))
	}
}

// few makes an account with few rows.
func few(c *adsim.Config) { c.Campaigns, c.CreativesPerCampaign, c.RowsPerDay = 2, 2, 10 }
