package job

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// dayRead is one read of a day: all pages of the day, or the pages of its campaigns one by one. It contains the rows
// and everything that the service states about the rows.
type dayRead struct {
	*transform.DayRows
	manifest.ReadOutcome
	began     time.Duration  // when this read began, as the time since the start of the run
	at        schema.Instant // the same moment by the run's clock
	evidence  extract.Evidence
	day       *history.Day // the rows in key order; nil if a key comes twice
	duplicate string       // describes the key that comes twice, if there is one
	sums      history.Sums
	hash      string
	spending  int64  // rows with spend
	noSum     string // why the service gives no control total
	// hasNameless means that rows of this day have no campaign or no creative. Such rows cannot be requested one
	// campaign at a time.
	hasNameless bool
	// isSumOfStored means that the control total equals the sum of the stored rows, and that this read has other rows.
	isSumOfStored bool
}

// newRead returns an empty read of a day. The read began at the given instant.
func (j *Job) newRead(day schema.Date, at schema.Instant, intern *transform.Interner) *dayRead {
	return &dayRead{at: at, DayRows: transform.NewDayRows(transform.SpendContext{Account: j.Account, RunID: j.RunID,
		Day: day, SeenAt: at, Service: j.Service}, intern)}
}

// readPages adds the pages of a read, and stages their replies. The last argument is the number of replies that were
// staged earlier.
func (read *dayRead) readPages(pages iter.Seq2[extract.Page[extract.SpendLine], error], replies *load.Replies,
	before int) error {
	for page, err := range pages {
		if err != nil {
			return err
		}
		added, refused := read.Add(page)
		// The reply of a refused page is staged, too, for the quarantine.
		if err := replies.Put(before+page.Number, page.Raw, int64(added)); err != nil {
			return err
		}
		if refused != nil {
			return fmt.Errorf("%w: %w", refused, extract.ErrContract)
		}
	}
	return nil
}

// seal puts the rows into key order and checks that each key comes once. If a key comes twice, read.day stays nil.
func (read *dayRead) seal() error {
	day, err := history.NewDay(read.Rows)
	if errors.Is(err, schema.ErrRange) {
		return fmt.Errorf("%w: %w", err, extract.ErrContract)
	} else if err != nil {
		read.duplicate = "a key comes twice: " + err.Error()
		return nil
	}
	read.day, read.sums, read.hash, read.spending = day, day.Sums(), day.Hash(), history.Spending(read.Rows)
	read.ReadOutcome.Meaning = manifest.Meaning{Rounded: read.DayRows.Rounded, Refused: read.DayRows.Refused,
		Unread: read.DayRows.Unread, UnreadForms: read.DayRows.UnreadForms, Pieces: read.DayRows.Pieces}
	return nil
}

// release frees the memory of the rows, which are staged by now.
func (read *dayRead) release() {
	read.day = nil
	read.DayRows.Rows = nil
}

// isOver reports whether a day was over when it was read.
func (read *dayRead) isOver(day schema.Date) bool { return !read.at.Time().Before(day.End()) }

// controlDelay is how long after a day's end the control total may still differ from the sum of the rows.
const controlDelay = 6 * time.Hour

// isComparable reports whether the read began late enough that the control total of the day must equal the sum of the
// rows.
func (read *dayRead) isComparable(day schema.Date) bool {
	return !read.at.Time().Before(day.End().Add(controlDelay))
}

// received returns the number of rows received, refused ones included.
func (read *dayRead) received() int64 { return int64(read.Rows.Len()) + read.DayRows.Refused }

// isSilent reports whether the read shows a day without spend, clicks, impressions and conversions. A read with refused
// rows or with a duplicate key is not silent.
func (read *dayRead) isSilent() bool {
	return read.duplicate == "" && read.DayRows.Refused == 0 && !read.sums.HasDelivery()
}

// clicks returns the sum of the rows' clicks. A row without a count adds nothing. The sum is NULL if clicks were not
// requested, or if the clicks of a row could not be read.
func (read *dayRead) clicks() schema.Null[int64] {
	return schema.Null[int64]{V: read.sums.Clicks.V, Valid: !read.NoClicks}
}

// incomplete returns an error that describes the rows that cannot be stored, or nil if all rows can be stored.
func (read *dayRead) incomplete() error {
	if read.DayRows.Refused == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be stored, see ops.refused_row; the others are; the first: %w",
		cli.Count(int(read.DayRows.Refused), "row"), read.First)
}

// campaignsOf returns the campaigns of rows in key order. Rows without a campaign are skipped: they do not show whose
// report it is. If onlySpending is set, rows without spend are skipped, too.
func campaignsOf(rows *schema.SpendRows, onlySpending bool) (ids []string) {
	last := ""
	for _, row := range rows.All() {
		if row.CampaignID != last && (row.Spend != 0 || !onlySpending) {
			last = row.CampaignID
			ids = append(ids, strings.Clone(last))
		}
	}
	return ids
}
