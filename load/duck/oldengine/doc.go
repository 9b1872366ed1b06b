// Package oldengine has no code, only a test: the last engine under the old name of the driver, 1.4.3 of
// github.com/marcboeker/go-duckdb, opens a store that the current engine wrote. Each engine is linked
// statically and a binary can have only one, so nothing else may import the old driver, and the test runs
// spendsync as a process.
package oldengine
