// Package world is an account that changes: orders, reviews, funds, restatements and writes, one at a time, each
// kept in a journal.
package world
