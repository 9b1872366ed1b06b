package job

import (
	"fmt"
	"slices"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// The reasons to doubt a read of a day, compared with its stored rows and with earlier reads.

// suspicious reports whether an answer would remove many of the stored rows: all
// rows, or more than half of the rows or of the spend.
func suspicious(known *manifest.Day, now history.Sums) bool {
	if known == nil || known.Sums.Rows == 0 {
		return false
	}
	was := known.Sums
	return now.Rows*2 < was.Rows || (was.Spend > 0 && now.Spend*2 < was.Spend)
}

// isSuspicious reports whether a read would delete much of the stored day.
func (read *dayRead) isSuspicious(known *manifest.Day) bool {
	now := read.sums
	if known != nil && now.Rows > 0 && read.lacksIDOf(known) {
		now.Rows = known.Sums.Rows
	}
	return suspicious(known, now)
}

// isDamaged reports whether more rows of a read than of the stored day have values that cannot
// be read.
func (read *dayRead) isDamaged(known *manifest.Day) bool {
	was := int64(0)
	if known != nil {
		was = known.Refused + known.Unread
	}
	return read.refused+read.unread > was
}

// doubt returns why a day is read again: the service states another number of rows than came, as it did not for the
// stored day; or the stored rows were more, which a total that leaves out those without spend would not show, and no
// earlier read has the same rows. Of a day that is not stored, a smaller number may be the service's way to count.
func (read *dayRead) doubt(known *manifest.Day, before []*dayRead) string {
	differs := read.counted == schema.RowsDiffer
	switch {
	case known == nil && differs && read.count.V > read.sums.Rows,
		known != nil && differs && known.RowsTotalState != schema.RowsDiffer:
		return "the service counts another number of rows"
	case known != nil && read.sums.Rows+read.refused < known.Sums.Rows &&
		!read.lacksIDOf(known) && !read.isAlike(before):
		return "fewer rows came than are stored"
	}
	return ""
}

// lacksIDOf reports whether a read lacks an ID that the stored rows have: then their numbers cannot be compared.
func (read *dayRead) lacksIDOf(known *manifest.Day) bool {
	return len(idsIn(read.lacks)) > len(known.Without)
}

// isAlike reports whether an earlier read has the same rows.
func (read *dayRead) isAlike(before []*dayRead) bool {
	return slices.ContainsFunc(before, func(other *dayRead) bool { return slices.Contains(other.hashes, read.hash) })
}

// mayReplace decides about a read with refused rows: its intact rows are stored, but never over a day that was proven
// after it was over.
func (read *dayRead) mayReplace(day schema.Date, known *manifest.Day) error {
	switch n := int(read.refused); {
	case n == 0:
		return nil
	case read.sums.Rows == 0:
		return read.first
	case known != nil && known.Refused == 0 && known.WasOver(day):
		return fmt.Errorf("%s cannot be stored, and the day that is proven stands; the first: %w",
			phrase.Count(n, "row"), read.first)
	}
	return nil
}
