package ledger

import (
	"sync"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/memo"
)

// Caches holds results that are costly to compute: the rows of days, the results of queries, the cost of days, and
// daily limits.
type Caches struct {
	days   memo.Cache[dayKey, []Row]
	groups memo.Cache[groupKey, []Row]
	costs  memo.Cache[costKey, int64]
	limits memo.Cache[*market.Campaign, int64]
	// sampleTraffic returns the total traffic of one fixed day. In a large account it is used for every day, because
	// all days have about the same traffic.
	sampleTraffic func() uint64
}

// stateKey contains everything that determines the rows of a reply, except the query.
type stateKey struct {
	asOf          int64
	today         clock.Day
	version, mark uint64
}

// keyFor returns the cache key for the rows of days up to d.
func (st *State) keyFor(d clock.Day) stateKey {
	return stateKey{st.AsOf.Unix(), st.Today, st.Version, st.Changes.markOf(min(d, st.Today))}
}

type dayKey struct {
	day clock.Day
	stateKey
}

type groupKey struct {
	Query
	stateKey
}

// NewCaches returns the empty caches of an account.
func NewCaches(a *market.Account) *Caches {
	one := func(int64) int64 { return 1 }
	count := func(r []Row) int64 { return int64(len(r)) + 1 }
	most := int64(max(1<<20, 40*a.RowsPerDay)) // limit on cached rows: about 70 MB, or enough for a large account
	return &Caches{
		days:          memo.Cache[dayKey, []Row]{Most: most, Weigh: count},
		groups:        memo.Cache[groupKey, []Row]{Most: most, Weigh: count},
		costs:         memo.Cache[costKey, int64]{Most: 1 << 14, Weigh: one},
		limits:        memo.Cache[*market.Campaign, int64]{Most: 1 << 20, Weigh: one},
		sampleTraffic: sync.OnceValue(func() uint64 { return traffic(a, clock.Civil(2026, time.October, 1)) }),
	}
}
