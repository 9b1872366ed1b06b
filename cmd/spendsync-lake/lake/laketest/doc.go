// Package laketest sets up a lake for tests. It has a store, a simulated catalog and an S3 server, both of which tests
// can make fail, and a reader that uses only the interfaces that every reader of Iceberg tables has.
package laketest
