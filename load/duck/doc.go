// Package duck is the one door to DuckDB: it builds the file that analysts open, answers
// questions from it, and reads its rows back.
//
// What it promises:
//
//   - [Build] fills a file from Parquet files and from nothing else, and leaves nothing in
//     a write-ahead log. The file is durable when it is handed to the check.
//   - [Ask] and a [Session] open the published file read-only. A question reaches the
//     file and nothing else: no other file, no network, no extension.
//   - An error of the disk within DuckDB's own is a [durable.ErrStorage], a file that does
//     not open is a [durable.ErrDamaged].
//   - An engine that has little to load has one thread, as more would wait for each other, and begins
//     with little memory where more may be needed later ([Options.FirstMemory]).
//
// What it never does: it does not know which files are published, and it never writes a
// file that somebody reads.
package duck
