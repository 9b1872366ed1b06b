package job

import (
	"context"
	"iter"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// dayPages are the reads of a day.
type dayPages interface {
	// reads returns how many there are at most.
	reads(read *dayRead) int64
	// begin begins the n-th read, and yields its pages.
	begin(ctx context.Context, day schema.Date, n int64, read *dayRead) spendPages
	// compare dates a read, and compares it with the service's own sum of the day.
	compare(ctx context.Context, day schema.Date, read *dayRead) error
}

type spendPages = iter.Seq2[extract.Page[extract.SpendLine], error]

// servedPages are asked for.
type servedPages struct {
	s      *session
	totals *controlTotals
}

// maxReads is how often a day is read before it counts as unproven, and maxUnordered how often if its pages come
// without an order: of ten pages, a read shows two rows of three.
const maxReads, maxUnordered = 3, 12

func (p servedPages) reads(last *dayRead) int64 {
	if last.isUnordered() {
		return maxUnordered
	}
	return maxReads
}

func (p servedPages) begin(ctx context.Context, day schema.Date, n int64, read *dayRead) spendPages {
	read.began = p.s.clock.elapsed()
	read.at = schema.InstantOf(p.s.clock.at(read.began))
	return p.s.Report.Spend(ctx, day, p.s.Plan.PageSize, p.known(day, n), &read.seen)
}

// known returns the stored replies of a day: as long as the service answers with the same bytes, nothing has changed,
// and nothing needs to be decoded. From the second read on no replies count as known, nor do they if the columns
// of the replies show whether the service still rejects some, nor if the last page did not show the end: rows that
// the total does not count may have been added after it.
func (p servedPages) known(day schema.Date, n int64) *extract.Known {
	store := p.s.store
	k := store.Account().Days[day]
	if n > 1 || k == nil || k.Refused > 0 || p.s.triesAll || k.Unread > 0 && len(k.UnreadForms) == 0 ||
		!k.AskedBeyond.Valid || k.AskedBeyond.V {
		return nil
	}
	stored := store.Replies(p.s.area, day)
	return &extract.Known{Fingerprints: stored.Fingerprints(), Body: stored.Page}
}

func (p servedPages) compare(ctx context.Context, day schema.Date, read *dayRead) error {
	if err := p.s.checkClock(p.s.Report); err != nil {
		return err
	}
	read.at = schema.InstantOf(p.s.clock.conservative(p.s.clock.at(read.began)))
	return p.totals.compare(ctx, day, read)
}

// keptPages are the replies of a day that an earlier run kept, and the service's sum of that time.
type keptPages struct {
	quarantine.Day
	store *load.Store
	job   Job
}

func (p keptPages) reads(*dayRead) int64 { return int64(max(len(p.Reads), 1)) }

func (p keptPages) begin(_ context.Context, day schema.Date, n int64, read *dayRead) spendPages {
	q := p.Day
	read.at = q.ReadAt
	if len(q.Reads) > 0 {
		first := 0
		for _, pages := range q.Reads[:n-1] {
			first += pages
		}
		q.Pages = q.Pages[min(first, len(q.Pages)):min(first+q.Reads[n-1], len(q.Pages))]
	}
	return extract.ProveSpend(p.job.Service, day, q.PageSize, p.store.Quarantine().Replies(q), &read.seen)
}

func (p keptPages) compare(_ context.Context, day schema.Date, read *dayRead) error {
	read.likes = p.Alike
	switch {
	case !read.isOver(day):
		read.Control = schema.ControlOpen
	case read.Refused > 0 || !p.ControlTotal.Spend.Valid:
		read.Control = schema.ControlUnknown
	default:
		t := extract.Total{Spend: p.ControlTotal.Spend.V, Clicks: p.ControlTotal.Clicks}
		read.compare(p.store, day, t, exact)
	}
	return nil
}
