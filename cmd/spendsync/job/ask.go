package job

import (
	"cmp"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// doubtURLs warns the clients that have never stored anything that their URLs may be wrong.
func (s *session) doubtURLs() {
	known := s.known()
	if len(known.Days) == 0 {
		s.Report.Untried()
	}
	if known.Pinned == "" && len(known.Confirmations) == 0 {
		s.API.Untried()
	}
}

// askForLess starts with the request that the report answered before. The first run of a day requests everything
// again.
func (s *session) askForLess() {
	known := s.known().Ask
	if s.triesAll = known != nil && schema.DateOf(known.TriedAt.Time()) < s.plan.Today; known == nil || s.triesAll {
		s.Report.AskLess(extract.Ask{})
		return
	}
	s.Report.AskLess(extract.Ask{Without: known.Without, PageSize: known.PageSize})
}

// asked returns what the next run asks for, by what the report answered to this one. lacks are the columns that its
// replies lacked: those that it did not refuse by name are asked for again.
func (s *session) asked(lacks []string) *manifest.Ask {
	known, now := s.known().Ask, s.Report.Asked()
	next := &manifest.Ask{Without: now.Without, PageSize: now.PageSize, TriedAt: schema.InstantOf(s.start)}
	if known != nil && !s.triesAll {
		// Days as stored show which IDs they lack, and no other column.
		next.TriedAt, lacks = known.TriedAt, joined(lacks, slices.DeleteFunc(slices.Clone(known.Absent), isID))
	}
	next.Absent = slices.DeleteFunc(slices.Clone(lacks), func(column string) bool {
		return slices.Contains(next.Without, column)
	})
	if len(next.Without)+len(next.Absent) == 0 && next.PageSize == 0 {
		return nil
	}
	return next
}

// sumUpAsked adds to the findings which columns the report does not give. A run that proves no day learns nothing
// about that.
func (r *run) sumUpAsked() {
	known := r.s.known().Ask
	if r.ask = known; r.tally.proven+r.tally.partial > 0 {
		r.ask = r.s.asked(r.lacks)
	}
	r.lacks = joined(r.lacks, r.ask.Unknown())
	isIn := func(list []string) func(string) bool {
		return func(column string) bool { return slices.Contains(list, column) }
	}
	newly := slices.DeleteFunc(slices.Clone(r.lacks), isIn(known.Unknown()))
	again := slices.DeleteFunc(known.Unknown(), isIn(r.lacks))
	switch lacks := strings.Join(r.lacks, ", "); {
	case len(newly) > 0:
		ids := ""
		if len(idsIn(r.lacks)) > 0 {
			ids = "; '' stands for the IDs; finished days that have them keep them"
		}
		r.tally.found(differs, nil, "the report gives no %s; stored as unknown (NULL), and asked for again once a "+
			"day%s", lacks, ids)
	case lacks != "":
		r.tally.found(remark, nil, "the report still gives no %s", lacks)
	}
	if len(again) > 0 {
		r.tally.found(remark, nil, "the report gives %s again", strings.Join(again, ", "))
	}
}

// reachAfter returns [manifest.Account.Reach] after a run, by the days that the report answered or refused. A day that
// grew older during its read shows nothing.
func reachAfter(known int, days []*copiedDay) int {
	reach := cmp.Or(known, schema.ReachDays)
	for _, answered := range []bool{false, true} {
		for _, d := range days {
			began, ended := schema.DateOf(d.step.StartedAt.Time()), schema.DateOf(d.step.FinishedAt.Time())
			switch age := int(began - d.Day); {
			case began != ended:
			case answered && d.isStaged:
				reach = max(reach, age)
			case !answered && d.isUnreachable():
				reach = min(reach, age-1)
			}
		}
	}
	if reach >= schema.ReachDays {
		return 0
	}
	return reach
}
