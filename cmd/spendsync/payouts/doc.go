// Package payouts reads the operator's own files: what conversions earn, and the exports of a tracker.
//
// The engine reads them, whatever they are: CSV, JSON, Parquet or the first sheet of a workbook. Three rules decide:
//
//   - A file of payouts is taken complete or not at all. Of an export the smallest wrong thing is set aside: a cell is
//     unknown, a row is left out, a day with two rows of one key is not taken. Each is named and kept.
//   - A number or a day with two readings is never guessed. The other cells of the file decide if they leave one
//     reading; otherwise the file is refused, and the error names the line of SPENDSYNC_TRACKER_FORMAT that decides.
//   - An export of which no campaign or no source is the account's is refused: its rows are another's, or its columns
//     are the tracker's own.
//
// Amounts are exact, rounded half to even to six decimals. Memory is bounded by the engine's limit and one day. The
// package writes nothing outside a temporary folder.
package payouts
