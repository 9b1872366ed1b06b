package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// dayRead is one read of a day, or several together.
type dayRead struct {
	manifest.Facts
	reads         []int          // the pages of each
	began         time.Duration  // since the run did
	at            schema.Instant // the same as a time
	rows          *schema.SpendRows
	seen          extract.Evidence
	day           *history.Day // nil where the replies are those that are stored
	sums          history.Sums
	hash          string
	count         int64  // of its rows, as the service counts them
	noSum         string // why there is no sum of the service's
	likes         int    // other reads with the same rows
	isSumOfStored bool   // the service's sum is that of the stored rows, and these are others
	pages         int
	filled        int // pages with rows
	bytes         int64
	unknown       []extract.UnknownKey
	first         error               // why the first of the rows is refused that cannot be stored
	noClick       bool                // clicks are, or may be, among the measures that cannot be read
	lacks         []string            // columns that the report does not give, or not on all pages
	aside         []schema.RefusedRow // rows that are refused or unread in part, with their JSON
}

// isOver reports whether a day was over when it was read.
func (read *dayRead) isOver(day schema.Date) bool { return !read.at.Time().Before(day.End()) }

// isEmpty reports whether no row came.
func (read *dayRead) isEmpty() bool {
	return read.rows != nil && int64(read.rows.Len())+read.Refused == 0
}

// staged returns how many pages of a read are in the staging area; those that are stored are not.
func (read *dayRead) staged() int {
	if read == nil || read.rows == nil {
		return 0
	}
	return read.pages
}

// mayReplace decides about a read with refused rows: its intact rows are stored, but never over a day that was proven
// after it was over.
func (read *dayRead) mayReplace(day schema.Date, known *manifest.Day) error {
	switch n := int(read.Refused); {
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

// joined returns the texts of both lists, sorted, each once.
func joined(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// longestRaw is how many bytes of a refused row are kept with its reason, and mostAside how many rows of a day; the
// day's replies have them all.
const longestRaw, mostAside = 2000, 1000

// putAside keeps rows of a page that cannot be stored unchanged.
func (read *dayRead) putAside(rows []transform.RefusedRow, c transform.SpendContext) {
	for i := range rows[:min(len(rows), mostAside-len(read.aside))] {
		row := &rows[i]
		read.aside = append(read.aside, schema.RefusedRow{
			AccountID: c.Account, Stream: "spend_report", ReportDate: c.Day,
			Page: int64(row.Page), RowNumber: int64(row.Row), Reason: row.Err.Error(), Field: row.Column,
			Raw: row.JSON[:min(len(row.JSON), longestRaw)], SeenAt: c.SeenAt, RunID: c.RunID,
		})
	}
}

// clicks returns the sum of the rows' clicks; unknown if those of a row could not be read.
func (read *dayRead) clicks() schema.Null[int64] {
	if read.noClick {
		return schema.Null[int64]{}
	}
	return read.sums.Clicks
}

// incomplete returns an error that names the missing parts of a stored day; nil: none is missing.
func (read *dayRead) incomplete() error {
	if read.Refused == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be stored, see ops.refused_row; the others are; the first: %w",
		phrase.Count(int(read.Refused), "row"), read.first)
}

// with returns the rows of a read and of those before it as one read, whose evidence is that of the last one: pages
// without an order bring some rows twice and others in the next read. Of rows of one key the last stands; rows that are
// added up are those of one read.
func (read *dayRead) with(before *dayRead) *dayRead {
	if read == nil {
		return before
	}
	if before == nil || before.rows == nil || read.rows == nil || read.addsUp() {
		return read
	}
	all := *read
	all.Combined, all.rows = history.Newest, &schema.SpendRows{}
	for _, one := range []*dayRead{before, read} {
		for _, row := range one.rows.All() {
			all.rows.Append(row)
		}
	}
	rows, err := history.Combine(all.rows, history.Newest)
	if err != nil || int64(rows.Len()) == read.sums.Rows && len(before.reads) == 1 {
		return read
	}
	all.rows, all.reads = rows, slices.Concat(before.reads, read.reads)
	all.pages, all.bytes = before.pages+read.pages, before.bytes+read.bytes
	all.Refused, all.Unread = max(before.Refused, read.Refused), max(before.Unread, read.Unread)
	all.first = cmp.Or(before.first, read.first)
	all.noClick = before.noClick || read.noClick
	all.UnreadForms = joined(before.UnreadForms, read.UnreadForms)
	return &all
}

// parts returns the pages of each of several reads.
func (read *dayRead) parts() []int {
	if len(read.reads) == 1 {
		return nil
	}
	return read.reads
}

// isUnordered reports whether rows came twice on pages whose stated total stayed the same: others did not come, and
// each further read brings some of them.
func (read *dayRead) isUnordered() bool {
	return read != nil && read.rows != nil && read.seen.Repeats != "" && read.seen.Moved == "" && read.pages > 1 &&
		read.seen.Total > read.seen.Distinct && !read.addsUp()
}

// addsUp reports whether rows of one key are parts of one row.
func (read *dayRead) addsUp() bool {
	return read.Combined == history.Added || read.Combined == history.Named
}

// combination returns how the rows of one key are one row. Those that lack an ID that told them apart, or that have
// different names, are parts of it, and so are different rows that the service counts one by one; others are the same
// row, as it came last.
func (read *dayRead) combination() history.Combination {
	repeats, alike := history.Repeats(read.rows)
	switch {
	case !repeats:
		return history.Apart
	case len(idsIn(read.lacks)) > 0:
		return history.Added
	case history.Renamed(read.rows):
		return history.Named
	case !alike && read.seen.Total == int64(read.rows.Len())+read.Refused:
		return history.Added
	}
	return history.Newest
}

// add adds the rows of a page.
func (read *dayRead) add(
	page extract.Page[extract.SpendLine], c transform.SpendContext, intern *transform.Interner,
) transform.SpendPage {
	became := transform.AppendSpend(read.rows, page, c, intern)
	read.pages++
	if len(page.Items) > 0 {
		read.filled++
	}
	read.Rounded += became.Rounded
	read.Refused += int64(len(became.Refused))
	read.Unread += int64(len(became.Unread))
	read.UnreadForms = joined(read.UnreadForms, became.UnreadForms)
	read.unknown = append(read.unknown, page.Unknown...)
	for _, column := range page.Lacks {
		if column != "date" && !slices.Contains(read.lacks, column) { // each row is of the day
			read.lacks = append(read.lacks, column)
		}
	}
	read.noClick = read.noClick || became.UnreadClicks || slices.Contains(page.Lacks, "clicks")
	if len(became.Refused) > 0 && read.first == nil {
		read.first = &became.Refused[0].RowError
	}
	read.putAside(became.Refused, c)
	read.putAside(became.Unread, c)
	return became
}

func isID(column string) bool { return len(idsIn([]string{column})) > 0 }

// idsIn returns the IDs among columns that a report may lack.
func idsIn(lacks []string) (ids []string) {
	for _, column := range []string{"creative_id", "source_id"} {
		if slices.Contains(lacks, column) {
			ids = append(ids, column)
		}
	}
	return ids
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

// spendersOf returns the campaigns and creatives that have spend, of rows in key order.
func spendersOf(rows *schema.SpendRows) (ids []string) {
	campaign, creative := "", ""
	for _, row := range rows.All() {
		if row.Spend > 0 && row.CampaignID != campaign {
			campaign = strings.Clone(row.CampaignID)
			ids = append(ids, campaign)
		}
		if row.Spend > 0 && row.CreativeID != creative {
			creative = strings.Clone(row.CreativeID)
			ids = append(ids, creative)
		}
	}
	return ids
}
