// Command spendsync-lake keeps Apache Iceberg tables in object storage equal to a spendsync store. It reads the store
// and never writes to it. The command is separate from spendsync, so that no pod needs both the lake's credentials and
// the service's credentials.
//
// Run "spendsync-lake help" for the commands; the README beside this file lists the variables.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	debug.SetTraceback("crash") // end a crash by SIGABRT (134): Go would exit with 2, which means wrong usage here
	cli.LimitUmask()
	config.HoldHeap()
	a := &app{environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr, now: time.Now}
	os.Exit(a.run(ctx, os.Args[1:]))
}

// app runs the commands with the given environment, streams and clock.
type app struct {
	environ        []string
	stdout, stderr io.Writer
	now            func() time.Time
	json           bool
}

// buildVersion is set with -ldflags "-X main.buildVersion=...".
var buildVersion string

func version() string { return cli.Version(buildVersion) }
