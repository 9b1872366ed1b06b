package job

import (
	"slices"

	"spendsync/extract"
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
