// Package answer turns a person's question into SQL, and the rows into a table, CSV, JSON, a workbook or Parquet. The
// formats for programs keep every digit and every NULL. Text that is printed on a terminal cannot control the terminal,
// and text in a spreadsheet does not run as a formula. The package opens no database and writes no file.
package answer
