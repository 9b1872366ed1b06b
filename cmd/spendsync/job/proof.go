package job

import (
	"fmt"
	"slices"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// comparison has the data that a read of a day is compared with.
type comparison struct {
	day     schema.Date
	stored  *manifest.Day // nil: none
	waiting string        // hash of the previous run's read, if that read lacked most of the stored rows or spend
	earlier []string      // content hashes of this run's earlier reads
	service *service.Service
}

// checkProof returns an error unless the read is shown to be the complete day: (1) the pages fit each other, and each
// key comes once; (2) the number of rows is the number that the pages state (report.total_rows) or, if they state none,
// the service's own sum or a second read agrees; (3) if there are no rows, the service's own sum is not above 0.
func (read *dayRead) checkProof(with comparison) error {
	if why := read.whyUnproven(with); why != "" {
		return read.unproven(with, why)
	}
	return nil
}

// whyUnproven returns why a read is not shown to be complete, or "" if it is. See checkProof.
func (read *dayRead) whyUnproven(with comparison) string {
	want, text, isCounted := read.counted(with.service)
	isConfirmed := read.Control == schema.ControlMatched || !read.isOver(with.day) && !read.hasNameless
	switch {
	case read.evidence.Against != "":
		return read.evidence.Against
	case read.day == nil:
		return read.duplicate
	case read.received() == 0 && read.Control == schema.ControlDiffers:
		return fmt.Sprintf("the answer is empty, and the service's own sum is %s US dollars", read.ControlTotal.Spend.V)
	case read.received() == 0 && !isConfirmed && !read.hasSameRows(with):
		return "the answer is empty, and neither the service's own sum nor a second read shows that nothing was spent"
	case read.evidence.Full:
		return text + " came, as many as a page may have, and no pagination states whether they are all"
	case !isCounted:
		if isConfirmed || read.hasSameRows(with) {
			return ""
		}
		return text + " came, and neither the service's own sum nor a second read shows that they are all"
	case read.evidence.Total == want:
		return ""
	case len(read.DayRows.Pieces) > 0 && isConfirmed: // each campaign's walk is proven
		read.RowsTotal = schema.Null[int64]{}
		read.RowsTotalState = schema.RowsNone
		return ""
	}
	return fmt.Sprintf("%s came, and total_rows is %d; what it counts is a line report.total_rows of "+
		"SPENDSYNC_SERVICE_FILE", text, read.evidence.Total)
}

// counted returns the number of rows that should equal total_rows, the same number in words, and whether the service
// states a total_rows that can be compared. It also records total_rows for the table of coverage.
func (read *dayRead) counted(s *service.Service) (want int64, text string, isCounted bool) {
	want, isCounted = read.received(), read.evidence.Total >= 0
	text = cli.Count(int(want), "row")
	switch {
	case s.CountsRowsWithSpend():
		want = read.spending + read.DayRows.Refused
		text = cli.Count(int(want), "row") + " with spend"
	case !s.CountsRows():
		isCounted = false
	}
	read.RowsTotal, read.RowsTotalState = schema.Null[int64]{}, schema.RowsNone
	if isCounted {
		read.RowsTotal, read.RowsTotalState = schema.Some(read.evidence.Total), schema.RowsMatched
	}
	return want, text, isCounted
}

// hasSameRows reports whether an earlier read of the day in this run, or the stored day (if none of its rows was
// refused), has exactly the same rows.
func (read *dayRead) hasSameRows(with comparison) bool {
	return slices.Contains(with.earlier, read.hash) ||
		with.stored != nil && with.stored.Refused == 0 && with.stored.ContentHash == read.hash
}

// mayReplace returns an error unless a proven read may replace the stored day. The stored day is kept in three cases.
// (1) The service's own sum is the sum of the stored rows. (2) Rows were refused, and the stored day is finished and
// complete. (3) The read has less than half of the stored rows or spend, unless the service's own sum agrees, or the
// previous run read the same keys and spend. In case 3 the first result is a hash of the read: the next run accepts a
// read with the same hash.
func (read *dayRead) mayReplace(with comparison) (waiting string, err error) {
	stored, refused := with.stored, int(read.DayRows.Refused)
	switch {
	case refused > 0 && read.sums.Rows == 0:
		return "", read.First
	case stored == nil:
		return "", nil
	case read.isSumOfStored:
		return "", read.unproven(with, "the service's own sum is that of the stored rows")
	case refused > 0 && stored.Refused == 0 && stored.WasOver(with.day):
		return "", fmt.Errorf("%s cannot be stored, and the day that is proven stands; the first: %w",
			cli.Count(refused, "row"), read.First)
	}
	less := read.lessThanHalf(stored)
	if less == "" || read.Control == schema.ControlMatched {
		return "", nil
	}
	if waiting = read.day.KeyHash(); waiting == with.waiting {
		return "", nil
	}
	return waiting, read.unproven(with, less+"; they take their place if the next run reads the same")
}

// lessThanHalf compares the rows of a read, and then its spend, with the stored day. It describes the first of them
// that is less than half of the stored number, or returns "" if neither is.
func (read *dayRead) lessThanHalf(stored *manifest.Day) string {
	rows, was := read.sums.Rows+read.DayRows.Refused, stored.Sums
	switch {
	case rows*2 < was.Rows:
		return fmt.Sprintf("%d rows are less than half of the %d rows that are stored", rows, was.Rows)
	case was.Spend > 0 && read.sums.Spend*2 < was.Spend:
		return fmt.Sprintf("%s US dollars are less than half of the %s that are stored", read.sums.Spend, was.Spend)
	}
	return ""
}

// unproven returns the error for a read that does not prove the day, with the reason and with everything that made a
// proof harder, such as refused rows.
func (read *dayRead) unproven(with comparison, why string) error {
	if read.hasNameless {
		why += "; rows without a campaign or creative cannot be requested by themselves"
	}
	if read.noSum != "" {
		why += "; the service gives no sum of its own: " + read.noSum
	}
	if read.First != nil {
		why += fmt.Sprintf("; %s cannot be stored; the first: %v", cli.Count(int(read.DayRows.Refused), "row"),
			read.First)
	}
	return &extract.UnprovenError{What: "spend " + with.day.String(), Reason: why}
}
