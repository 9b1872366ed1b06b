package ledger

import (
	"slices"

	"spendsync/extract/adsim/clock"
)

// Query selects and groups rows of the report. Package report then selects the columns and the page.
type Query struct {
	From, To                                 clock.Day
	Creatives                                bool // include_creatives
	ByDate, ByCampaign, ByCreative, BySource bool
	Campaign, Creative                       string
}

// Result returns the rows of a query. The caller must not modify the rows. If the query groups by date, creative and
// source, the result consists of the filtered rows of the days. For any other query, it consists of sums. Sums and
// filtered rows are cached for the request of the next page.
func (st *State) Result(q Query) []Row {
	finest := q.ByDate && q.ByCreative && q.BySource
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

// scope returns the filter that the query applies to each day.
func (q *Query) scope() Scope { return Scope{q.Campaign, q.Creative, !q.Creatives} }

func (st *State) grouped(q Query, by func(q Query) []Row) []Row {
	return st.Caches.groups.Get(groupKey{q, st.keyFor(q.To)}, func() []Row { return by(q) })
}

// Group adds up the rows of a query, in the report's order.
func (st *State) Group(q Query) (out []Row) {
	at := map[Row]int{} // index in the result, by combination of dimensions (a row without measures)
	for d := q.From; d <= min(q.To, st.Today); d++ {
		for r := range st.Rows(d, q.scope()) {
			group := q.dimensions(r, d)
			i, exists := at[group]
			if !exists {
				i, at[group] = len(out), len(out)
				out = append(out, group)
			}
			out[i].Add(r.Measures)
		}
	}
	slices.SortFunc(out, func(x, y Row) int { return compareRows(&x, &y) })
	// If a creative has rows with sources on a day, drop its row without a source.
	rows := out[:0]
	for i, r := range out {
		if !q.BySource || r.Source != NoSource || i+1 == len(out) || out[i+1].Creative != r.Creative ||
			out[i+1].Day != r.Day {
			rows = append(rows, r)
		}
	}
	return slices.Clip(rows)
}

// dimensions returns a row with the requested dimensions of r, and without measures.
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
