// Package remote brings generations of a store to a bucket or a folder, and back.
//
// The objects there, below the prefix of its address:
//
//	current.json          the pointer: the newest generation, and all generations that stay readable
//	warehouse/N-H.duckdb  the DuckDB file of generation N
//	parquet/...           the Parquet files of the newest generation, named as in the store, for readers that glob
//	report/N.html         the report page of generation N; index.html is a copy of the newest page
//	generations/N-H.json  all files of generation N: path, object, size, SHA-256
//	objects/B/H           Parquet files, ledgers and manifests by their SHA-256; B names the replaced pointer
//	restore/B/H           stored replies by their SHA-256, which only a complete store needs
//	pushed.json           the last pointer for which a push has done all its work
//	notices/...           the state of each account's notices, of no generation; a sync in a new folder starts from it
//	.staging/...          in a folder only: objects that are being written; each is renamed when it is complete
//
// What it promises:
//
//   - The pointer is written after everything that it names, and only over the pointer that it is based on: if two
//     pushes run at once, one of them starts again. If the storage has no conditional writes, the push compares the
//     pointer right before it writes, and warns that no other push must run. Besides the pointer, only the files below
//     parquet/ and notices/, index.html and pushed.json are overwritten.
//   - All generations of the last day, and one for each day of the last week, stay readable.
//   - A push that dies leaves the former pointer or the new one. The next push uses the objects that the dead push has
//     left, and finishes its work. The first push of a day removes objects that no readable generation names.
//   - Every file is compared with its SHA-256 when it is pushed and when it is pulled. The files below parquet/ are
//     copies for readers, which no pull reads.
//   - Files that a killed push or pull has left are synced before they are used.
//   - A pull writes only files that the manifest names, and brings a copy for readers back to an older generation only
//     if that generation was selected.
//   - A push replaces a newer generation, or one that the store's history does not contain, only if the loss is
//     accepted. A pull never replaces a store whose generation the bucket does not have. If an earlier push has
//     succeeded and the bucket is empty now, a push fails: the share may not be mounted.
//
// What it never does: a push writes nothing to the store and takes none of its locks, and no secret is part of an
// object or an error.
package remote
