// Package history keeps past values: the versions of settings, and the restatements of days. Its functions take values
// and return values.
//
// [Advance] merges the observation of one run into the versions of a table. A changed setting gets one new version. An
// unreadable field is not a change, and a missing entity is not deleted before several complete listings lacked it.
// [Check] verifies that versions hold together.
//
// [NewDay] seals the rows of a day: sorted, every key once, with their sums and their
// hash. [Day.Merge] compares a day that was read with the stored day. Each
// difference in a day that was over is a restatement, a line of spend_change.
//
// What it never does: it reads no file and no clock, and it does not write to what it is
// given, but for the rows of a day as read, whose stamps [Day.Merge] sets.
package history
