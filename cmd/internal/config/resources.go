package config

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Resources fills in what follows from the machine: half of the memory that the
// process may use goes to DuckDB, and as many threads as it has processors. DuckDB first
// tries with less: of more it would keep every block that it has once read. A limit that
// is set is used at once.
func (c *Config) Resources() (memory, first string, threads int) {
	memory, threads = c.DuckDBMemory, c.DuckDBThreads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	if memory == "" {
		limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
		if err == nil && limit > 0 {
			most := max(128, limit/2>>20)
			memory, first = fmt.Sprintf("%dMiB", most), fmt.Sprintf("%dMiB", min(128, most/2))
		}
	}
	return memory, first, threads
}

// HoldHeap holds Go's heap to two fifths of the memory that the cgroup may use, if
// there is a limit and GOMEMLIMIT says nothing else: a process that grows as it likes
// is killed there. Below that it grows to three times of what is in use, unless GOGC says
// otherwise: collected at twice, a run with many restatements takes a tenth more CPU.
func HoldHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limit / 5 * 2))
	}
}
