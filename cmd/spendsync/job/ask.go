package job

import (
	"slices"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// askForLess begins with what the report was found to answer. On the first run of a day, everything is asked for
// again.
func (s *session) askForLess() {
	known := s.store.Account().Ask
	if s.triesAll = known != nil && schema.DateOf(known.TriedAt.Time()) < s.plan.Today; known == nil || s.triesAll {
		s.Report.AskLess(extract.Ask{})
		return
	}
	s.Report.AskLess(extract.Ask{Without: known.Without, PageSize: known.PageSize})
}

// asked returns what the next run asks for, by what the report answered to this one.
func (s *session) asked() *manifest.Ask {
	known, now := s.store.Account().Ask, s.Report.Asked()
	if len(now.Without) == 0 && now.PageSize == 0 {
		return nil
	}
	next := &manifest.Ask{Without: now.Without, PageSize: now.PageSize, TriedAt: schema.InstantOf(s.start)}
	if known != nil && !s.triesAll {
		next.TriedAt = known.TriedAt
	}
	return next
}

// sumUpAsked adds to the tally which columns the report does not give. A run that proves no day learns nothing
// about that.
func (r *run) sumUpAsked() {
	known := r.s.store.Account().Ask
	if r.ask = known; r.tally.proven+r.tally.partial > 0 {
		r.ask = r.s.asked()
	}
	t := &r.tally
	t.lacks = slices.Compact(slices.Sorted(slices.Values(append(t.lacks, r.ask.Unknown()...))))
	isIn := func(list []string) func(string) bool {
		return func(column string) bool { return slices.Contains(list, column) }
	}
	t.newlyLacks = slices.DeleteFunc(slices.Clone(t.lacks), isIn(known.Unknown()))
	t.givenAgain = slices.DeleteFunc(known.Unknown(), isIn(t.lacks))
}

// keepMeasures lets the stored rows of a day stand if a read differs from them only by lacking columns that the report
// does not give any more: what is known does not become unknown.
func (r *dayReader) keepMeasures(day schema.Date, read *dayRead) error {
	known := r.s.store.Account().Days[day]
	if len(read.lacks) == 0 || read.day == nil || known == nil || known.Refused > 0 || read.refused > 0 ||
		known.ContentHash == read.hash || known.Sums.Rows != read.sums.Rows || known.Sums.Spend != read.sums.Spend {
		return nil
	}
	none := schema.Null[int64]{}
	nameless := slices.Contains(r.s.Report.Asked().Without, "campaign_name")
	without := &schema.SpendRows{}
	for rows, err := range r.s.store.StoredDay(day) {
		if err != nil {
			return err
		}
		for i := range rows {
			row := rows[i]
			for column, measure := range map[string]*schema.Null[int64]{
				"clicks": &row.Clicks, "impressions": &row.Impressions, "conversions": &row.Conversions,
			} {
				if slices.Contains(read.lacks, column) {
					*measure = none
				}
			}
			if nameless {
				row.CampaignName = ""
			}
			without.Append(&row)
		}
	}
	stored, err := history.NewDay(without)
	if err != nil || stored.Hash() != read.hash {
		return err
	}
	read.day, read.sums, read.hash, read.unread = nil, known.Sums, known.ContentHash, known.Unread
	return r.s.staged.DropRaw(day)
}
