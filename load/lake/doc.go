// Package lake keeps Apache Iceberg tables equal to a store: one table for each table that has
// Parquet files, whose data files are the store's own, byte for byte, under names of their own; but
// the days of closed months are merged.
//
// What it promises:
//
//   - [Lake.Follow] makes each account's part of every table just what the published
//     generation names, in one transaction over all tables and all accounts of the store,
//     with lake_generation as its marker. Running it again does nothing; after a pause it
//     catches up in one commit.
//   - It reads the store and never writes to it, and it keeps nothing of its own: what the
//     lake has stands in the lake. A death at any moment, a lost answer, or a commit of
//     somebody else leaves the lake as it was or as it shall be, and the next run ends there.
//   - The days of a closed month, one that ended 35 days before the generation was published, are one
//     file of the same rows; a restatement of such a day replaces it.
//   - An object's name is never used twice. What a commit that died has uploaded is named by
//     nothing.
//   - The ids of the columns are ours ([spendsync/schema.Column]): readers map the columns of
//     our files by them. A table whose ids, columns, partition or identity are others is
//     refused: [ErrForeign].
//   - Nothing is taken away that the store merely lacks: a lake that is ahead of the store is
//     [ErrAhead], a day or rows of history that only the lake has are [ErrShrink].
//   - For fleets, Follow can leave a description of what it wants in an inbox, and [Lake.Commit]
//     folds those of all stores into one commit: of each store the newest, and only onto what
//     the store knows. It may die anywhere, too.
//   - Another engine may compact the tables: the next commit of an account puts its files back.
//
// What it never does: it changes no rows and writes no delete files, it does not read the
// service, and it shows no credential in an error.
//
// Tables are partitioned by account, and by month where their files are cut by day or month of
// the report. Days of one month can become one file; files of different partitions never.
// A commit reads the manifests whose bounds touch what changed, and writes them again sorted by
// month and account, at most 1,000 files each: what changes in one hour lies together, so the cost
// of an hour does not grow with the history. Which partitions changed it learns from hashes in
// lake_generation, by table and month; where somebody else has written since, it reads all that
// its accounts have.
//
// # What it costs
//
// Measured by BenchmarkLake ("go run ./cmd/bench -lake"), on two busy cores: a store of 200
// accounts whose every account has one changed day of three rows, an hour, with the follower in a
// process of its own. Beyond the 200 uploads an hour takes 20 requests to the catalog and 16 to
// the storage, with 110 days of history and with 1,095 alike; an hour with nothing to do takes 5.
//
//	days of history    files      CPU s    nothing to do    peak MiB
//	110                22,000     0.50     0.09             185
//	1,095              219,000    2.2      0.09             209
//
// The store names its files in one file for each account, whose hash lake_generation keeps: an hour reads the
// files of the accounts that have changed, here all of them.
//
// BenchmarkInbox: the same hour of 200 stores of one account each, whose descriptions one commit folds:
// 0.5 and 1.0 CPU s, 158 and 173 MiB, as it reads each description whole. It sends one request for each description
// and 39 more: 20 to the catalog, 19 to the storage. The pod of a store with one changed day sends 29 for
// itself, uploads included: it looks at every table.
//
// BenchmarkUpkeep and BenchmarkFirst, for the same stores, CPU s and peak MiB:
//
//	days of history    verify        verify --deep    first follow
//	110                0.3   130     4     193        10     228
//	1,095              2.2   117    12    179        146    249
//
// On a first follow the files that it adds are held in memory until the commit, 17,000 of them: a closed month is one.
//
// On paper, for 1,000 accounts in stores of 50 (20 followers), hourly, three years of days: 1.1 million
// files of spend_daily; at about 320 bytes an entry 350 MB in 1,100 manifests, of which an hour of one
// store reads and writes those of the current month, 2 to 4 of 1,000 files (0.3 MB each). 480 commits
// a day on each table, one every three minutes; a table takes about 1.4 commits a second, whoever
// writes, so commits that meet try again at most a few times where the followers start spread over the
// hour. At 0.69 kB a snapshot and 7 days 3,360 snapshots are 2.3 MB of table metadata, read and
// written whole by each commit; catalogs refuse more than some 20 MB (AWS Glue). One store for all 1,000
// accounts would be 24 commits a day. Between the two lie 5 stores of 200 accounts: 120
// commits a day, 0.5 CPU seconds each.
package lake
