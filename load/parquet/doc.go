// Package parquet writes records of a table as one Parquet file, and reads such files.
//
// What it promises: the bytes of a file depend only on the rows, so equal content gives an equal file. Values read back
// are exactly the values written. Memory is bounded by a row group in [Write] and a record in [Records]. A file that
// does not have the table's columns, or whose pages are inconsistent, is a [durable.ErrDamaged].
//
// It does not name or place files, and does not sort rows.
package parquet
