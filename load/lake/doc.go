// Package lake is for teams whose tables are read through an Apache Iceberg catalog: by Spark, Trino, Snowflake,
// BigQuery, Athena. Readers of DuckDB or of Parquet files need none of it: 'spendsync push' brings those to a bucket.
//
// It keeps Iceberg tables equal to a store: one table for each table that has Parquet files, whose data files are the
// store's own, byte for byte, under names of their own; but the days of closed months are merged.
//
// [Lake.Follow] is the story: what the lake has is read from lake_generation (marker.go), the files that the published
// generation wants of it are derived from the store's manifest (wanted.go), those that the lake lacks are uploaded
// (stage.go), and all tables are committed at once (commit.go, send.go). [Lake.Verify] compares the result with the
// store.
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
//   - The days of a closed month, one that ended 35 days before the generation was published, are one
//     file of the same rows; a restatement of such a day replaces it.
//   - An object's name is never used twice. If a commit dies, nothing names its uploads.
//   - The ids of the columns are ours ([spendsync/schema.Column]): readers map the columns of
//     our files by them. A table whose ids, columns, partition or identity differ is
//     refused: [ErrForeign].
//   - Data that the store merely lacks is not deleted: a lake that is ahead of the store is
//     [ErrAhead], a day or rows of history that only the lake has are [ErrShrink].
//   - Where the catalog has views, [SpendView] is one of the tables' rows with the settings of their day, for Spark and
//     Trino. It changes no table, and a catalog that refuses it stops nothing.
//   - Another engine may compact the tables: the next commit of an account puts its files back.
//
// What it never does: it changes no rows and writes no delete files, it does not read the
// service, and it shows no credential in an error.
//
// Tables are partitioned by account, and also by month if their files are cut by day or month of
// the report. Days of one month can become one file; files of different partitions never.
// A commit reads the manifests whose bounds overlap the change, and writes them again sorted by
// month and account, at most 1,000 files each: the changes of one hour are adjacent, so the cost
// of an hour does not grow with the history. It finds the changed partitions by hashes in
// lake_generation, by table and month; if somebody else has written since, it reads all entries
// of its accounts.
//
// # What it costs
//
// Measured by the benchmarks of commit fbd06630 ("go test ./load/lake -run - -bench . -benchtime 3x" there), on two
// busy cores: a store of 200 accounts whose every account has one changed day of three rows, an hour, with the
// follower in a process of its own. Beyond the 200 uploads an hour takes 19 requests to the catalog and 16 to
// the storage, with 110 days of history and with 1,095 alike; an hour with nothing to do takes 2.
//
//	days of history    files      CPU s    nothing to do    peak MiB
//	110                22,000     0.50     0.09             185
//	1,095              219,000    2.2      0.09             209
//
// The store names its files in one file for each account. An hour reads all of them, and decodes what they say of the
// partitions that changed.
//
// The same stores, CPU s and peak MiB:
//
//	days of history    verify        verify --deep    first follow
//	110                0.3   130     4     193        10     228
//	1,095              2.2   117    12    179        146    249
//
// A first follow holds what it has added in memory until the commit: 17,000 files, since a closed month is one.
//
// On paper, for 1,000 accounts in stores of 50 (20 followers), hourly, three years of days: 1.1 million
// files of spend_daily; at about 320 bytes an entry, 350 MB in 1,100 manifests. An hour of one store
// reads and writes only the manifests of the current month, 2 to 4 of 1,000 files (0.3 MB each). That
// is 480 commits a day on each table, one every three minutes. A table accepts about 1.4 commits a
// second in all, so commits that collide retry at most a few times if the followers' starts are spread
// over the hour. At 0.69 kB a snapshot and 7 days, 3,360 snapshots are 2.3 MB of table metadata, read
// and written in full by each commit; catalogs refuse more than some 20 MB (AWS Glue). One store for
// all 1,000 accounts would be 24 commits a day. In between, 5 stores of 200 accounts: 120 commits a
// day, 0.5 CPU seconds each.
package lake
