// Package crash gives a crash its exit code. A panic that nobody recovers, a fatal
// error of the Go runtime, such as no memory, and an abort of a C++ library end a
// process in ways that the callers of spendsync would misread: Go exits with 2, which
// means usage here and is not retried.
package crash
