// Package load owns the store: a data directory with Parquet files, a manifest that names them, and one
// DuckDB file made from them. FORMAT.md describes the directory for readers without this package.
//
// A run publishes a generation in these steps:
//
//	store, err := load.Open(ctx, dir, account, options) // takes the account's lock, ends a dead run's commit
//	staged, err := store.Begin(runID)                   // a staging area of the run's own
//	staged.PutDay(ctx, read, rows)                      // once a day is proven; PutHistory and others for settings
//	staged.Publish(ctx, contents, recordOf)             // builds the next generation aside, asks for the run's record
//	                                                    // of what it will show, and publishes all or nothing
//
// Building has four steps, each of which takes values and returns one: the base is the published
// manifest. The run's contribution is a [manifest.Change], for which files that grow are written again.
// [manifest.Next] makes the next manifest from the two. Then the DuckDB file of the base is updated to it,
// and the marts are written from its views.
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
//     ([Contents]) makes it again.
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
