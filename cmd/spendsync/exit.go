package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"spendsync/extract"
	"spendsync/load"
)

// The exit codes. They are a contract: CronJobs and alerts rely on them.
const (
	exitOK         = 0
	exitUnexpected = 1
	exitUsage      = 2
	exitAuth       = 3
	exitPartial    = 4
	exitUnreached  = 5
	exitContract   = 6
	exitStorage    = 7
	exitDamaged    = 8
	exitLocked     = 9
	exitNewer      = 10
	exitDayAtRisk  = 11
	exitStopped    = 143
)

// exitCode is one line of the contract: what a code means and what to do.
type exitCode struct {
	code  int
	means string
	retry string // whether running again helps
	safe  string // what stands
	do    string
}

// exitCodes is the one table from which the messages, the help and the README's
// list are made.
var exitCodes = []exitCode{
	{exitOK, "everything planned is published", "", "the published data is complete", "nothing to do"},
	{exitUnexpected, "unexpected error", "yes", "published data is unchanged", "run it again; if it stays, report the message above"},
	{exitUsage, "usage or configuration", "no", "nothing was read or written", "correct what the message names; see 'spendsync help config'"},
	{exitAuth, "credentials refused, or the key acts on another account", "no", "what is published stands", "check the user, the password and the API key, and whose account they act on"},
	{exitPartial, "published, but something is stale or incomplete", "next schedule", "what is published is proven; what failed is as it was before", "nothing now; the next run reads again what failed"},
	{exitUnreached, "the service can't be reached or keeps failing; nothing published", "yes", "published data is unchanged", "run it again; missed days heal themselves while they are in reach (see 'spendsync status')"},
	{exitContract, "the service answered outside its contract", "no", "published data is unchanged", "read the message: the service has changed or something stands between; do not retry blindly"},
	{exitStorage, "storage error: full, read-only, I/O", "yes", "the last published generation stands", "make room or mend the volume, then run it again"},
	{exitDamaged, "stored data fails verification", "no", "damaged files are left as they are", "run 'spendsync verify', then the command that it names for each file"},
	{exitLocked, "another run holds the lock", "no", "that run goes on", "wait for it; the lock dies with its process"},
	{exitNewer, "the warehouse is newer than this binary", "no", "nothing was written", "use the newer version of spendsync"},
	{exitDayAtRisk, "published, but a report day is lost or leaves the reach within 3 days unproven", "no, page someone", "what is published is proven", "find out today why the day cannot be read: after it leaves the 32-day reach it is gone"},
	{exitStopped, "stopped by a signal; what was complete is published", "yes", "what is published is whole, and what is not is read again by the next run", "run it again"},
}

func exitInfo(code int) exitCode {
	for _, e := range exitCodes {
		if e.code == code {
			return e
		}
	}
	return exitInfo(exitUnexpected)
}

// errUsage marks what the caller got wrong: arguments or configuration.
var errUsage = errors.New("usage")

func usage(format string, args ...any) error {
	return fmt.Errorf("%s%w", fmt.Sprintf(format, args...), hidden{errUsage})
}

// hidden carries an error's identity without its text.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

// codeOf is the one place where an error becomes an exit code. The order counts:
// the first line that fits decides.
func codeOf(err error) int {
	var unproven *extract.UnprovenError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage), errors.Is(err, load.ErrEmpty):
		return exitUsage
	case errors.Is(err, load.ErrLocked):
		return exitLocked
	case errors.Is(err, load.ErrNewer):
		return exitNewer
	case errors.Is(err, extract.ErrAuth), errors.Is(err, errOtherAccount):
		return exitAuth
	case errors.Is(err, load.ErrDamaged):
		return exitDamaged
	case errors.Is(err, load.ErrStorage):
		return exitStorage
	case errors.Is(err, context.Canceled):
		return exitStopped
	case errors.Is(err, extract.ErrUnavailable):
		return exitUnreached
	case errors.Is(err, extract.ErrContract), errors.As(err, &unproven):
		return exitContract
	}
	return exitUnexpected
}

// exitTable is the contract as text, for help.
func exitTable() string {
	var b strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s", e.code, e.means)
		if e.retry != "" {
			fmt.Fprintf(&b, " (retry: %s)", e.retry)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
