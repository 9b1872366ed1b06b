// Package lake keeps Apache Iceberg tables equal to a store: one table for each table that has
// Parquet files, whose data files are the store's own, byte for byte, under names of their own.
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
//   - An object's name is never used twice. What a commit that died has uploaded is named by
//     nothing.
//   - The ids of the columns are ours ([spendsync/schema.Column]): readers map the columns of
//     our files by them. A table whose ids, columns, partition or identity are others is
//     refused: [ErrForeign].
//   - Nothing is taken away that the store merely lacks: a lake that is ahead of the store is
//     [ErrAhead], a day or rows of history that only the lake has are [ErrShrink].
//   - Another engine may compact the tables: the next commit of an account puts its files back.
//
// What it never does: it merges no rows and writes no delete files, it does not read the
// service, and it shows no credential in an error.
//
// Tables are partitioned by account, and by month where their files are cut by day or month of
// the report. Files of one month can be compacted into one; files of different partitions never.
// A commit reads the manifests whose bounds touch what changed, and writes them again sorted by
// month and account, at most 1,000 files each: what changes in one hour lies together, so the cost
// of an hour does not grow with the history. Which partitions changed it learns from hashes in
// lake_generation, by table and month; where somebody else has written since, it reads all that
// its accounts have.
package lake
