package ledger

import (
	"math/bits"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// generatedRows returns the number of rows that each creative would have on a day if nothing had been changed, and the
// total weight of the creatives.
func generatedRows(a *market.Account, d clock.Day) (rows map[*market.Creative]int, traffic uint64) {
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

// appendEntries appends the entries of a campaign's creatives on a day, with their weights but without rows.
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

// most returns the maximum number of rows of an entry. A creative is never shown on all sources on one day.
func (e *Entry) most() int { return max(1, len(e.universe.Src)*3/4) }

// rowsWanted returns the approximate number of rows that the whole account has on a day.
func rowsWanted(a *market.Account, d clock.Day) uint64 {
	return uint64(
		a.RowsPerDay) * weekdays[d.Weekday()] / 100 * (93 + chance.Hash(a.Seed, chance.AboutDay, uint64(d))%15) / 100
}

// shareRows distributes the rows of a day over the delivering creatives by weight. If a creative's share exceeds its
// maximum, the excess goes to the other creatives.
func shareRows(a *market.Account, d clock.Day, all []Entry) {
	want := rowsWanted(a, d)
	weights := make([]uint64, len(all))
	for i, e := range all {
		if weights[i] = e.weight; e.weight == 0 {
			want -= min(want, 1) // a creative without delivery has one row, which has no source
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

// filledBy returns how many rows of each block of 64 exist when a share of the day's traffic has arrived. The number is
// 64*(1-(1-share)^3), rounded up: most rows exist by noon, all by the evening.
func filledBy(share uint32) int {
	left := uint64(1<<16 - share)
	left = left * left >> 16 * left >> 16
	return int(((1<<16-left)*64 + 65535) >> 16)
}

// DailyLimit returns the generated daily limit of a campaign. The limit is 1.5 times the highest spend on four sample
// days of the campaign's life, so that most days stay below the limit.
func (st *State) DailyLimit(c *market.Campaign) int64 {
	return st.Caches.limits.Get(c, func() int64 {
		most := int64(0)
		for k := range clock.Day(4) {
			most = max(most, st.expectedSpend(c, c.Starts+(c.Over-c.Starts)*k/4))
		}
		const step = 50_000_000
		return min(max((most*3/2+step-1)/step*step, 100_000_000), 1_000_000_000_000)
	})
}

// expectedSpend estimates the campaign's spend on a day. It computes no rows of other campaigns, which would make the
// first request to a large account slow.
func (st *State) expectedSpend(c *market.Campaign, d clock.Day) int64 {
	a := st.Account
	all := st.Caches.sampleTraffic()
	if len(a.Slots) < manySlots {
		all = traffic(a, d)
	}
	if all == 0 {
		return 0
	}
	at := *st
	at.AsOf, at.Frozen = (d + 60).Start(a.Zone), false
	f := at.dayOf(d).follow(c, generatedOnly)
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

// traffic returns the total weight of all creatives on a day.
func traffic(a *market.Account, d clock.Day) (sum uint64) {
	for _, c := range a.ExistingOn(d) {
		for _, e := range appendEntries(c, nil, a.Sources, d) {
			sum += e.weight
		}
	}
	return sum
}
