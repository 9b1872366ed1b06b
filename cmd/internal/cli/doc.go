// Package cli is what the commands share where they meet a person: texts and numbers as a person reads them, answers
// and progress on a terminal, and the files that somebody named.
//
// What somebody typed may be a pipe, a device, a folder, a file of the store or a link to one. Reading never waits for
// the writer of a pipe and has a limit; writing replaces a regular file in one step, and none of the store's own.
package cli
