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

// Result is the rows of a query: those of its days, or rows added up.
type Result struct {
	parts [][]Row
	Total int
}

// Result finds the rows of a query. The finest grain is the rows of each day; any other adds them up.
func (st *State) Result(q Query) *Result {
	res := &Result{}
	if !q.ByDate || !q.ByCreative || !q.BySource || q.Source != "" {
		res.parts = [][]Row{st.grouped(q)}
	} else {
		for d := q.From; d <= min(q.To, st.Today); d++ {
			rows, sc := st.rowsOf(d), q.scope()
			if sc != (Scope{}) {
				rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !sc.holds(&r) })
			}
			res.parts = append(res.parts, rows)
		}
	}
	for _, rows := range res.parts {
		res.Total += len(rows)
	}
	return res
}

// AppendRows appends the rows from..to of the result.
func (res *Result) AppendRows(dst []Row, from, to int) []Row {
	for _, rows := range res.parts {
		if from < len(rows) && to > 0 {
			dst = append(dst, rows[max(0, from):min(to, len(rows))]...)
		}
		from, to = from-len(rows), to-len(rows)
	}
	return dst
}

// scope is what a question asks of each day.
func (q *Query) scope() Scope { return Scope{q.Campaign, q.Creative, !q.Creatives} }

// grouped is the rows of a query added up, in the report's order, kept for the
// next page.
func (st *State) grouped(q Query) []Row {
	return st.Kept.groups.Get(groupKey{q, st.keyFor(q.To)}, func() []Row { return st.Group(q) })
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
	// A creative that was delivered on one of the days does not keep its row without a source from another.
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
