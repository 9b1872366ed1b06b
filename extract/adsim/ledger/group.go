package ledger

import (
	"slices"

	"spendsync/extract/adsim/clock"
)

// Query selects and groups rows of the report; columns and page are the renderer's.
type Query struct {
	From, To                                 clock.Day
	Creatives                                bool // include_creatives
	ByDate, ByCampaign, ByCreative, BySource bool
	Campaign, Creative, Source               string
}

// Result finds the rows of a query, which are not to be changed. The finest grain is the rows of each day; any other
// adds them up. What is not simply the rows of a day is kept for the next page.
func (st *State) Result(q Query) []Row {
	finest := q.ByDate && q.ByCreative && q.BySource && q.Source == ""
	switch {
	case !finest:
		return st.grouped(q, st.Group)
	case q.From == q.To && q.scope() == Scope{}:
		return st.rowsOf(q.From)
	}
	return st.grouped(q, func(q Query) (out []Row) {
		for d := q.From; d <= min(q.To, st.Today); d++ {
			for r := range st.Rows(d, q.scope()) {
				out = append(out, *r)
			}
		}
		return out
	})
}

// scope is what a question asks of each day.
func (q *Query) scope() Scope { return Scope{q.Campaign, q.Creative, !q.Creatives} }

func (st *State) grouped(q Query, by func(q Query) []Row) []Row {
	return st.Kept.groups.Get(groupKey{q, st.keyFor(q.To)}, func() []Row { return by(q) })
}

// Group adds up the rows of a query, in the report's order.
func (st *State) Group(q Query) (out []Row) {
	source, known := NoSource, true
	if q.Source != "" {
		source, known = st.Account.Sources.Index(q.Source)
	}
	at := map[Row]int{} // by dimensions alone
	for d := q.From; d <= min(q.To, st.Today) && known; d++ {
		for r := range st.Rows(d, q.scope()) {
			if source != NoSource && r.Source != source {
				continue
			}
			group := q.dimensions(r, d)
			i, is := at[group]
			if !is {
				i, at[group] = len(out), len(out)
				out = append(out, group)
			}
			out[i].Add(r.Measures)
		}
	}
	slices.SortFunc(out, func(x, y Row) int { return compareRows(&x, &y) })
	// A creative with rows of sources on a day has no row without a source on that day.
	rows := out[:0]
	for i, r := range out {
		if !q.BySource || r.Source != NoSource || i+1 == len(out) || out[i+1].Creative != r.Creative ||
			out[i+1].Day != r.Day {
			rows = append(rows, r)
		}
	}
	return slices.Clip(rows)
}

// dimensions returns the requested dimensions of a row.
func (q *Query) dimensions(r *Row, d clock.Day) Row {
	g := Row{Source: NoSource}
	if q.ByDate {
		g.Day = d
	}
	if q.ByCampaign {
		g.Campaign = r.Campaign
	}
	if q.ByCreative {
		g.Creative = r.Creative
	}
	if q.BySource {
		g.Source = r.Source
	}
	return g
}
