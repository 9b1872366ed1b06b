package adsim

import (
	"fmt"
	"iter"
)

// Truth walks the lines of a day, YYYY-MM-DD, in the report's order, as they are
// at this instant: what happens to the service while it is walked does not show.
// It knows days that the report reaches no more, and says nothing of days to come.
func (s *world) Truth(date string) iter.Seq[Line] {
	st := s.snapshot()
	return func(yield func(Line) bool) {
		d, ok := parseDay(date)
		if !ok {
			return
		}
		for r := range st.rows(d, scope{}) {
			if !yield(st.line(d, r)) {
				return
			}
		}
	}
}

// TruthSum adds up the lines of a day.
func (s *world) TruthSum(date string) (Sum, error) {
	d, ok := parseDay(date)
	if !ok {
		return Sum{}, fmt.Errorf("truth: %q is not a day", date)
	}
	st := s.snapshot()
	return st.sum(d), nil
}

// CampaignIDs lists the campaigns that there are now, newest first, hidden ones
// among them.
func (s *world) CampaignIDs() []string {
	st := s.snapshot()
	list := st.campaigns()
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.id
	}
	return ids
}

// BadSources lists the websites that cost money and never bring a conversion.
// They are among the bigger ones, so every closed day has them.
func (s *world) BadSources() []string { return s.account.sources.names(s.account.sources.bad) }

// GoodSources lists the websites that bring about four times the conversions of
// others for the same clicks.
func (s *world) GoodSources() []string { return s.account.sources.names(s.account.sources.good) }

// Rates are what a creative brings by chance on a day, YYYY-MM-DD: clicks an impression,
// and conversions a click at a source once all of them have arrived. It says what is true
// of them, where the report says what came of it.
func (s *world) Rates(date, creativeID, sourceID string) (clicks, conversions float64, err error) {
	st := s.snapshot()
	d, ok := parseDay(date)
	cr := s.account.creativeOn(d, creativeID)
	source, known := s.account.sources.index(sourceID)
	if !ok || cr == nil || !known {
		return 0, 0, fmt.Errorf("rates: no creative %q at source %q on %q", creativeID, sourceID, date)
	}
	e := entry{creative: cr}
	e.clickRate, e.convertRate = cr.rates()
	st.changes.plant(&e, d)
	worth := float64(s.account.sources.worth[source]) / 256
	return float64(e.clickRate) / (1 << 16), float64(e.convertRate) / (1 << 16) * worth, nil
}

// Settings returns the settings of a campaign as the API shows them now, hidden or not.
func (s *world) Settings(campaignID string) (Settings, error) {
	st := s.snapshot()
	return st.settings(campaignID)
}
