// Command spendsync copies the spend report and the settings of a push advertising account into
// Parquet files and a DuckDB file; each day is held to the service's own count or sum.
//
// Run "spendsync help" for the commands and "spendsync help config" for the variables. deploy/README.md is the manual
// of operators, queries/README.md that of analysts.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"spendsync/cmd/internal/cli"
)

func main() { runMain(newApp(os.Environ(), os.Stdout, os.Stderr)) }

// runMain runs an application as this process; tests run it, too.
func runMain(a *app) {
	// The first signal asks to stop: complete days and entities are still published. A second one
	// has its usual effect at once; nothing published is harmed.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	// A crash ends by SIGABRT (134): Go's own exit code 2 means wrong usage here, and is not retried.
	debug.SetTraceback("crash")
	cli.LimitUmask()
	signal.Ignore(syscall.SIGPIPE) // a run continues if the reader of its log stops
	a.exit = os.Exit
	os.Exit(a.run(ctx, os.Args[1:]))
}
