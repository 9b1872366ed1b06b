package adsim

import (
	"iter"
	"slices"
)

// question is what the rows of an answer depend on, without columns and page.
type question struct {
	from, to                                 day
	creatives                                bool // include_creatives
	byDate, byCampaign, byCreative, bySource bool
	campaign, creative, source               string
}

// answer is the rows of a question: days laid out, or rows added up.
type answer struct {
	days   []*spendDay
	starts []int
	rows   []row
	total  int
}

// answer finds the rows of a question. In the finest grain it only lays the days out;
// else it adds up.
func (st *state) answer(q question) *answer {
	if q.byDate && q.byCreative && q.bySource && q.source == "" {
		an := &answer{}
		for d := q.from; d <= min(q.to, st.today); d++ {
			sc := q.scope()
			sd := st.kept.days.get(st.dayKey(d, sc), func() *spendDay { return st.spendDay(d, sc) })
			an.days = append(an.days, sd)
			an.starts = append(an.starts, an.total)
			an.total += sd.total
		}
		return an
	}
	rows := st.grouped(q)
	return &answer{rows: rows, total: len(rows)}
}

// appendRows appends the rows from..to of the answer.
func (an *answer) appendRows(dst []row, from, to int) []row {
	from, to = min(max(from, 0), an.total), min(max(to, 0), an.total)
	if an.days == nil {
		return append(dst, an.rows[from:to]...)
	}
	for i, sd := range an.days {
		lo, hi := max(from-an.starts[i], 0), min(to-an.starts[i], sd.total)
		if lo < hi {
			dst = sd.appendRows(dst, lo, hi)
		}
	}
	return dst
}

// scope is what a question asks of each day.
func (q *question) scope() scope { return scope{q.campaign, q.creative, !q.creatives} }

// grouped is the rows of a question added up, in the report's order, kept for the
// next page.
func (st *state) grouped(q question) []row {
	return st.kept.groups.get(st.groupKey(q), func() []row { return st.group(q) })
}

// group adds up the rows of a question.
func (st *state) group(q question) []row {
	source, known := noSource, true
	if q.source != "" {
		source, known = st.account.sources.index(q.source)
	}
	var out []row
	for d := q.from; d <= min(q.to, st.today) && known; d++ {
		switch {
		case q.bySource && !q.byCreative:
			out = st.groupBySource(out, q, d, source)
		case q.bySource || q.source != "":
			out = groupDay(out, q, d, st.rows(d, q.scope()), source)
		default:
			out = groupDay(out, q, d, st.creativesOf(d, q.scope()), noSource)
		}
	}
	if !q.byDate && q.from != q.to {
		slices.SortStableFunc(out, func(x, y row) int { return compareRows(&x, &y) })
		out = foldRows(out, q)
	}
	return slices.Clip(out)
}

// creativesOf walks a day added up by creative. All questions without sources
// begin with it, so that they walk the day's rows only once between them. A
// creative that was delivered has any source here, the others none.
func (st *state) creativesOf(d day, sc scope) iter.Seq[*row] {
	rows := st.kept.creatives.get(st.dayKey(d, scope{}), func() []row {
		var out []row
		for r := range st.rows(d, scope{}) {
			if n := len(out); n > 0 && out[n-1].creative == r.creative {
				out[n-1].add(r.Measures)
				out[n-1].source = max(out[n-1].source, r.source)
			} else {
				out = append(out, *r)
			}
		}
		return slices.Clip(out)
	})
	return func(yield func(*row) bool) {
		for i := range rows {
			r := &rows[i]
			if sc.delivered && r.source == noSource || !sc.holds(r.creative) {
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
func groupDay(out []row, q question, d day, rows iter.Seq[*row], source int32) []row {
	first := len(out)
	for r := range rows {
		if source != noSource && r.source != source {
			continue
		}
		g := q.dimensions(r, d)
		if n := len(out); n > first && sameGroup(&out[n-1], &g) {
			out[n-1].add(g.Measures)
		} else {
			out = append(out, g)
		}
	}
	return out
}

// dimensions is a row with only the dimensions asked for.
func (q *question) dimensions(r *row, d day) row {
	g := row{source: noSource, Measures: r.Measures}
	if q.byDate {
		g.day = d
	}
	if q.byCampaign {
		g.campaign = r.campaign
	}
	if q.byCreative {
		g.creative = r.creative
	}
	if q.bySource {
		g.source = r.source
	}
	return g
}

// groupBySource is groupDay for sources without creatives: a source comes up once
// for every creative, so the rows of one campaign (or of all) go by before its
// sources are known.
func (st *state) groupBySource(out []row, q question, d day, source int32) []row {
	at := make([]int, len(st.account.sources.ids)) // place in out, from 1
	var campaign *campaign
	section := len(out)
	for r := range st.rows(d, q.scope()) {
		if source != noSource && r.source != source {
			continue
		}
		g := q.dimensions(r, d)
		if g.campaign != campaign {
			sortSection(out[section:])
			campaign, section = g.campaign, len(out)
			clear(at)
		}
		if i := at[g.source]; i > 0 {
			out[i-1].add(g.Measures)
		} else {
			out = append(out, g)
			at[g.source] = len(out)
		}
	}
	sortSection(out[section:])
	return out
}

func sortSection(rows []row) {
	slices.SortFunc(rows, func(x, y row) int { return int(x.source - y.source) })
}

func sameGroup(x, y *row) bool {
	return x.campaign == y.campaign && x.creative == y.creative && x.source == y.source
}

// foldRows adds up neighbours of one group. A creative that was delivered on one
// of the days does not keep its row without a source from another.
func foldRows(rows []row, q question) []row {
	out := rows[:0]
	for _, r := range rows {
		n := len(out)
		switch {
		case n > 0 && sameGroup(&out[n-1], &r):
			out[n-1].add(r.Measures)
		case n > 0 && q.bySource && out[n-1].source == noSource && r.creative != nil && out[n-1].creative == r.creative:
			out[n-1] = r
		default:
			out = append(out, r)
		}
	}
	return out
}
