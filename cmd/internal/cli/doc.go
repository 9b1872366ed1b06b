// Package cli contains the parts of the commands that deal with a person: it formats texts and numbers, shows answers
// and progress on a terminal, and opens the files that a user named.
//
// A path from a user may name a pipe, a device, a folder, a file of the store or a link to one of these. Reading never
// waits for the writer of a pipe, and stops at a limit. Writing replaces a regular file in one step, and never replaces
// a file of the store.
package cli
