package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// measurement is the cost of one process.
type measurement struct {
	cpu, wall time.Duration
	rss       int64 // bytes, at its peak
}

// measure runs a process to its end, and returns its CPU time, wall time and peak memory.
func measure(cmd *exec.Cmd) (m measurement, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return m, fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	m.wall = time.Since(start)
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.rss = usage.Maxrss * maxrssUnit
	}
	return m, nil
}
