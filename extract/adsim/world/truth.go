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

// BadSources lists the websites that cost money and never bring a conversion.
// They are among the bigger ones, so every closed day has them.
func (s *World) BadSources() []string { return s.Account.Sources.Names(s.Account.Sources.Bad) }

// GoodSources lists the websites that bring about four times the conversions of
// others for the same clicks.
func (s *World) GoodSources() []string { return s.Account.Sources.Names(s.Account.Sources.Good) }

// Rates returns a creative's probabilities on a day, YYYY-MM-DD: clicks per impression, and
// conversions per click at a source once all of them have arrived. They are the true rates; the
// report has their outcome.
func (s *World) Rates(date, creativeID, sourceID string) (clicks, conversions float64, err error) {
	st := s.Snapshot()
	d, ok := clock.ParseDay(date)
	cr := s.Account.CreativeOn(d, creativeID)
	source, known := s.Account.Sources.Index(sourceID)
	if !ok || cr == nil || !known {
		return 0, 0, fmt.Errorf("rates: no creative %q at source %q on %q", creativeID, sourceID, date)
	}
	e := ledger.Entry{Creative: cr}
	e.ClickRate, e.ConvertRate = cr.Rates()
	st.Changes.Plant(&e, d)
	worth := float64(s.Account.Sources.Worth[source]) / 256
	return float64(e.ClickRate) / (1 << 16), float64(e.ConvertRate) / (1 << 16) * worth, nil
}

// Settings returns the settings of a campaign as the API shows them now, hidden or not.
func (s *World) Settings(campaignID string) (ledger.Settings, error) {
	st := s.Snapshot()
	return st.Settings(campaignID)
}
