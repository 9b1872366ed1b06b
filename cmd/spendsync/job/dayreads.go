package job

import (
	"cmp"
	"slices"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

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
	if len(before.aside) > len(all.aside) {
		all.aside = before.aside
	}
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
	read.Rounded += became.Rounded
	read.Refused += int64(len(became.Refused))
	read.Unread += int64(len(became.Unread))
	read.UnreadForms = joined(read.UnreadForms, became.UnreadForms)
	read.unknown = append(read.unknown, page.Unknown...)
	for _, column := range page.Lacks {
		isUnknown := column != "date" && column != "campaign_name" // which nothing is unknown without
		if isUnknown && !slices.Contains(read.lacks, column) {
			read.lacks = append(read.lacks, column)
		}
	}
	read.noNames = read.noNames || slices.Contains(page.Lacks, "campaign_name")
	read.noClick = read.noClick || became.UnreadClicks || slices.Contains(page.Lacks, "clicks")
	if len(became.Refused) > 0 && read.first == nil {
		read.first = &became.Refused[0].RowError
	}
	read.putAside(became.Refused, c)
	read.putAside(became.Unread, c)
	return became
}
