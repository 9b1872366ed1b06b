package job

import (
	"cmp"

	"spendsync/schema"
)

// doubtURLs tells a client that its URL is unproven if no data from its interface is stored.
func (s *session) doubtURLs() {
	account := s.storedAccount()
	if len(account.Days) == 0 {
		s.Report.Untried()
	}
	if account.Pinned == "" && len(account.Memory) == 0 {
		s.API.Untried()
	}
}

// reachAfter returns [manifest.Account.Reach] after a run, by the days that the report answered or refused. A day that
// was read across midnight is ignored.
func reachAfter(stored int, days []*copiedDay) int {
	reach := cmp.Or(stored, schema.ReachDays)
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
