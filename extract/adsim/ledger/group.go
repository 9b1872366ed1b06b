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

// Result is the rows of a query: days laid out, or rows added up.
type Result struct {
	days   []*Day
	starts []int
	rows   []Row
	Total  int
}

// Result finds the rows of a query. The finest grain only locates the rows of each day; any other
// grain adds them up.
func (st *State) Result(q Query) *Result {
	if q.ByDate && q.ByCreative && q.BySource && q.Source == "" {
		res := &Result{}
		for d := q.From; d <= min(q.To, st.Today); d++ {
			sc := q.scope()
			sd := st.Kept.days.Get(st.dayKey(d, sc), func() *Day { return st.spendDay(d, sc) })
			res.days = append(res.days, sd)
			res.starts = append(res.starts, res.Total)
			res.Total += sd.total
		}
		return res
	}
	rows := st.grouped(q)
	return &Result{rows: rows, Total: len(rows)}
}

// AppendRows appends the rows from..to of the result.
func (res *Result) AppendRows(dst []Row, from, to int) []Row {
	from, to = min(max(from, 0), res.Total), min(max(to, 0), res.Total)
	if res.days == nil {
		return append(dst, res.rows[from:to]...)
	}
	for i, sd := range res.days {
		lo, hi := max(from-res.starts[i], 0), min(to-res.starts[i], sd.total)
		if lo < hi {
			dst = sd.appendRows(dst, lo, hi)
		}
	}
	return dst
}

// scope is what a question asks of each day.
func (q *Query) scope() Scope { return Scope{q.Campaign, q.Creative, !q.Creatives} }

// grouped is the rows of a query added up, in the report's order, kept for the
// next page.
func (st *State) grouped(q Query) []Row {
	return st.Kept.groups.Get(st.groupKey(q), func() []Row { return st.Group(q) })
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
