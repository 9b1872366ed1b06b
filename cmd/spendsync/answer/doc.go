// Package answer turns a person's question into SQL and what the warehouse answers
// into a table, CSV, JSON, a workbook or Parquet.
//
// A question is one of those that have a name, with checked values for its
// parameters, or SQL. Every digit and NULL of an answer is kept in the formats that
// programs read. What reaches a terminal cannot command it, and what a spreadsheet
// opens does not run. The package opens no database and writes no file.
package answer
