package ledger

import (
	"math/bits"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// fillEntries lists the creatives of a day and shares the day's rows out.
func (st *State) fillEntries(sd *Day, sc Scope) {
	all, traffic := byItself(st.Account, sd.day)
	all = st.followEntries(sd, all, traffic)
	for _, e := range all {
		if !sc.holds(e.Creative) {
			continue
		}
		if e.seen = len(e.list); !e.follows {
			st.Changes.Plant(&e, sd.day)
			sd.lay(&e)
		}
		if e.seen > 0 || !sc.Delivered {
			sd.entries = append(sd.entries, e)
		}
	}
	sd.starts = make([]int, len(sd.entries)+1)
	for i := range sd.entries {
		sd.starts[i+1] = sd.starts[i] + max(1, sd.entries[i].seen)
	}
}

// byItself returns the creatives of a day without changes, and their total draw of the traffic.
func byItself(a *market.Account, d clock.Day) (all []Entry, traffic uint64) {
	var weights []uint64
	for _, c := range a.ExistingOn(d) {
		all, weights = appendEntries(c, all, weights, a.Sources, d)
	}
	for _, w := range weights {
		traffic += w
	}
	shareRows(a, d, all, weights)
	return all, traffic
}

// appendEntries appends the campaign's creatives on a day and how much of the
// day's traffic each draws; 0: it does not deliver.
func appendEntries(c *market.Campaign, all []Entry, weights []uint64, t *market.Sources,
	d clock.Day) ([]Entry, []uint64) {
	delivers := c.DeliversOn(d)
	for _, cr := range c.Creatives {
		if !cr.ExistsOn(d) {
			continue
		}
		e := Entry{Creative: cr}
		w := uint64(0)
		if delivers && cr.Status(d) == "active" {
			e.universe = c.Universe(t)
			e.key = chance.Hash(cr.Key, chance.AboutRows, uint64(d))
			e.bid = c.Bid(d)
			e.ClickRate, e.ConvertRate = cr.Rates()
			w = c.Weight * cr.Weight * (80 + e.key%41)
		}
		all = append(all, e)
		weights = append(weights, w)
	}
	return all, weights
}

// most is how many rows an entry can have: not every source has it on every day.
func (e *Entry) most() int { return max(1, len(e.universe.Src)*3/4) }

// rowsWanted is how many rows a day should have.
func rowsWanted(a *market.Account, d clock.Day) uint64 {
	return uint64(
		a.RowsPerDay) * weekdays[d.Weekday()] / 100 * (93 + chance.Hash(a.Seed, chance.AboutDay, uint64(d))%15) / 100
}

// shareRows gives each delivering creative its number of rows by weight. One that
// would have more rows than three quarters of its sources gets no more than that,
// and the rest goes to the others.
func shareRows(a *market.Account, d clock.Day, all []Entry, weights []uint64) {
	want := rowsWanted(a, d)
	for _, w := range weights {
		if w == 0 {
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

// lay computes the rows of an open day, and counts those of any other.
func (sd *Day) lay(e *Entry) {
	if e.seen = e.rows; sd.filled == 64 {
		return
	}
	for j := range e.rows {
		if e.isThere(j, sd.filled) {
			r := Row{Day: sd.day, Campaign: e.Creative.Campaign, Creative: e.Creative}
			sd.compute(&r, e, j)
			e.list = append(e.list, r)
		}
	}
	e.seen = len(e.list)
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
	sd := &Day{day: d, sources: a.Sources, share: 1 << 16, filled: 64,
		began: d.Start(a.Zone).Unix(), known: (d + 60).Start(a.Zone).Unix()}
	entries, weights := appendEntries(c, nil, nil, a.Sources, d)
	var spend int64
	for i := range entries {
		e := &entries[i]
		if weights[i] == 0 {
			continue
		}
		hi, lo := bits.Mul64(rowsWanted(a, d), weights[i])
		rows, _ := bits.Div64(hi, lo, max(all, weights[i]))
		e.rows = min(1+int(rows), e.most())
		for j := range e.rows {
			r := Row{Day: d, Campaign: c, Creative: e.Creative}
			sd.compute(&r, e, j)
			spend += r.Spend
		}
	}
	return spend
}

// traffic is what all creatives draw on a day.
func traffic(a *market.Account, d clock.Day) uint64 {
	var weights []uint64
	for _, c := range a.ExistingOn(d) {
		_, weights = appendEntries(c, nil, weights, a.Sources, d)
	}
	sum := uint64(0)
	for _, w := range weights {
		sum += w
	}
	return sum
}
