// Package bounded runs a question in a process of its own, and kills it if it needs more memory or time than it may.
// What a question needs is decided by whoever writes it: the engine's own limit does not count lists and texts in
// the making. The package knows no question and no store.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Limits are what a process may need.
type Limits struct {
	Memory int64 // bytes that it holds in memory
	Time   time.Duration
}

// Error is the end of a process that was killed.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// lookEvery is the time between two looks at a process: in it an engine fills some hundred megabytes.
const lookEvery = 20 * time.Millisecond

// Run starts a command and waits for its end. A process that exceeds its limits is killed and returns an [*Error], and
// so does one that somebody else killed: the kernel does so for want of memory, and takes this process first. When the
// context is done, the process is asked to end, and killed two seconds later. Memory is watched on Linux alone.
func Run(ctx context.Context, cmd *exec.Cmd, l Limits) error {
	endWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	killFirst(cmd.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late, stop := time.After(l.Time), ctx.Done()
	var kill <-chan time.Time
	var reason error
	end := func(why error) { // the first reason counts
		if reason == nil {
			reason = why
		}
		cmd.Process.Kill()
	}
	for {
		select {
		case err := <-ended:
			return errors.Join(reason, killed(err, reason))
		case <-look.C:
			if resident(cmd.Process.Pid) > l.Memory {
				end(&Error{fmt.Sprintf("the question was stopped: it needs more than %d MiB of memory", l.Memory>>20)})
			}
		case <-late:
			end(&Error{fmt.Sprintf("the question was stopped: it takes longer than %v", l.Time)})
		case <-stop:
			stop, kill = nil, time.After(2*time.Second)
			cmd.Process.Signal(syscall.SIGTERM)
		case <-kill:
			end(context.Cause(ctx))
		}
	}
}

// killed returns the error of a process that ended, unless it was killed for a known reason.
func killed(err, reason error) error {
	var end *exec.ExitError
	if status, ok := waitStatus(err, &end); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		if reason != nil {
			return nil
		}
		return &Error{"the question was killed: there is not enough memory for it"}
	}
	return err
}

func waitStatus(err error, end **exec.ExitError) (syscall.WaitStatus, bool) {
	if !errors.As(err, end) {
		return 0, false
	}
	status, ok := (*end).Sys().(syscall.WaitStatus)
	return status, ok
}
