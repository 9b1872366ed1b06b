// Package history computes the past values that the store keeps: the versions of settings, and the restatements of
// days. Its functions take values and return values.
//
// [Advance] merges the observation of one run into the versions of a table. A changed setting gets one new version. An
// unreadable field is not a change, and a missing entity counts as deleted only after several complete listings without
// it. [Check] verifies that versions are consistent.
//
// [NewDay] seals the rows of a day: sorted, with unique keys, their sums and their hash. [Day.Merge] compares these
// rows with the stored rows of the day. A row that is new, gone, or has other numbers after its day was over is a
// restatement, a line of spend_change.
//
// What it never does: it reads no file and no clock, and it modifies no argument, except that [Day.Merge] sets the
// stamps of the rows as read.
package history
