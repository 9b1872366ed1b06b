package adsim

import (
	"math/bits"
)

// dailyLimit is a budget that the campaign keeps within on most days: half as much
// again as the dearest of four days spread over its life.
func (st *state) dailyLimit(c *campaign) int64 {
	return st.kept.limits.get(c, func() int64 {
		most := int64(0)
		for k := range day(4) {
			most = max(most, st.expectedSpend(c, c.starts+(c.over-c.starts)*k/4))
		}
		const step = 50_000_000
		return min(max((most*3/2+step-1)/step*step, 100_000_000), 1_000_000_000_000)
	})
}

// manySlots is from how many on the traffic of all campaigns together is steady.
const manySlots = 200

// expectedSpend is about what the campaign costs on a day, looked at alone: laying
// out all campaigns of that day would make the first read of a big account slow.
func (st *state) expectedSpend(c *campaign, d day) int64 {
	a := st.account
	all := st.kept.usual()
	if len(a.slots) < manySlots {
		all = traffic(a, d)
	}
	if all == 0 {
		return 0
	}
	sd := &spendDay{day: d, sources: a.sources, share: 1 << 16, filled: 64,
		began: d.start(a.zone).Unix(), known: (d + 60).start(a.zone).Unix()}
	entries, weights := appendEntries(c, nil, nil, a.sources, d)
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
			r := row{day: d, campaign: c, creative: e.creative}
			sd.compute(&r, e, j)
			spend += r.Spend
		}
	}
	return spend
}

// traffic is what all creatives draw on a day.
func traffic(a *account, d day) uint64 {
	var weights []uint64
	for _, c := range a.existingOn(d) {
		_, weights = appendEntries(c, nil, weights, a.sources, d)
	}
	sum := uint64(0)
	for _, w := range weights {
		sum += w
	}
	return sum
}
