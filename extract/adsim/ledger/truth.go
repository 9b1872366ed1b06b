package ledger

import (
	"iter"

	"spendsync/extract/adsim/clock"
)

// Line is one row of a day: the numbers of one campaign, creative and source. A correct copy of the report has exactly
// these rows. SourceID is empty for a creative without delivery. Spend is in millionths of a US dollar.
type Line struct {
	Date         string
	CampaignID   string
	CampaignName string
	CreativeID   string
	SourceID     string
	Measures
}

// Sum is the total of the lines of a day.
type Sum struct {
	Rows int64
	Measures
}

// NameOf returns the name of a row's campaign in the report.
func (st *State) NameOf(r *Row) string {
	if st.Follows(r) {
		return Or(st.Changes.Campaign(r.Campaign.ID).Name, r.Campaign.Name)
	}
	return r.Campaign.Name
}

// Line returns a row with the IDs of its dimensions.
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

// SourceOf returns the ID of a row's source, or "" if the row has no source.
func (st *State) SourceOf(r *Row) string {
	if r.Source == NoSource {
		return ""
	}
	return st.Account.Sources.IDs[r.Source]
}

// Sum adds up the measures of all rows of a day.
func (st *State) Sum(d clock.Day) Sum {
	var sum Sum
	for r := range st.Rows(d, Scope{}) {
		sum.Rows++
		sum.Add(r.Measures)
	}
	return sum
}

// Rows yields the rows of a day that pass the filter. The caller must not modify the rows.
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
