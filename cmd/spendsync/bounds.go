package main

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
	"spendsync/load/duck"
)

// questionMemory is DuckDB's memory limit for user-written SQL, unless SPENDSYNC_DUCKDB_MEMORY sets another limit.
// beyondEngine is the memory that the process may use beyond this limit, because DuckDB does not count lists and texts
// while it builds them.
const questionMemory, beyondEngine = 1 << 30, 1 << 30

// questionOptions returns DuckDB's options for user-written SQL, whose memory use is unknown. It also limits the memory
// of this process to the limit in the options plus [beyondEngine]. At the limit of the process, DuckDB reports that it
// is out of memory.
func (c *call) questionOptions() duck.Options {
	o := c.loadOptions().DuckDB
	memory, err := humanize.ParseBytes(o.Memory)
	if c.cfg.DuckDBMemory == "" && (err != nil || memory > questionMemory) {
		memory, o.Memory = questionMemory, fmt.Sprintf("%dMiB", questionMemory>>20)
	}
	if c.exit != nil {
		limit := memory + beyondEngine
		if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			c.log.Warn("the memory of a question is bounded by the engine alone", "error", err)
		}
	}
	return o
}

// stuckAfter is how long a question may run past its time limit. DuckDB needs this time, because it cannot stop in the
// middle of a function.
const stuckAfter = 10 * time.Second

// within returns a context with a time limit for an answer. If DuckDB is still running [stuckAfter] after the limit,
// the process exits.
func (c *call) within(ctx context.Context, atMost time.Duration) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("it takes longer than %v", atMost)
	ctx, cancel := context.WithTimeoutCause(ctx, atMost, late)
	if c.exit == nil {
		return ctx, cancel
	}
	stuck := time.AfterFunc(atMost+stuckAfter, func() {
		m := explain.Sentence("the question was stopped: "+late.Error(), exit.Usage)
		m.Do = "ask for fewer days or rows"
		c.lastLines(slog.LevelError, m, exit.Usage)
		c.exit(exit.Usage)
	})
	return ctx, func() { stuck.Stop(); cancel() }
}
