package world

import (
	"fmt"
	"iter"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Truth yields the lines of a day, YYYY-MM-DD, in the report's order and at this instant's state:
// changes of the service during the iteration do not show. It includes days that the report no
// longer reaches, and no future days.
func (s *World) Truth(date string) iter.Seq[ledger.Line] {
	st := s.Snapshot()
	return func(yield func(ledger.Line) bool) {
		d, ok := clock.ParseDay(date)
		if !ok {
			return
		}
		for r := range st.Rows(d, ledger.Scope{}) {
			if !yield(st.Line(d, r)) {
				return
			}
		}
	}
}

// TruthSum adds up the lines of a day.
func (s *World) TruthSum(date string) (ledger.Sum, error) {
	d, ok := clock.ParseDay(date)
	if !ok {
		return ledger.Sum{}, fmt.Errorf("truth: %q is not a day", date)
	}
	st := s.Snapshot()
	return st.Sum(d), nil
}

// CampaignIDs lists the campaigns that there are now, newest first, hidden ones
// among them.
func (s *World) CampaignIDs() []string {
	st := s.Snapshot()
	list := st.Campaigns()
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	return ids
}

// GoodSources lists the websites that bring about four times the conversions of
// others for the same clicks.
func (s *World) GoodSources() []string { return s.Account.Sources.Names(s.Account.Sources.Good) }

// Settings returns the settings of a campaign as the API shows them now, hidden or not.
func (s *World) Settings(campaignID string) (ledger.Settings, error) {
	st := s.Snapshot()
	return st.Settings(campaignID)
}
