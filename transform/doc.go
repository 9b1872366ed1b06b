// Package transform turns pages and entities as received into rows of the tables.
//
// It owns the meaning of a value: what a number, a day and an ID are, which values may be missing, and what a missing
// value means. Money and counts are parsed from the digits that were sent; no float is involved.
//
// It refuses the smallest part that is wrong. A row of the report is left out if a number or an ID would have to be
// guessed, and is returned with its place, the reason and its JSON ([RefusedRow]). Nothing is skipped silently or set
// to zero. A text never causes a row to be refused, and is stored as received, however odd: whoever writes a
// spreadsheet or a web page must escape it. Only half a surrogate pair and NUL are replaced, and reported ([Decoded]).
//
// [DayRows] collects the rows of one read of a day, for sync, quarantine, replay and verify alike: the pages, the rows
// that can be stored, the rows that cannot, and the values that cannot be read. If a row is of another day, or in
// another currency than the stored one, the entire read is refused. Names of campaigns are labels: they come with the
// report's creatives ([ReportCreatives]), and belong to no key and no content hash.
//
// The functions are pure. The package knows no HTTP, no disk and no clock.
package transform
