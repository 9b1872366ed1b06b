// Package laketest sets up a lake for tests: a store, a simulated catalog and S3 server that tests can make fail, and a
// reader that uses only the interfaces that every reader of Iceberg tables has.
package laketest
