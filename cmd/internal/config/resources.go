package config

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Resources returns DuckDB's limits: one thread per processor and, unless the user has set a memory limit, half of the
// memory available to the process. The second result is a lower memory limit for DuckDB's start. Under the full limit,
// DuckDB would keep every block that it has read, and a first load of three million rows would take 391 MiB instead of
// 310. The second result is empty if the user has set a limit.
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

// HoldHeap limits Go's heap to two fifths of the cgroup's memory, because the kernel kills a process that exceeds the
// cgroup's limit. If the cgroup has no limit, or GOMEMLIMIT is set, HoldHeap sets no limit. Below the limit, the heap
// grows to three times the memory in use, unless GOGC is set. With Go's default of twice the memory in use, a run that
// stores many changed rows would take a tenth more CPU.
func HoldHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limit / 5 * 2))
	}
}
