// Package world is an account that changes: orders, reviews, funds, restatements and writes, one at a time.
package world
