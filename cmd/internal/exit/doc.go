// Package exit defines the exit codes of spendsync: what each code means, whether running again helps, what is safe and
// what to do, and which error ends a command with which code.
//
// The codes are a contract that CronJobs and alerts rely on: a code never changes
// its meaning. This package prints nothing and ends no process.
package exit
