// Package files opens the files that a variable or a flag names. It is the only place in the two commands that does:
// what somebody typed may be a pipe, a device, a folder, a file of the store or a link to one. Reading never waits for
// the writer of a pipe and has a limit; writing replaces a regular file in one step, and none of the store's own.
package files
