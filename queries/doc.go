// Package queries holds the questions: SQL files, embedded. It knows SQL and the
// names of tables, and none of this module's Go types.
//
//	views/main/   current settings
//	views/mart/   one question each, the files named as the views
//	macros/       questions about an instant or a span: table macros
//	parts/        steps that several files share: "-- Part: NAME" on a line of its own includes one
//	asks/         ready questions for `spendsync query`, with parameters
//	examples.sql    questions with SQL that answers them: with the ready ones, the view mart.example
//	thresholds.csv  the numbers that answers depend on: the view mart.threshold
//	columns.csv     the meaning of columns that mean the same everywhere
//
// A file opens with comment lines: the question, then how its answer is misread (the
// trap), then any of
//
//	-- Column NAME: what it means.          (overrides columns.csv)
//	-- Parameters: a, b                     (of a table macro)
//	-- Parameter NAME: DEFAULT, meaning.    (of a ready question; $NAME in its SQL)
//	-- Condition over: a, b                 (the parameter above is a condition over these columns; its text
//	                                         takes the place of $NAME)
//	-- Stored.                              (of a view: its rows are stored, and computed again when
//	                                         completely known days have changed; it depends on nothing else)
//	-- Stored by day.                       (the same, each day by itself: its rows have the day as report_date
//	                                         and depend only on that day's rows of main.spend_daily)
//	-- Stored by COLUMN, COLUMN.            (the same, each key of these columns by itself: its rows depend only
//	                                         on the set of completely known days, and on the rows of
//	                                         main.spend_daily with the same key)
//	-- Of whole days.                       (of a view that is not stored: only completely known days affect its
//	                                         rows; its mart is written again when such days have changed, or
//	                                         the settings that it reads)
//	-- Days: CONDITION                      (of a ready question: its days, over s.report_date and main.today AS t;
//	                                         the answer names those that are missing or lost)
//	-- Hidden.                              (of a ready question: no list has it, its name answers)
//	-- Calls: NAME                          (of a ready question: the one that turns its rows into calls)
//
// Every column of a view has a comment in the warehouse: the line in the view's file, else
// the line in columns.csv, else the column's meaning in the tables of the dictionary.
//
// Rules for every view: sums before ratios, NULLIF under every division, the count next to
// every rate; a sum with any NULL part is NULL, and so is its ratio (a partial sum would pass
// for the total), except for campaign_cpa, a benchmark, which is computed from the rows with
// both values known; AS before every alias; no cast of an instant to a date and no arithmetic
// of instants with intervals, because both depend on the reader's time zone (main.calendar has
// the Chicago bounds; epoch() returns seconds); full names such as main.spend_daily, and no
// macro in a view, because a reader may attach the file under another name; thresholds from
// mart.threshold, other numbers as constants with their name and reason: 7::DOUBLE /* impact_days */,
// so that a case can set them. A view that depends on the current time calls now().
//
// Its test cases are in testdata/queries: tables in, answer out.
package queries
