// Package answer turns a person's question into SQL, and the rows into a table, CSV, JSON, a workbook or Parquet. Every
// digit and NULL is kept in the formats that programs read. What reaches a terminal cannot command it, and what a
// spreadsheet opens does not run. The package opens no database and writes no file.
package answer
