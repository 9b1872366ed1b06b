// Package laketest sets up a lake for tests. It has a store, a simulated catalog, an S3 server, and a reader. Tests can
// make the catalog and the server fail. The reader uses only interfaces common to all readers of Iceberg tables.
package laketest
