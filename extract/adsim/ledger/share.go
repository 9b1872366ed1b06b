package ledger

import (
	"math/bits"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// byItself returns the creatives of a day without changes and their rows, and their total draw of the traffic.
func byItself(a *market.Account, d clock.Day) (rows map[*market.Creative]int, traffic uint64) {
	var all []Entry
	for _, c := range a.ExistingOn(d) {
		all = appendEntries(c, all, a.Sources, d)
	}
	shareRows(a, d, all)
	rows = make(map[*market.Creative]int, len(all))
	for _, e := range all {
		traffic += e.weight
		rows[e.Creative] = e.rows
	}
	return rows, traffic
}

// appendEntries appends the campaign's creatives on a day, with how much of the
// day's traffic each draws.
func appendEntries(c *market.Campaign, all []Entry, t *market.Sources, d clock.Day) []Entry {
	delivers := c.DeliversOn(d)
	for _, cr := range c.Creatives {
		if !cr.ExistsOn(d) {
			continue
		}
		e := Entry{Creative: cr, key: chance.Hash(cr.Key, chance.AboutRows, uint64(d)), universe: c.Universe(t)}
		e.ClickRate, e.ConvertRate = cr.Rates()
		if delivers && cr.Status(d) == "active" {
			e.weight = c.Weight * cr.Weight * (80 + e.key%41)
		}
		all = append(all, e)
	}
	return all
}

// most returns the largest number of rows of an entry: on no day do all sources show it.
func (e *Entry) most() int { return max(1, len(e.universe.Src)*3/4) }

// rowsWanted is how many rows a day should have.
func rowsWanted(a *market.Account, d clock.Day) uint64 {
	return uint64(
		a.RowsPerDay) * weekdays[d.Weekday()] / 100 * (93 + chance.Hash(a.Seed, chance.AboutDay, uint64(d))%15) / 100
}

// shareRows gives each delivering creative its number of rows by weight. One that
// would have more rows than three quarters of its sources gets no more than that,
// and the rest goes to the others.
func shareRows(a *market.Account, d clock.Day, all []Entry) {
	want := rowsWanted(a, d)
	weights := make([]uint64, len(all))
	for i, e := range all {
		if weights[i] = e.weight; e.weight == 0 {
			want -= min(want, 1) // its one row without a source
		}
	}
	for range 6 {
		sum := uint64(0)
		for _, w := range weights {
			sum += w
		}
		if sum == 0 || want == 0 {
			return
		}
		rest := want
		for i := range all {
			if weights[i] == 0 {
				continue
			}
			e := &all[i]
			hi, lo := bits.Mul64(want, weights[i])
			q, rem := bits.Div64(hi, lo, sum)
			if chance.Below(chance.Mix(e.key+uint64(e.rows)), sum) < rem {
				q++
			}
			top := e.most()
			n := min(e.rows+int(q), top)
			n = max(n, 1)
			rest -= min(rest, uint64(n-e.rows))
			e.rows = n
			if n == top {
				weights[i] = 0
			}
		}
		want = rest
	}
}

// filledBy returns the number of a block's rows that exist when a share of the traffic has arrived,
// 1-(1-share)^3 of them: most by noon, all by the evening.
func filledBy(share uint32) int {
	left := uint64(1<<16 - share)
	left = left * left >> 16 * left >> 16
	return int(((1<<16-left)*64 + 65535) >> 16)
}

// DailyLimit is a budget that the campaign keeps within on most days: half as much
// again as the dearest of four days spread over its life.
func (st *State) DailyLimit(c *market.Campaign) int64 {
	return st.Kept.limits.Get(c, func() int64 {
		most := int64(0)
		for k := range clock.Day(4) {
			most = max(most, st.expectedSpend(c, c.Starts+(c.Over-c.Starts)*k/4))
		}
		const step = 50_000_000
		return min(max((most*3/2+step-1)/step*step, 100_000_000), 1_000_000_000_000)
	})
}

// expectedSpend is about what the campaign costs on a day, looked at alone: laying
// out all campaigns of that day would make the first read of a big account slow.
func (st *State) expectedSpend(c *market.Campaign, d clock.Day) int64 {
	a := st.Account
	all := st.Kept.usual()
	if len(a.Slots) < manySlots {
		all = traffic(a, d)
	}
	if all == 0 {
		return 0
	}
	at := *st
	at.AsOf, at.Frozen = (d + 60).Start(a.Zone), false
	f := at.dayOf(d).follow(c, byItselfOnly)
	var spend int64
	for _, e := range appendEntries(c, nil, a.Sources, d) {
		if e.weight == 0 {
			continue
		}
		hi, lo := bits.Mul64(rowsWanted(a, d), e.weight)
		rows, _ := bits.Div64(hi, lo, max(all, e.weight))
		e.rows = min(1+int(rows), e.most())
		f.fill(&e)
		for _, r := range e.list {
			spend += r.Spend
		}
	}
	return spend
}

// traffic is what all creatives draw on a day.
func traffic(a *market.Account, d clock.Day) (sum uint64) {
	for _, c := range a.ExistingOn(d) {
		for _, e := range appendEntries(c, nil, a.Sources, d) {
			sum += e.weight
		}
	}
	return sum
}
