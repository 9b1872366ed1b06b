// Package laketest is a lake within a test: a store of files and a manifest, a catalog and an S3 that the test can
// disturb, and a reader that knows no more of them than any other reader of Iceberg.
package laketest
