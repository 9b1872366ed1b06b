package world

import (
	"fmt"
	"iter"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// Truth yields the lines of a day, YYYY-MM-DD, in the report's order, as of the call: later changes do not affect the
// iteration. Truth also yields the lines of days that are too old for the report. Future days have no lines.
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

// CampaignIDs lists the existing campaigns, newest first, hidden ones included.
func (s *World) CampaignIDs() []string {
	st := s.Snapshot()
	list := st.Campaigns()
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	return ids
}

// GoodSources lists the websites that have about four times the conversions of others for the same clicks.
func (s *World) GoodSources() []string { return s.Account.Sources.Names(s.Account.Sources.Good) }

// Settings returns the present settings of a campaign, which may be hidden.
func (s *World) Settings(campaignID string) (ledger.Settings, error) {
	st := s.Snapshot()
	return st.Settings(campaignID)
}
