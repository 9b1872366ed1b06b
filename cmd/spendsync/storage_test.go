//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// tinyWorld is as small as an account can be: for tests of what does not depend on
// the rows.
func tinyWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, tiny).withoutMarts()
}

// tiny makes an account as small as it can be.
func tiny(c *adsim.Config) {
	c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 2, 2, 10, 12
}

// asProcess runs a command in a process of its own, below another program where
// one is given.
func (w *world) asProcess(ctx context.Context, under []string, args ...string) (code int, stderr string) {
	w.t.Helper()
	self := w.start(ctx, args...)
	cmd := self
	if len(under) > 0 {
		path, err := exec.LookPath(under[0])
		if err != nil {
			w.t.Skipf("%s is not here: %v", under[0], err)
		}
		cmd = exec.CommandContext(ctx, path, append(append(under[1:len(under):len(under)], self.Path), args...)...)
		cmd.Env = self.Env
	}
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), errOut.String()
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting takes root; .ci/run has it")
	}
}

// mounted is a folder on a file system of its own.
func mounted(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// TestSync_ReadOnlyFolder makes the volume read-only below a published store: the
// run says so at once, before it asks the service anything, and reading and
// verifying go on.
func TestSync_ReadOnlyFolder(t *testing.T) {
	needRoot(t)
	w := tinyWorld(t)
	volume := filepath.Join(t.TempDir(), "volume")
	mounted(t, volume, "64m")
	w.dir = filepath.Join(volume, "data")
	w.env["DATA_DIR"] = w.dir
	w.must("sync")
	before := w.hashes("parquet", "raw", "ledger")
	remount := func(flags uintptr) {
		err := syscall.Mount("tmpfs", volume, "tmpfs", syscall.MS_REMOUNT|flags, "")
		// A process that a test beside this one just forked holds our files until it
		// has become another.
		for range 500 {
			if err != syscall.EBUSY {
				break
			}
			time.Sleep(10 * time.Millisecond)
			err = syscall.Mount("tmpfs", volume, "tmpfs", syscall.MS_REMOUNT|flags, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	asked := len(w.service.Requests())
	if code, _, last := w.run("sync"); code != exit.Storage || !strings.Contains(last, "read-only") {
		t.Errorf("sync: exit %d: %s", code, last)
	}
	if n := len(w.service.Requests()) - asked; n > 0 {
		t.Errorf("the service was asked %d questions", n)
	}
	w.must("verify")
	w.ask("SELECT count(*) FROM spend_daily")
	remount(0)
	w.must("sync")
	w.checkTruth()
	for path, h := range before {
		if strings.Contains(path, "/parquet/spend_daily/") && w.hashes("parquet/spend_daily")[path] != h {
			t.Errorf("%s changed", path)
		}
	}
}

// TestSync_FolderOnAnotherFileSystem mounts a volume over a part of the store: a
// commit could not be ended there, so none is begun.
func TestSync_FolderOnAnotherFileSystem(t *testing.T) {
	needRoot(t)
	w := tinyWorld(t)
	mounted(t, filepath.Join(w.dir, "parquet"), "16m")
	code, _, last := w.run("sync")
	if code != exit.Storage || !strings.Contains(last, "different file systems") {
		t.Errorf("sync: exit %d: %s", code, last)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "commit.json")); err == nil {
		t.Error("a commit has begun that cannot end")
	}
	if err := syscall.Unmount(filepath.Join(w.dir, "parquet"), syscall.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(w.dir, "parquet")); err != nil {
		t.Fatal(err)
	}
	w.must("sync")
	w.checkTruth()
}

// TestSync_IOErrors lets the system fail one call of the real process, DuckDB's
// calls among them: each time the run reports it with exit 7, or has not met it, and
// what was published stands.
func TestSync_IOErrors(t *testing.T) {
	schematest.Long(t)
	if out, err := exec.Command("strace", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v %s", err, out)
	}
	w := newWorld(t, tiny).withoutMarts().synced()
	w.env["REREAD_AFTER"] = "0s"
	tries := schematest.Times(1, 1, 20)
	met := 0
	for i := range tries {
		for _, c := range []struct {
			call  string
			errno string
			from  int // the n-th call of a thread
		}{
			{"fsync", "EIO", 1}, {"fsync", "ENOSPC", 9}, {"pwrite64", "EIO", 2}, {"pwrite64", "ENOSPC", 12},
			{"renameat,rename,renameat2", "EIO", 1}, {"pread64", "EIO", 3}, {"ftruncate,fallocate", "ENOSPC", 1},
		} {
			w.restate(w.today() - 2)
			inject := fmt.Sprintf("inject=%s:error=%s:when=%d", c.call, c.errno, c.from+i*3)
			code, stderr := w.asProcess(t.Context(), []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" +
				c.call, "-e", inject}, "sync")
			switch {
			case code == exit.Storage:
				met++
			case code != exit.OK:
				t.Errorf("%s: exit %d: %s", inject, code, stderr)
			}
			w.must("verify")
		}
	}
	t.Logf("%d of %d runs met the error", met, tries*7)
	if met < 3 {
		t.Errorf("only %d runs met an error", met)
	}
	w.must("sync")
	w.checkTruth()
}

// TestSync_TooFewFiles lets the process have hardly any open files.
func TestSync_TooFewFiles(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t, tiny).withoutMarts().synced()
	for _, files := range []int{8, 12, 16} {
		code, stderr := w.asProcess(t.Context(), []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`,
			files)}, "sync")
		if code != exit.OK && code != exit.Storage && code != exit.Unreachable && code != exit.Partial {
			t.Errorf("%d files: exit %d: %s", files, code, stderr)
		}
		w.must("verify")
	}
	w.must("sync")
	w.checkTruth()
}

// TestSync_NobodyReadsStderr closes the pipe that the log goes to: the data does
// not depend on it.
func TestSync_NobodyReadsStderr(t *testing.T) {
	w := tinyWorld(t)
	w.env["LOG_LEVEL"] = "debug"
	r, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.start(t.Context(), "sync")
	cmd.Stderr, cmd.Stdout = wr, wr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wr.Close()
	r.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("sync: %v", err)
	}
	w.checkTruth()
}

// TestSync_ManyAtOnce starts two and eight runs of one account at the same moment,
// and one of each of several accounts.
func TestSync_ManyAtOnce(t *testing.T) {
	schematest.Long(t)
	for _, n := range []int{2, 8} {
		t.Run(fmt.Sprintf("%d of one account", n), func(t *testing.T) {
			w := tinyWorld(t)
			codes := w.together(n, func(int) string { return "acme" })
			if codes[exit.OK] == 0 || codes[exit.OK]+codes[exit.Locked] != n {
				t.Errorf("%d runs of one account ended with %v, want 0 and 9", n, codes)
			}
			w.must("sync")
			w.checkTruth()
		})
	}
	t.Run("one of each of four accounts", func(t *testing.T) {
		w := tinyWorld(t)
		w.env["LOCK_WAIT"] = "2m"
		accounts := []string{"acme", "a1", "a2", "a3"}
		if codes := w.together(4, func(i int) string { return accounts[i] }); codes[exit.OK] != 4 {
			t.Errorf("4 accounts at once ended with %v", codes)
		}
		w.checkTruth()
		if got := w.ask("SELECT count(DISTINCT account_id), count(DISTINCT n) FROM (SELECT account_id, count(*) AS n " +
			"FROM spend_daily GROUP BY 1)"); got != "4|1" {
			t.Errorf("accounts and their numbers of rows = %s", got)
		}
	})
}

// together starts runs at the same moment and counts their exit codes.
func (w *world) together(n int, account func(int) string) map[int]int {
	w.t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for i := range n {
		cmd := w.start(w.t.Context(), "sync")
		cmd.Env = append(cmd.Env, config.Prefix+"ACCOUNT="+account(i))
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = cmd.Run()
			mu.Lock()
			defer mu.Unlock()
			codes[cmd.ProcessState.ExitCode()]++
		}()
	}
	wg.Wait()
	return codes
}

// TestSync_LeavesNoFileOpen counts the process's open files over whole runs, also
// over runs that fail.
func TestSync_LeavesNoFileOpen(t *testing.T) {
	schematest.Long(t)
	w := tinyWorld(t)
	inStore := func() (open []string) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		for _, fd := range fds {
			if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, w.dir) {
				open = append(open, to)
			}
		}
		return open
	}
	for range 2 {
		w.must("sync")
		w.must("verify")
		w.must("rebuild")
		if err := os.Remove(filepath.Join(w.dir, "parquet/calendar/account=acme/data.parquet")); err != nil {
			t.Fatal(err)
		}
		w.run("verify")
		w.must("rebuild")
	}
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500})
	w.run("sync")
	var open []string
	for range 20 { // the engine closes its files a little later
		if open = inStore(); len(open) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("still open: %v", open)
}
