package job

import (
	"cmp"

	"spendsync/schema"
)

// doubtURLs marks the URL of the report, or of the advertiser API, as unproven if no data from there is stored. The
// client then gives up sooner on errors that a wrong URL may cause.
func (s *session) doubtURLs() {
	account := s.storedAccount()
	if len(account.Days) == 0 {
		s.Report.Untried()
	}
	if account.Pinned == "" && len(account.Memory) == 0 {
		s.API.Untried()
	}
}

// reachAfter returns how many days back the service answers ([manifest.Account.Reach]), judged by the days for which it
// answered or refused this run's requests. The first argument is that number before this run, or 0 if the service had
// refused no day. Days whose read went past midnight are ignored.
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
