package config

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Resources fills in the limits that depend on the machine: DuckDB gets half of the memory available to the process,
// and as many threads as there are processors. The result first is a lower limit that DuckDB starts with. With more
// memory, DuckDB would keep every block that it has read, and a first load of three million rows would take 391 MiB
// instead of 310. If the user has set a limit, first is empty.
func (c *Config) Resources() (memory, first string, threads int) {
	memory, threads = c.DuckDBMemory, runtime.GOMAXPROCS(0)
	if memory == "" {
		limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
		if err == nil && limit > 0 {
			most := max(128, limit/2>>20)
			memory, first = fmt.Sprintf("%dMiB", most), fmt.Sprintf("%dMiB", min(128, most/2))
		}
	}
	return memory, first, threads
}

// HoldHeap limits Go's heap to two fifths of the memory of the cgroup, if the cgroup has a limit and GOMEMLIMIT is not
// set: the kernel kills a process that exceeds the limit. Below its limit, the heap grows to three times the memory in
// use, unless GOGC is set. With Go's default of twice the memory in use, a run with many restatements would take a
// tenth more CPU.
func HoldHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limit / 5 * 2))
	}
}
