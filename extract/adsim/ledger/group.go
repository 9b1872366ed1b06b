package ledger

import (
	"iter"
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
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
	return st.Kept.groups.Get(st.GroupKey(q), func() []Row { return st.Group(q) })
}

// Group adds up the rows of a query.
func (st *State) Group(q Query) []Row {
	source, known := NoSource, true
	if q.Source != "" {
		source, known = st.Account.Sources.Index(q.Source)
	}
	var out []Row
	for d := q.From; d <= min(q.To, st.Today) && known; d++ {
		switch {
		case q.BySource && !q.ByCreative:
			out = st.groupBySource(out, q, d, source)
		case q.BySource || q.Source != "":
			out = groupDay(out, q, d, st.Rows(d, q.scope()), source)
		default:
			out = groupDay(out, q, d, st.creativesOf(d, q.scope()), NoSource)
		}
	}
	if !q.ByDate && q.From != q.To {
		slices.SortStableFunc(out, func(x, y Row) int { return compareRows(&x, &y) })
		out = foldRows(out, q)
	}
	return slices.Clip(out)
}

// creativesOf walks a day added up by creative. All queries without sources start from it, so that
// they walk the day's rows only once between them. A delivered creative has an arbitrary source
// here, the others none.
func (st *State) creativesOf(d clock.Day, sc Scope) iter.Seq[*Row] {
	rows := st.Kept.creatives.Get(st.dayKey(d, Scope{}), func() []Row {
		var out []Row
		for r := range st.Rows(d, Scope{}) {
			if n := len(out); n > 0 && out[n-1].Creative == r.Creative {
				out[n-1].Add(r.Measures)
				out[n-1].Source = max(out[n-1].Source, r.Source)
			} else {
				out = append(out, *r)
			}
		}
		return slices.Clip(out)
	})
	return func(yield func(*Row) bool) {
		for i := range rows {
			r := &rows[i]
			if sc.Delivered && r.Source == NoSource || !sc.holds(r.Creative) {
				continue
			}
			if !yield(r) {
				return
			}
		}
	}
}

// groupDay appends a day's rows, added up by the dimensions asked for. Rows of
// one group come one after the other. A source narrows the rows to its own.
func groupDay(out []Row, q Query, d clock.Day, rows iter.Seq[*Row], source int32) []Row {
	first := len(out)
	for r := range rows {
		if source != NoSource && r.Source != source {
			continue
		}
		g := q.dimensions(r, d)
		if n := len(out); n > first && sameGroup(&out[n-1], &g) {
			out[n-1].Add(g.Measures)
		} else {
			out = append(out, g)
		}
	}
	return out
}

// dimensions returns a row with only the requested dimensions.
func (q *Query) dimensions(r *Row, d clock.Day) Row {
	g := Row{Source: NoSource, Measures: r.Measures}
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

// groupBySource is groupDay for sources without creatives: a source comes up once
// for every creative, so the rows of one campaign (or of all) go by before its
// sources are known.
func (st *State) groupBySource(out []Row, q Query, d clock.Day, source int32) []Row {
	at := make([]int, len(st.Account.Sources.IDs)) // place in out, from 1
	var campaign *market.Campaign
	section := len(out)
	for r := range st.Rows(d, q.scope()) {
		if source != NoSource && r.Source != source {
			continue
		}
		g := q.dimensions(r, d)
		if g.Campaign != campaign {
			sortSection(out[section:])
			campaign, section = g.Campaign, len(out)
			clear(at)
		}
		if i := at[g.Source]; i > 0 {
			out[i-1].Add(g.Measures)
		} else {
			out = append(out, g)
			at[g.Source] = len(out)
		}
	}
	sortSection(out[section:])
	return out
}

func sortSection(rows []Row) {
	slices.SortFunc(rows, func(x, y Row) int { return int(x.Source - y.Source) })
}

func sameGroup(x, y *Row) bool {
	return x.Campaign == y.Campaign && x.Creative == y.Creative && x.Source == y.Source
}

// foldRows adds up neighbours of one group. A creative that was delivered on one
// of the days does not keep its row without a source from another.
func foldRows(rows []Row, q Query) []Row {
	out := rows[:0]
	for _, r := range rows {
		n := len(out)
		switch {
		case n > 0 && sameGroup(&out[n-1], &r):
			out[n-1].Add(r.Measures)
		case n > 0 && q.BySource && out[n-1].Source == NoSource && r.Creative != nil && out[n-1].Creative == r.Creative:
			out[n-1] = r
		default:
			out = append(out, r)
		}
	}
	return out
}
