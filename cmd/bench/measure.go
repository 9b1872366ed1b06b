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

// The measured processes, in the order of the table.
const (
	download     = "download of the pages"
	decodeOnly   = "decoding them"
	decodeStrict = "decoding them, strict jsontext"
	duckdbAlone  = "DuckDB alone"
	firstLoad    = "first load"
	unchanged    = "all read again, unchanged"
	restated     = "all read again, 1 % restated"
	scattered    = "all read again, 1 % restated, scattered"
	hour         = "all read again, an hour later"
	allRestated  = "all read again, all restated"
	nothingToDo  = "nothing to do"
	rebuildAlone = "DuckDB file from Parquet (rebuild)"
	replayAlone  = "rows from stored replies (replay)"
	verifyAlone  = "all files verified (verify)"
	intoEmpty    = "three days, empty warehouse"
	intoHistory  = "three days, long history"

	firstSettings     = "first snapshot of the settings"
	unchangedSettings = "snapshot again, unchanged"
	naiveSettings     = "a client without a memory"
)

// measurement is the cost of one process.
type measurement struct {
	cpu, wall time.Duration
	rss       int64   // bytes, at its peak
	bytes     int64   // that it wrote
	rate      float64 // MB decoded per core and second
	requests  int64   // to the advertiser API

	written, read int64 // bytes of devices
}

// blockSize is the unit in which the system counts what a process writes and reads.
const blockSize = 512

// measure runs a process to its end and also returns its output. The figures are
// valid even if it ended with an error.
func measure(cmd *exec.Cmd) (m measurement, output string, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err = cmd.Run()
	m.wall = time.Since(start)
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	if cmd.ProcessState == nil {
		return m, "", err
	}
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.rss = usage.Maxrss * maxrssUnit
		m.written, m.read = usage.Oublock*blockSize, usage.Inblock*blockSize
	}
	return m, out.String(), err
}

// cpuTime is the CPU time of this process, over all processors.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // of oneself it cannot fail
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
