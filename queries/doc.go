// Package queries holds the questions: SQL files, embedded. It knows SQL and the
// names of tables, and none of this module's Go types.
//
//	views/main/   settings as they are now
//	views/mart/   one question each, the files named as the views
//	macros/       questions about an instant or a span: table macros
//	parts/        clauses that several files share: "-- Part: NAME" on a line of its own takes one in
//	asks/         ready questions for `spendsync query`, with parameters
//	thresholds.csv  the numbers that answers depend on: the view mart.threshold
//	columns.csv     the meaning of columns that mean the same everywhere
//
// A file opens with comment lines: the question, then how its answer is misread (the
// trap), then any of
//
//	-- Column NAME: what it means.          (overrides columns.csv)
//	-- Parameters: a, b                     (of a table macro)
//	-- Parameter NAME: DEFAULT, meaning.    (of a ready question; $NAME in its SQL)
//	-- Stored.                              (of a view: its rows are kept, and made again when days that
//	                                         are known whole have changed; it follows from nothing else)
//	-- Stored by day.                       (the same, each day by itself: its rows have the day as report_date
//	                                         and follow from that day's rows of main.spend_daily alone)
//	-- Stored by COLUMN, COLUMN.            (the same, each key of these columns by itself: its rows follow from
//	                                         which days are known whole, and from those of main.spend_daily
//	                                         with the same key alone)
//	-- Of whole days.                       (of a view that is not stored: days that are not known whole have no
//	                                         part in its answer; its mart is written again when others have
//	                                         changed, or the settings that it asks)
//	-- Calls: NAME                          (of a ready question: the one that makes calls of its answer)
//
// Every column of a view has a comment in the warehouse: the file's line, else that
// of columns.csv, else the column's meaning in the tables of the dictionary.
//
// Rules for every view: sums before ratios, NULLIF under every division, the count
// beside every rate; a sum of which any part is NULL is NULL, and so is its ratio (a smaller
// number would pass for the whole), but for campaign_cpa, a benchmark, which is that of the
// rows that are known in both; AS before every alias; no cast of an instant to a date and no
// arithmetic of instants with intervals, for both follow the zone of whoever reads
// (main.calendar has the Chicago bounds; epoch() gives seconds); full names such as
// main.spend_daily, and no macro in a view, for a reader may attach the file under
// another name; thresholds from mart.threshold. A view that depends on the current time calls now().
//
// Its test cases are in testdata/queries: tables in, answer out.
package queries
