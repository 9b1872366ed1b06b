// Package queries contains the SQL of all answers, as embedded files. It depends on the names of tables, but on no Go
// package of this module.
//
//	main/           views of the present state of the stored tables
//	int/            intermediate tables, which may change at any time
//	mart/           tables for people, one model for each question
//	asks/           ready questions of `spendsync query`, with parameters
//	macros/         table macros: questions about an instant or a period
//	functions.sql   scalar macros that are NULL outside their domain: safe_ln, safe_sqrt, safe_pow, ratio
//	examples.sql    further questions with the SQL that answers them; with asks/, the model int.example
//	thresholds.csv  constants that answers depend on; the model int.threshold
//	columns.csv     units of columns, and descriptions of columns that mean the same in every table
//
// A model is a file with its description and a plain SELECT. Each publication of the store makes the models of int and
// mart as tables: see [Query.IsTable]. A model that calls now(), or that reads the run's own bookkeeping in the schema
// ops, is a view instead, and so is every model that reads such a view.
//
// A file begins with comment lines: the question, then how its answer is easily misread (the trap), then any of
//
//	-- Column NAME: what it means.          (overrides columns.csv)
//	-- Parameters: a, b                     (of a table macro)
//	-- Parameter NAME: DEFAULT, meaning.    (of a ready question; $NAME in its SQL)
//	-- Condition over: a, b                 (the parameter above is an SQL condition over these columns; the
//	                                         condition is inserted for $NAME)
//	-- Days: CONDITION                      (of a ready question: the days that it covers, as a condition over
//	                                         s.report_date and main.today AS t; the answer names the missing days and
//	                                         the lost days)
//	-- Shown: a, b                          (the columns that a terminal shows first)
//	-- None: TEXT                           (of a ready question: what it means if the answer has no row; shown
//	                                         instead of the answer)
//	-- Alone: TEXT                          (of a ready question whose first row is a total: what it means if no
//	                                         other row follows)
//
// Every column of main and mart has a comment in the warehouse. The comment is taken from the model's file, else from
// columns.csv, else from the stored table that has the column.
//
// Rules for every model:
//
//   - Add up before dividing; divide with ratio() or by NULLIF(..., 0); show the count next to every rate.
//   - A sum with a NULL part is NULL, and so is its ratio, because a partial sum would be taken for the total. The
//     exception is campaign_cpa: a benchmark, computed from the rows in which both values are known.
//   - Do not judge days whose late conversions can't be estimated (int.day_maturity.conversions_share is NULL), and do
//     not count a NULL share as 1.
//   - Do not cast an instant to a date, or add intervals to instants: the result depends on the session's time zone.
//     main.calendar has the Chicago bounds of days; epoch() returns seconds.
//   - Write AS before every alias, and the schema before every table.
//   - Take thresholds from int.threshold. Write other constants with a name that test cases can set:
//     7::DOUBLE /* impact_days */.
//
// The test cases are in testdata/queries: input tables and the expected answer.
package queries
