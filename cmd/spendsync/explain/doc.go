// Package explain writes the last lines of a command's output. They report what happened,
// beginning with the cause, what is safe, and what to do. The advice depends on the cause. If no rule recognizes the
// cause, the advice depends on the exit code.
//
// The package prints nothing itself: [Message.Text] returns the text. It uses only the error that it is given.
package explain
