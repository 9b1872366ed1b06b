// Package explain words the end of a command for the operator: what happened with its cause first,
// what is safe, and what to do. The advice follows from the cause; the exit code decides only if no
// rule knows the cause.
//
// It prints nothing but through [Message.Text], and reads nothing but the error that it is given.
package explain
