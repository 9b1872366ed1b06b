// Package page draws the report that `spendsync report` writes: one HTML file that needs no other file. The package
// decides how sections, tables and charts look. It receives finished rows: it contains no SQL, does not open the store,
// and makes no judgements. Every number and every word about the account comes from a cell of these rows.
//
// If a column's name has the form "Heading|format", the reader sees the column; other columns only control the drawing.
// A page has no script and makes no request. Its content security policy allows only its own style sheet, by its hash.
// Names and texts of the account appear as text and never as markup. An unknown value is never shown as zero. The same
// [Page] always gives the same bytes.
package page
