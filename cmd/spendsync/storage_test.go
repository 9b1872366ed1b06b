//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// tiny configures the smallest possible account.
func tiny(c *adsim.Config) {
	c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 2, 2, 10, 12
}

// asProcess runs a command in a separate process, optionally under another program.
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

// TestSync_IOErrors makes one system call of the real process fail, including calls of DuckDB. Each time the run ends
// with exit 7, or succeeds because it did not make the call. The published data stays intact.
func TestSync_IOErrors(t *testing.T) {
	schematest.Long(t)
	if out, err := exec.Command("strace", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v %s", err, out)
	}
	w := newWorld(t, tiny).synced()
	w.env["REREAD_AFTER"] = "0s"
	tries := schematest.Times(1, 1, 20)
	met := 0
	for i := range tries {
		for _, c := range []struct {
			call  string
			errno string
			from  int // the number of the failing call in each thread
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
