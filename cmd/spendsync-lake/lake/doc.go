// Package lake is for teams whose tables are read through an Apache Iceberg catalog: by Spark, Trino, Snowflake,
// BigQuery, Athena. Readers of DuckDB or of Parquet files need none of it: 'spendsync push' brings those to a bucket.
//
// It keeps Iceberg tables equal to a store: one table for each table that has Parquet files, whose data files are the
// store's own, byte for byte, under names of their own.
//
// [Lake.Follow] is the story: it reads which generation the lake has from lake_generation (marker.go). If the store has
// another, it compares the live files of each table with those that the manifest names, uploads the files that the
// table lacks (upload.go), and replaces files in all tables in one commit (follow.go), by iceberg-go's transactions.
// [Lake.Verify] compares the result with the store.
//
// What it promises:
//
//   - [Lake.Follow] makes each account's part of every table equal to the published
//     generation, in one transaction over all tables and all accounts of the store,
//     with lake_generation as its marker. Running it again does nothing; after a pause it
//     catches up in one commit.
//   - It reads the store and never writes to it, and it keeps no state of its own: the lake
//     itself records its contents. After a crash at any moment, a lost reply, or a commit by
//     somebody else, the lake is in its old state or its new one, and the next run ends in the
//     new one.
//   - An object's name is never used twice. If a commit dies, nothing names its uploads.
//   - The ids of the columns are ours ([spendsync/schema.Column]): readers map the columns of
//     our files by them. A table whose ids, columns or partition differ is refused: [ErrForeign].
//   - Data that the store merely lacks is not deleted: a lake that is ahead of the store is
//     [ErrAhead], a day or rows of history that only the lake has are [ErrShrink].
//   - Another engine may compact the tables: the next commit of an account puts its files back.
//
// What it never does: it changes no rows and writes no delete files, it does not read the
// service, and it shows no credential in an error.
//
// Tables are partitioned by account, and also by month if their files are cut by day or month of
// the report. A commit reads all manifests of the tables; [Lake.Maintain] merges them.
package lake
