// Package schema is the vocabulary of spendsync: the terms that every other package uses, and one definition per table.
//
// It owns the exact kinds of value ([Date], [Money], [Instant], [Null]), the
// row struct of every table, and [Table], which is derived from a row struct once
// and drives everything else: the Arrow schema, the Parquet schema, DuckDB's DDL
// with its comments, and the data dictionary. A table is defined in exactly one
// place.
//
// The words:
//
//   - day: a calendar day in America/Chicago, the zone in which the service
//     counts money. It has 23, 24 or 25 hours and is never a timestamp.
//   - instant: a point in time, UTC, in microseconds.
//   - key: the columns that identify a row of a table. Keys are unique. The proof of each read and the verification of
//     the store check this; there is no index.
//   - coverage: which days are known, and how well. On a covered day a missing
//     row means zero; on any other day it means unknown.
//
// The package promises that a value passes unchanged from a row through Arrow and Parquet to DuckDB, and that field ids
// are never reused. The package knows nothing of HTTP, files or SQL connections.
package schema
