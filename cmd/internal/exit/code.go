package exit

import (
	"fmt"
	"slices"
	"strings"
)

// The exit codes. Their meanings never change, because CronJobs and alerts rely on these numbers.
const (
	OK          = 0
	Unexpected  = 1
	Usage       = 2
	Auth        = 3
	Partial     = 4
	Unreachable = 5
	Contract    = 6
	Storage     = 7
	Damaged     = 8
	Locked      = 9
	Newer       = 10
	DayAtRisk   = 11
	Stopped     = 143
)

// Code describes an exit code: what it means and what to do.
type Code struct {
	Code  int
	Means string
	Retry string // whether running again helps
	Safe  string // what is safe
	Do    string
}

// Codes describes every exit code. The messages, the help and deploy/config.txt are made from it.
var Codes = []Code{
	{OK, "everything planned is published", "",
		"the published data is complete",
		"nothing to do"},
	{Unexpected, "unexpected error", "yes",
		"published data is unchanged",
		"run it again; if it stays, report the message above"},
	{Usage, "usage or configuration", "no",
		"nothing was changed",
		"correct what the message names; see 'spendsync help config'"},
	{Auth, "credentials refused, or the key acts on another account", "no",
		"what is published stands",
		"check the user, the password and the API key, and whose account they act on"},
	{Partial, "published, but something is stale or incomplete", "next schedule",
		"what is published is proven; what failed is as it was before",
		"read the message: the next run asks again for what the service could not answer; what it answered in a form " +
			"that is not in its description stays unread until spendsync is updated: report the message to its " +
			"maintainers, or 'spendsync repair accept' the note that 'spendsync status' has of it"},
	{Unreachable, "the service can't be reached or keeps failing; no report day published", "yes",
		"what is published of the report is unchanged",
		"run it again; missed days heal themselves while they are in reach (see 'spendsync status')"},
	{Contract, "the service answered outside its contract", "no",
		"what is published of the report is unchanged",
		"read the message: the service has changed, or a proxy or a login page stands between; do not retry blindly. " +
			"If it is the service, report the message to the maintainers of spendsync: " +
			"after an update a sync reads every day that is still in reach, and 'spendsync repair replay' the " +
			"replies that were kept"},
	{Storage, "storage error: full, read-only, I/O", "yes",
		"what is published stands",
		"make room or repair the volume, then run it again"},
	{Damaged, "stored data fails verification", "no",
		"damaged files are left as they are",
		"run 'spendsync verify', then the command that it names for each file"},
	{Locked, "another run holds the lock", "no",
		"that run is still active",
		"wait for it; the lock dies with its process"},
	{Newer, "the warehouse is newer than this binary", "no",
		"nothing was written",
		"use the newer version of spendsync"},
	{DayAtRisk, "published, but a report day is lost or leaves the reach within 3 days unproven", "no, page someone",
		"what is published is proven",
		"find out today why the day cannot be read: after it leaves the 32-day reach it is gone"},
	{Stopped, "stopped by a signal; what was complete is published", "yes",
		"what is published is whole, and what is not is read again by the next run",
		"run it again"},
}

// gravity lists the exit codes from the least to the most serious. A process that makes two runs ends with the more
// serious of their codes.
var gravity = []int{OK, Partial, Locked, Unreachable, Contract, Unexpected, Storage, Usage, Newer, DayAtRisk, Damaged,
	Auth, Stopped}

// Graver reports whether the first exit code is more serious than the second, by their order in gravity.
func Graver(code, than int) bool { return slices.Index(gravity, code) > slices.Index(gravity, than) }

// About returns the description of an exit code. For an unknown number it returns the description of [Unexpected].
func About(code int) Code {
	for _, c := range Codes {
		if c.Code == code {
			return c
		}
	}
	return About(Unexpected)
}

// Table returns the codes as text for help.
func Table() string {
	var b strings.Builder
	for _, c := range Codes {
		fmt.Fprintf(&b, "  %3d  %s", c.Code, c.Means)
		if c.Retry != "" {
			fmt.Fprintf(&b, " (retry: %s)", c.Retry)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
