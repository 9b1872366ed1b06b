package ledger

import (
	"math/bits"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

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

// manySlots is from how many on the traffic of all campaigns together is steady.
const manySlots = 200

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
