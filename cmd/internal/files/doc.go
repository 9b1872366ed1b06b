// Package files opens the files that a variable or a flag names. It is the only place in the
// two commands that does: what somebody typed may be a pipe, a device, a folder, a file of the
// store or a link to one.
//
// What it promises:
//
//   - [Open] and [Read] return at once: they never wait for the writer of a pipe, read regular
//     files only, and no more than a limit.
//   - [WriteFile] replaces a file in one step. [CheckReplaceable] refuses the store's own files,
//     links, and anything else that is not a regular file.
//   - [CheckMetrics] refuses a file for metrics that holds something else.
package files
