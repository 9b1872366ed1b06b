// Package parquet writes records of a table as one Parquet file, and reads it back.
//
// What it promises: the bytes of a file depend on the rows alone, so equal content gives an
// equal file; values read back equal the values written, to the digit and the microsecond; and
// neither direction holds more in memory than a row group of [Write] or a record of [Records].
// A file that does not have the table's columns, or whose pages do not add up, is a
// [durable.ErrDamaged].
//
// It does not name or place files, and does not sort rows.
package parquet
