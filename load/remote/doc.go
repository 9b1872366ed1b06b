// Package remote brings generations of a store to a bucket or a folder, and back.
//
// The objects there, below the prefix of its address:
//
//	current.json          the pointer: the newest generation and those that stay readable
//	warehouse/N-H.duckdb  the DuckDB file of generation N
//	parquet/...           the Parquet files of the newest generation at their store's names, for readers that glob
//	report/N.html         the report page; index.html is that of the newest generation
//	generations/N-H.json  all files of generation N: path, object, size, SHA-256
//	objects/B/H           Parquet files, ledgers and manifests by their SHA-256; B is the previous generation
//	restore/B/H           stored replies, which only a whole store needs
//	pushed.json           how far the last push got after it wrote the pointer
//	.staging/...          of a folder only: objects that are being written; each is renamed when it is whole
//
// What it promises:
//
//   - The pointer is written after everything it names, and only over the pointer it was made from: of
//     two simultaneous pushes one restarts. A storage without conditional writes is compared right before
//     it is written, with a warning: there one push at a time is assumed. Only parquet/, index.html and
//     pushed.json are replaced, too, and only after the pointer.
//   - The generations that the pointer named in the last day, and one for each day of the last week, stay
//     complete.
//   - A push that dies at any moment leaves the former pointer or the new one. The next push finishes its
//     work and uses its objects; what no readable generation names is removed by the first push of a day.
//   - Every file is compared with its SHA-256 on its way there and on its way back. The files below parquet/ are
//     copies for readers, which no pull reads.
//   - What a killed push or pull has left is synced before it is relied on.
//   - Pull writes only what the manifest names, and takes no copy for readers back to an older generation
//     that was not asked for.
//   - An older store never replaces a newer one, and a store that does not continue the history in the
//     bucket replaces nothing, unless the loss is accepted. A push to where an earlier one has ended and nothing is
//     left begins nothing: the share may not be mounted.
//
// What it never does: it writes nothing to the store that it pushes, it holds no lock of it, and no
// secret is part of an object or an error.
package remote
