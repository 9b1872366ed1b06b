// Package transform turns pages as received into rows of the tables, and rows
// into Arrow records.
//
// It owns the meaning of a value: what a number, a day and an id are, which of them may be missing, and the meaning of
// a missing one. Money and counts are taken from the digits that were sent; no float is involved.
//
// It promises to refuse the smallest thing that is wrong. A row of the report in which a number or an id would have to
// be guessed is left out and given back with its place, its reason and its JSON ([RefusedRow]); nothing is skipped in
// silence or set to zero. Texts never stop numbers, and are kept as they are, however odd: escaping them for a
// spreadsheet or a web page is the task of its writer. Only half a character and NUL are changed, and
// named ([Decoded]).
//
// [DayRows] are the rows of one read of a day, made in one place for sync, quarantine, replay and verify: its pages,
// the rows that can be stored, those that cannot, and the values that cannot be read. A row of another day, or in
// another currency, refuses the read. Names of campaigns are labels: they come with the report's creatives
// ([ReportCreatives]), and are part of no key and no content.
//
// Its functions are pure. It knows no HTTP, no disk and no clock.
package transform
