// Package queries holds the questions: SQL files, embedded. It knows SQL and the
// names of tables, and none of this module's Go types.
//
//	main/         what is now: views over the stored tables
//	int/          working tables, nobody's contract
//	mart/         what people ask, a model each
//	asks/         ready questions for `spendsync query`, with parameters
//	macros/       questions about an instant or a span: table macros
//	functions.sql   functions with one value that are NULL outside their domain: safe_ln, safe_sqrt, safe_pow, ratio
//	examples.sql    questions with SQL that answers them: with the ready ones, the model int.example
//	thresholds.csv  the numbers that answers depend on: the model int.threshold
//	columns.csv     the units of columns, and the meaning of those that mean the same everywhere
//
// A model is a file with its description and a plain SELECT. Models of int and mart are tables, which a publication
// makes: see [Query.IsTable]. One that calls now(), or reads what the publishing run says of its own reading, is a
// view, and so is one that reads such a view.
//
// A file opens with comment lines: the question, then how its answer is misread (the trap), then any of
//
//	-- Column NAME: what it means.          (overrides columns.csv)
//	-- Parameters: a, b                     (of a table macro)
//	-- Parameter NAME: DEFAULT, meaning.    (of a ready question; $NAME in its SQL)
//	-- Condition over: a, b                 (the parameter above is a condition over these columns; its text
//	                                         takes the place of $NAME)
//	-- Days: CONDITION                      (of a ready question: its days, over s.report_date and main.today AS t;
//	                                         the answer names those that are missing or lost)
//	-- Shown: a, b                          (the columns that a terminal shows first)
//
// Every column of main and mart has a comment in the warehouse: the line in the view's file, else
// the line in columns.csv, else the column's meaning in the tables of the dictionary.
//
// Rules for every model: sums before ratios, ratio() or NULLIF under every division, the count next to every rate; a
// sum with any NULL part is NULL, and so is its ratio (a partial sum would pass for the total), except for
// campaign_cpa, a benchmark, which is computed from the rows with both values known; days of which no curve of late
// conversions is known (int.day_maturity.conversions_share is NULL) are judged by nobody, and no NULL share counts as
// 1; AS before every alias; no cast of an instant to a date and no arithmetic of instants with intervals, because both
// depend on the reader's time zone (main.calendar has the Chicago bounds; epoch() returns seconds); full names such as
// main.spend_daily; thresholds from int.threshold, other numbers as constants with their name and reason:
// 7::DOUBLE /* impact_days */, so that a case can set them.
//
// Its test cases are in testdata/queries: tables in, answer out.
package queries
