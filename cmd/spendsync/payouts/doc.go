// Package payouts reads the operator's own files: the payouts for conversions, and the exports of a tracker.
//
// A file is a table. Its columns are declared, either by headings that spendsync knows or by SPENDSYNC_TRACKER_COLUMNS.
// The heading of the table is the first line that has the declared columns (heading.sql). Three rules decide:
//
//   - Each cell of a declared column is converted exactly, or sets its row aside (cells.sql). Undeclared columns cost
//     nothing. A number or a day with two readings must have the declared one.
//   - An export is taken if nearly all of it fits (judge.sql, verdict.sql): of its rows of the account's campaigns, and
//     of their revenue, at most 5 % may be set aside or have a source that the account does not know. Otherwise nothing
//     of it is taken, and the likely cause is named. A file of payouts is taken complete or not at all.
//   - The newest word wins (take.sql): of several files the newest one gives a campaign's day.
//
// Amounts are exact, rounded half to even to six decimals. Memory is bounded by the engine's limit and one day. The
// package writes nothing outside a temporary folder.
package payouts
