// Package crash gives a crash its exit code. An unrecovered panic, a fatal error of the Go runtime
// (for example, no memory) and an abort of a C++ library end a process in ways that the callers of
// spendsync and spendsync-lake would misread: Go exits with 2, which here means usage and is not
// retried.
package crash

// Code is the exit code of a process that crashes: exit.Unexpected.
const Code = 1
