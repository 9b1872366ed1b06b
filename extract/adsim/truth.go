package adsim

import (
	"iter"
)

// Line is one row of the finest grain the report has: what a perfect copy of a
// day holds. SourceID is empty for a creative that was not delivered. Spend is in
// millionths of a US dollar.
type Line struct {
	Date         string
	CampaignID   string
	CampaignName string
	CreativeID   string
	SourceID     string
	Measures
}

// Sum is what the lines of a day add up to.
type Sum struct {
	Rows int64
	Measures
}

// Exact tells the spend in US dollars with all six decimals, as DECIMAL(18,6) is
// printed.
func (m Measures) Exact() string { return string(appendFixed(nil, m.Spend)) }

func (st *state) line(d day, r *row) Line {
	l := Line{
		Date:         d.String(),
		CampaignID:   r.campaign.id,
		CampaignName: r.campaign.name,
		CreativeID:   r.creative.id,
		Measures:     r.Measures,
	}
	if st.follows(r) {
		l.CampaignName = or(st.changes.campaign(r.campaign.id).name, r.campaign.name)
	}
	if r.source != noSource {
		l.SourceID = st.account.sources.ids[r.source]
	}
	return l
}

func (st *state) sum(d day) Sum {
	var sum Sum
	for r := range st.rows(d, scope{}) {
		sum.Rows++
		sum.add(r.Measures)
	}
	return sum
}

// rows walks a day's rows; the row is only good until the next one.
func (st *state) rows(d day, sc scope) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		sd := st.spendDay(d, sc)
		var buf []row
		for from := 0; from < sd.total; from += chunk {
			buf = sd.appendRows(buf[:0], from, min(from+chunk, sd.total))
			for i := range buf {
				if !yield(&buf[i]) {
					return
				}
			}
		}
	}
}

// chunk is how many rows are computed at a time where a day is walked.
const chunk = 1024
