// Package output is where answers go: files that are replaced whole or not at all,
// pipes whose reader may leave, terminals of some width.
//
// It never writes over what must stay: the store's own files, and what is not a
// regular file.
package output
