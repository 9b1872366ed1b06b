// Package load owns the store: a data directory with Parquet files, a manifest that names them, and one
// DuckDB file made from them. FORMAT.md describes the directory for readers without this package.
//
// A run publishes a generation in these steps:
//
//	store, err := load.Open(ctx, dir, account, options) // takes the account's lock, ends a dead run's commit
//	area, err := store.Begin(runID)                     // a folder for the new files of the run
//	replies := store.Replies(area, day)                 // Put keeps each reply as it is read
//	staged, err := replies.Stage(ctx, read, rows)       // once the day is proven: its part. PutHistory and others
//	                                                    // add settings to a part of their own
//	store.Publish(ctx, load.Publication{area, parts})   // builds the next generation aside, asks for the run's record
//	                                                    // of what it will show, and publishes all or nothing
//
// A [StagedChange] is a value: days, files and confirmations. A run publishes only those that it hands to Publish.
//
// Building has four steps: the base is the published manifest. [manifest.Next] makes the next manifest from it and
// the changes of the parts. Lines of files that grow join those that are stored. Then the DuckDB file of the base is
// updated to the manifest, and the marts are written from its views.
//
// What the package promises:
//
//   - A published file always opens and is complete. Everything is built under staging/, verified, and
//     committed all or nothing.
//   - The manifest names the set of Parquet files that belong together: read manifest.json, the
//     account's file, the files that it names, then manifest.json again. The set is of one generation
//     if there is no commit.json and the generation is the same. Readers of the DuckDB file need none
//     of this.
//   - After any kill or fault, the next [Open] finishes a commit and removes all other files. There is
//     no third state.
//   - The DuckDB file is made from the Parquet files alone, so it can be deleted at any time: a repair
//     ([Publication]) makes it again.
//   - Every published byte is covered by a SHA-256: those of files in the manifest, those of the manifest
//     and the commit record in themselves.
//   - History never shrinks, and a day is replaced as a whole or not at all.
//   - One writer at a time publishes, and only over the generation it has seen.
//   - A run of one account reads no file of another, except for the first run of a day, which brings the
//     states of all days forward, and if the DuckDB file or its views are built again.
//
// What it never does: it does not know the service whose data it keeps, it contains no questions (the
// views are passed in), it never relies on DuckDB's write-ahead log, and it never writes in place to a
// file with readers.
//
// The packages below: manifest (what is in a data directory, and whether it is intact), commit (a
// generation takes its place, all or nothing), durable (files that survive a crash), history (versions
// over time), parquet (the files of tables), duck (the DuckDB file), quarantine (replies of unproven
// days).
package load
