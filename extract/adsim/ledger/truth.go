package ledger

import (
	"iter"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/money"
)

// Line is one row of the finest grain the report has: what a perfect copy of a
// day holds. SourceID is empty for a creative that was not delivered. Spend is in
// millionths of a US dollar.
type Line struct {
	Date         string `json:"date"`
	CampaignID   string `json:"campaign_id,omitempty"`
	CampaignName string `json:"campaign_name,omitempty"`
	CreativeID   string `json:"creative_id,omitempty"`
	SourceID     string `json:"source_id"`
	Measures
}

// Sum is what the lines of a day add up to.
type Sum struct {
	Rows int64
	Measures
}

// Exact returns the spend in US dollars with all six decimals, as DECIMAL(18,6) is
// printed.
func (m Measures) Exact() string { return string(money.AppendFixed(nil, m.Spend)) }

// NameOf is the name that the report shows of a row's campaign.
func (st *State) NameOf(r *Row) string {
	if st.Follows(r) {
		return Or(st.Changes.Campaign(r.Campaign.ID).Name, r.Campaign.Name)
	}
	return r.Campaign.Name
}

func (st *State) Line(d clock.Day, r *Row) Line {
	return Line{
		Date:         d.String(),
		CampaignID:   r.Campaign.ID,
		CampaignName: st.NameOf(r),
		CreativeID:   r.Creative.ID,
		SourceID:     st.SourceOf(r),
		Measures:     r.Measures,
	}
}

// SourceOf is the ID of a row's source, "" without one.
func (st *State) SourceOf(r *Row) string {
	if r.Source == NoSource {
		return ""
	}
	return st.Account.Sources.IDs[r.Source]
}

func (st *State) Sum(d clock.Day) Sum {
	var sum Sum
	for r := range st.Rows(d, Scope{}) {
		sum.Rows++
		sum.Add(r.Measures)
	}
	return sum
}

// Rows walks the rows of a day; they are not to be changed.
func (st *State) Rows(d clock.Day, sc Scope) iter.Seq[*Row] {
	rows := st.rowsOf(d)
	return func(yield func(*Row) bool) {
		for i := range rows {
			if sc.holds(&rows[i]) && !yield(&rows[i]) {
				return
			}
		}
	}
}
