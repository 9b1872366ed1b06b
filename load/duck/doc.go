// Package duck is the only package that uses DuckDB: it builds the file that analysts open, queries the file, and reads
// the rows back.
//
// What it promises:
//
//   - [Build] fills a file only from Parquet files and leaves nothing in a write-ahead log. The file is durable before
//     it is checked.
//   - [Ask] and a [Session] open the published file read-only. A query can reach nothing but the file: no other file,
//     no network, no extension.
//   - A disk error that DuckDB reports is a [durable.ErrStorage]. A file that does not open is a [durable.ErrDamaged].
//   - An engine starts with little memory ([Options.FirstMemory]), and gets the full limit if that does not suffice.
//
// It does not know which files are published, and it never writes to a published file.
package duck
