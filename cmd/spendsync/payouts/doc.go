// Package payouts reads the operator's own files: the payouts for conversions, and the exports of a tracker.
//
// A file is a table. Go unpacks it and writes its records, as texts, to a temporary file (table.go, file.go). SQL
// decides all that concerns their meaning. The package knows the columns of the table by common headings, or
// SPENDSYNC_TRACKER_COLUMNS declares them. The heading is the first line that has the needed columns (heading.sql).
// Three rules decide what is used:
//
//   - Each record below the heading must be complete (records.sql), and each cell of a needed column is converted
//     exactly (cells.sql). If that fails, the row is set aside. Other columns are ignored. If a number or a day can be
//     read in two ways, SPENDSYNC_TRACKER_COLUMNS must declare which one is meant.
//   - An export is used if nearly all of its rows fit (judge.sql, verdict.sql). Consider the rows of the
//     account's campaigns: at most 5 % of these rows, and of their revenue, may be set aside or have a source that the
//     account does not know. Otherwise nothing of the export is used, and the message names the likely cause. A file
//     of payouts is used completely or not at all.
//   - The newest file wins (take.sql): if several files have a campaign's day, only the newest file counts for it.
//
// Amounts are exact, rounded half to even to six decimals. Memory is bounded by DuckDB's limit and one day. The package
// writes nothing outside a temporary folder.
package payouts
