package ledger

import (
	"sync"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/memo"
)

// Caches is all that a service keeps. The bounds are about 60 MB each for rows.
type Caches struct {
	days   memo.Cache[dayKey, *Day]
	groups memo.Cache[groupKey, []Row]
	costs  memo.Cache[costKey, int64]
	limits memo.Cache[*market.Campaign, int64]
	// usual is the traffic of one day, which stands for the others.
	usual func() uint64
}

// dayKey is what the rows of a day depend on.
type dayKey struct {
	day      clock.Day
	scope    Scope
	asOf     int64
	today    clock.Day
	overlay  *Overlay
	frozen   bool
	frozenAt int64
	mark     uint64
}

func (st *State) dayKey(d clock.Day, sc Scope) dayKey {
	return dayKey{d, sc, st.AsOf.Unix(), st.Today, st.Overlays[d], st.Frozen, st.FrozenAt.Unix(), st.Changes.markOf(d)}
}

// groupKey is what the rows of a question depend on.
type groupKey struct {
	query   Query
	asOf    int64
	today   clock.Day
	version uint64
	mark    uint64
}

func (st *State) groupKey(q Query) groupKey {
	return groupKey{q, st.AsOf.Unix(), st.Today, st.Version, st.Changes.markOf(min(q.To, st.Today))}
}

func NewCaches(a *market.Account) *Caches {
	const rows = 1 << 20
	one := func(int64) int64 { return 1 }
	count := func(r []Row) int64 { return int64(len(r)) + 1 }
	return &Caches{
		days: memo.Cache[dayKey, *Day]{Most: 1 << 18, Weigh: func(sd *Day) int64 {
			if sd.filled < 64 {
				return int64(sd.total) + 1
			}
			return int64(len(sd.entries)) + 1
		}},
		groups: memo.Cache[groupKey, []Row]{Most: rows, Weigh: count},
		costs:  memo.Cache[costKey, int64]{Most: 1 << 14, Weigh: one},
		limits: memo.Cache[*market.Campaign, int64]{Most: 1 << 20, Weigh: one},
		usual:  sync.OnceValue(func() uint64 { return traffic(a, clock.Civil(2026, time.October, 1)) }),
	}
}
