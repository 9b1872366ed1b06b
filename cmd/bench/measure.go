package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// measurement is the cost of one process.
type measurement struct {
	cpu, wall time.Duration
	rss       int64 // bytes, at its peak
	bytes     int64 // that it left
}

// measure runs a process to its end.
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

func bytesBelow(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
