// Package load owns the store: a data directory with Parquet files, a manifest that names them, and one
// DuckDB file made from them. FORMAT.md describes the directory for readers without this package.
//
// A run publishes a generation in these steps:
//
//	store, err := load.Open(ctx, dir, account, options) // takes the account's lock, ends a dead run's commit
//	area, err := store.Begin(runID)                     // a folder for the new files of the run
//	replies := store.Replies(area, day)                 // Put keeps each reply as it is read
//	staged, err := replies.Stage(ctx, read, rows)       // the changes of the day, once the day is proven.
//	                                                    // PutHistory stages settings in another StagedChange
//	store.Publish(ctx, load.Publication{area, changes}) // builds the next generation aside, asks the caller for the
//	                                                    // run's record, and publishes everything or nothing
//
// A [StagedChange] is a value. A run publishes only the changes that it passes to Publish.
//
// Publish builds the next generation in four steps:
//
//  1. [manifest.Next] applies the changes to the published manifest, the base.
//  2. New rows of tables that only grow are merged into the files of these tables.
//  3. The DuckDB file of the base is updated to the new manifest.
//  4. The models in the DuckDB file are made, and the marts are copied into Parquet files.
//
// What the package promises:
//
//   - A published file always opens and is complete. Everything is built under staging/, verified, and committed
//     completely or not at all.
//   - The manifest names the set of Parquet files that belong together. To read a consistent set: read manifest.json,
//     the account's file, the Parquet files that this file names, then manifest.json again. The set is of one
//     generation if there is no commit.json and the generation is unchanged. Readers of the DuckDB file need none of
//     this.
//   - After any kill or fault, the next [Open] finishes a started commit, or removes the staged files if no commit had
//     started.
//   - The DuckDB file is made from the Parquet files, the manifest and the ledger, so it can be deleted at any time:
//     the next publication makes it again.
//   - Every published byte is covered by a SHA-256. The manifest has the hashes of all files; the manifest and the
//     commit record each contain their own hash.
//   - History never shrinks, and a day is replaced as a whole or not at all.
//   - One writer at a time publishes, and only over the generation it has seen.
//   - A run of one account reads no files of other accounts, with two exceptions: the first run of a day, which updates
//     the states of all days, and a run that rebuilds the DuckDB file or its models.
//
// What it never does: it does not know the service whose data it stores, it contains no models (they are passed in), it
// never relies on DuckDB's write-ahead log, and it never writes in place to a file with readers.
//
// The packages below: manifest (the content of a data directory, and checks of it), commit (publishes a generation
// completely or not at all), durable (files that survive a crash), history (versions over time), parquet (the files of
// tables), duck (the DuckDB file), quarantine (replies of unproven days), remote (copies in a bucket).
package load
