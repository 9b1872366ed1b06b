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

// comparison is the information with which a read of a day is compared.
type comparison struct {
	day     schema.Date
	stored  *manifest.Day // nil: none
	waiting string        // hash of the previous run's read, if it lost most of the stored day
	earlier []string      // content hashes of this run's earlier reads
	service *service.Service
}

// checkProof returns an error unless the read is proven to be the day: (1) its pages fit each other, and each key comes
// once; (2) as many rows came as the pages state (report.total_rows) or, if they state nothing, the control total or a
// second read agrees; (3) if the read is empty, the control total is not above 0.
func (read *dayRead) checkProof(with comparison) error {
	if why := read.whyUnproven(with); why != "" {
		return read.unproven(with, why)
	}
	return nil
}

// whyUnproven returns why a read is not proven; empty: it is proven.
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

// counted returns how many rows are to be compared with total_rows, by number and in words, and whether the service
// states a usable total_rows. It records the total.
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

// hasSameRows reports whether an earlier read of this run, or the stored day, has the same rows.
func (read *dayRead) hasSameRows(with comparison) bool {
	return slices.Contains(with.earlier, read.hash) ||
		with.stored != nil && with.stored.Refused == 0 && with.stored.ContentHash == read.hash
}

// mayReplace returns an error unless a proven read may replace the stored day. It may not if the control total is the
// sum of the stored rows, or if rows were refused and the stored day is finished and complete. A read with less than
// half of the stored rows or spend may replace the day if the control total agrees, or if the previous run read the
// same keys and spend. The result waiting is the hash with which the next run compares its read.
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
	case !read.losesMost(stored) || read.Control == schema.ControlMatched:
		return "", nil
	}
	if waiting = read.day.KeyHash(); waiting == with.waiting {
		return "", nil
	}
	return waiting, read.unproven(with, fmt.Sprintf("%d rows and %s US dollars are less than half of the %d rows and "+
		"%s that are stored; they take their place if the next run reads the same",
		read.sums.Rows, read.sums.Spend, stored.Sums.Rows, stored.Sums.Spend))
}

// losesMost reports whether a read has less than half of the stored rows or of their spend.
func (read *dayRead) losesMost(stored *manifest.Day) bool {
	rows, was := read.sums.Rows+read.DayRows.Refused, stored.Sums
	return rows*2 < was.Rows || was.Spend > 0 && read.sums.Spend*2 < was.Spend
}

// unproven returns the error for a read that is not proven.
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
