// Package transform turns pages as received into rows of the tables, and rows
// into Arrow records.
//
// It owns the meaning of a value: what a number, a day and an id are, which of
// them may be missing, and what a missing one means. Money and counts are taken
// from the digits that were sent; no float is involved.
//
// It promises that a page becomes rows whole or not at all. A value that does
// not belong where it stands is refused with its table, page, row, column and
// text ([RowError]); nothing is guessed, skipped or set to zero. Texts are kept
// exactly as they are, however odd: what a spreadsheet or a web page would make
// of them is the business of who writes one.
//
// Its functions are pure. It knows no HTTP, no disk and no clock.
package transform
