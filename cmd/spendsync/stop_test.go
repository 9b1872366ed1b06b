package main

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// stopAt starts a command in a separate process, and sends SIGTERM to the process when the function at returns. It
// returns the exit code and the last line. The test fails if the process takes too long to end.
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
		code = exit.Stopped // the signal came before the command had started; a container would end with the same code
	}
	return code, ending(s.stderr.String())
}

// testLimits has a long grace period, so that a run can publish even on a busy machine.
var testLimits = runLimits{concurrency: 4, threads: 2, grace: time.Minute}

// hang is the time after which a test gives up waiting. It is much longer than any wait takes on a busy machine.
const hang = 2 * time.Minute

// awaitRequest waits until the service has received a request whose path and query contain a text.
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
	serial    bool          // read one day of the report at a time
	grace     time.Duration // 0: the grace period of testLimits
	fault     func(w *world) adsim.Fault
	at        func(w *world) func(*os.Process)
	holdLock  bool
	published string // how many days are complete afterwards; empty: unknown
	done      bool   // the signal comes when nothing is left to read
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
			return w.awaitRequest("start_date=" + w.today().String()) // today is read last
		}, published: "32",
		says: "stopped by a signal: published generation",
	},
	"waiting for the store's lock": {
		env: map[string]string{"LOCK_WAIT": "5m"}, grace: 4 * time.Second, holdLock: true, published: "0",
		// By then some days are proven. This case needs no more.
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

// TestSync_StoppedAtEachStep sends SIGTERM in every state in which a run can wait. The run ends in time and publishes
// complete data, and the next run gives the same result as an undisturbed run.
func TestSync_StoppedAtEachStep(t *testing.T) {
	schematest.Long(t)
	for name, c := range stopCases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, few)
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
				return // the test holds the lock until it ends
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

// few makes an account with few rows.
func few(c *adsim.Config) { c.Campaigns, c.CreativesPerCampaign, c.RowsPerDay = 2, 2, 10 }
