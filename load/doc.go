// Package load owns the store: a folder of Parquet files, a manifest that names
// them, and one DuckDB file made from them.
//
// What it promises:
//
//   - A published file always opens and is whole. Everything is built under
//     staging/, verified, and committed all or none: [Staged.Prepare], [Prepared.Commit].
//   - A set of Parquet files that belong together is what the manifest names: read
//     manifest.json, the account's file, the files that it names, then look again. The set is of one generation if
//     there is no commit.json and the manifest still has the same generation. Who
//     reads the DuckDB file needs no such rule.
//   - After any kill or fault, the next [Open] finishes what was committed and
//     drops what was not. There is no third state.
//   - The DuckDB file is made from the Parquet files and from nothing else, so it
//     can be deleted at any time: a repair ([Contents]) makes it again. It gives
//     them back in turn: a damaged Parquet file is restored from it where the bytes
//     prove equal.
//   - Every byte that is published is covered by a SHA-256: the files' in the
//     manifest, the manifest's and the commit record's in themselves.
//   - History never shrinks, and a day is replaced whole or not at all.
//   - One writer at a time publishes, and only over the generation it has seen.
//
// What it never does: it does not know the service whose data it keeps, it does
// not ask the questions (the views are handed in), it never relies on DuckDB's
// write-ahead log, and it never writes a file in place that somebody reads.
//
// Below it lie manifest (what lies in a data directory, and whether it is as it was
// published), commit (a generation takes its place, all or none), durable (files that
// survive a crash), history (versions over time), parquet (the files of tables) and duck
// (the DuckDB file).
//
// The layout below the data directory:
//
//	warehouse.duckdb     what analysts open, read-only
//	manifest.json        the published generation: the DuckDB file, and one file for each account
//	manifest/            the accounts' files, named by their hash: every file with rows, bytes, SHA-256
//	parquet/             the tables, one file per account and day, or per account
//	raw/                 the replies behind the stored days, and those of the settings, compressed
//	quarantine/          the latest replies of days that could not be proven; no part of a generation
//	ledger/              every run and step, as JSON lines
//	staging/             private; leftovers of a dead run are removed
//	locks/               flock files; a lock dies with its process
//	commit.json          only while a commit is rolled forward
package load
