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

// dayRead is one read of a day: all pages that were requested once, or the last reading, which goes campaign by
// campaign. It is what the pages gave and what the service states beside it; nothing of it changes once it is weighed.
type dayRead struct {
	*transform.DayRows // nil once it is staged
	manifest.ReadOutcome
	began    time.Duration  // since the run did
	at       schema.Instant // the same as a time
	seen     extract.Evidence
	day      *history.Day // nil: a key comes twice
	twice    string       // the key
	sums     history.Sums
	hash     string
	spending int64  // rows with spend
	noSum    string // why there is no sum of the service's
	// isSumOfStored: the service's sum is that of the stored rows, and these are others.
	isSumOfStored bool
}

// newRead returns a read of a day that begins at an instant.
func (j *Job) newRead(day schema.Date, at schema.Instant, intern *transform.Interner) *dayRead {
	return &dayRead{at: at, DayRows: transform.NewDayRows(transform.SpendContext{Account: j.Account, RunID: j.RunID,
		Day: day, SeenAt: at, Service: j.Service}, intern)}
}

// readPages takes over the pages of a read, and stages their replies after before others.
func (read *dayRead) readPages(pages iter.Seq2[extract.Page[extract.SpendLine], error], replies *load.Replies,
	before int) error {
	for page, err := range pages {
		if err != nil {
			return err
		}
		added, refused := read.Add(page)
		// The reply of a refused page, too: it is kept in quarantine.
		if err := replies.Put(before+page.Number, page.Raw, int64(added), page.Fingerprint); err != nil {
			return err
		}
		if refused != nil {
			return fmt.Errorf("%w: %w", refused, extract.ErrContract)
		}
	}
	return nil
}

// seal makes the day of the rows: in key order, each key once. A key that comes twice leaves it without a day.
func (read *dayRead) seal() error {
	day, err := history.NewDay(read.Rows)
	if errors.Is(err, schema.ErrRange) {
		return fmt.Errorf("%w: %w", err, extract.ErrContract)
	} else if err != nil {
		read.twice = "a key comes twice: " + err.Error()
		return nil
	}
	read.day, read.sums, read.hash, read.spending = day, day.Sums(), day.Hash(), history.Spending(read.Rows)
	read.ReadOutcome.Meaning = manifest.Meaning{Rounded: read.DayRows.Rounded, Refused: read.DayRows.Refused,
		Unread: read.DayRows.Unread, UnreadForms: read.DayRows.UnreadForms, Pieces: read.DayRows.Pieces}
	return nil
}

// drop forgets the rows, which are staged.
func (read *dayRead) drop() {
	read.day = nil
	read.DayRows.Rows = nil
}

// isOver reports whether a day was over when it was read.
func (read *dayRead) isOver(day schema.Date) bool { return !read.at.Time().Before(day.End()) }

// settles is how long after its end the service's own sum of a day is compared with its rows.
const settles = 6 * time.Hour

// isSettled reports whether the service's own sum of the day is to be that of the rows.
func (read *dayRead) isSettled(day schema.Date) bool {
	return !read.at.Time().Before(day.End().Add(settles))
}

// came returns how many rows came, refused ones included.
func (read *dayRead) came() int64 { return int64(read.Rows.Len()) + read.DayRows.Refused }

// clicks returns the sum of the rows' clicks; unknown if those of a row could not be read.
func (read *dayRead) clicks() schema.Null[int64] {
	if read.NoClicks {
		return schema.Null[int64]{}
	}
	return read.sums.Clicks
}

// incomplete returns an error that names the missing parts of a stored day; nil: none is missing.
func (read *dayRead) incomplete() error {
	if read.DayRows.Refused == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be stored, see ops.refused_row; the others are; the first: %w",
		cli.Count(int(read.DayRows.Refused), "row"), read.First)
}

// campaignsOf returns the campaigns of rows in key order. A row without a campaign is not evidence of an account.
func campaignsOf(rows *schema.SpendRows) (ids []string) {
	last := ""
	for _, row := range rows.All() {
		if row.CampaignID != last {
			last = row.CampaignID
			ids = append(ids, strings.Clone(last))
		}
	}
	return ids
}
