// Package lake is for teams that read tables through an Apache Iceberg catalog: with Spark, Trino, Snowflake, BigQuery
// or Athena. Teams that read DuckDB or Parquet files do not need a lake: for them, 'spendsync push' copies the store to
// a bucket.
//
// The lake has one Iceberg table for each table of the store that has Parquet files. The data files are byte-for-byte
// copies of the store's files, under other names.
//
// [Lake.Follow] is the place to start reading. Follow reads the lake's generation from the table lake_generation
// (marker.go). If the store has a newer generation, Follow compares the live files of each table with the files in the
// store's manifest, uploads the missing files (upload.go), and replaces files in all tables in one commit (follow.go).
// [Lake.Verify] compares the result with the store.
//
// What it promises:
//
//   - [Lake.Follow] makes each account's part of every table equal to the published generation, in one transaction over
//     all tables and all accounts of the store. The transaction also updates lake_generation. Running Follow again does
//     nothing; after a pause, Follow catches up in one commit.
//   - Follow reads the store and never writes to the store. Follow keeps no state elsewhere: the lake itself records
//     its contents. After a crash at any moment, a lost reply, or a commit by another program, the lake is in the old
//     state or in the new state, and the next run ends in the new state.
//   - An object's name is never used twice. If a run dies before its commit, no table refers to the objects that it has
//     uploaded.
//   - Columns have the ids of [spendsync/schema.Column], because readers find the columns in our files by id. A table
//     whose ids, columns or partition differ is refused: [ErrForeign].
//   - Data is not deleted merely because the store lacks it. If the lake is ahead of the store, Follow returns
//     [ErrAhead]; if only the lake has a day, or rows of history, Follow returns [ErrShrink].
//   - Another engine may compact the tables. The next commit replaces the compacted files by copies of the store's
//     files.
//
// The package never changes rows, writes delete files, sends requests to the advertising service, or includes a
// credential in an error.
//
// Tables are partitioned by account, and also by month if the store has one file of the table per day or per month. A
// commit reads all Iceberg manifests of the tables; [Lake.Maintain] merges the manifests.
package lake
