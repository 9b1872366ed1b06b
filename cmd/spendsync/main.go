// Command spendsync copies the spend report and the settings of a push advertising account into Parquet files and a
// DuckDB file; each day is compared with the service's own count or sum.
//
// Run "spendsync help" for the commands and "spendsync help config" for the variables. deploy/README.md is the manual
// for operators, queries/README.md the manual for analysts.
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

// runMain runs the app and ends the process with its exit code. Tests call it, too.
func runMain(a *app) {
	// The first signal asks to stop: complete days and entities are still published. A second signal ends the process
	// at once, which does not harm published data.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	// Make a crash end by SIGABRT (134). Go would exit with 2, which means wrong usage here and is not retried.
	debug.SetTraceback("crash")
	cli.LimitUmask()
	signal.Ignore(syscall.SIGPIPE) // a run continues if the reader of its log stops
	a.exit = os.Exit
	os.Exit(a.run(ctx, os.Args[1:]))
}
