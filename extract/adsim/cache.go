package adsim

import (
	"sync"
	"time"
)

// caches is all that a service keeps. The bounds are about 60 MB each for rows.
type caches struct {
	days      cache[dayKey, *spendDay]
	creatives cache[dayKey, []row]
	groups    cache[groupKey, []row]
	costs     cache[costKey, int64]
	limits    cache[*campaign, int64]
	// usual is the traffic of one day, which stands for the others.
	usual func() uint64
}

// dayKey is what the rows of a day depend on.
type dayKey struct {
	day      day
	scope    scope
	asOf     int64
	today    day
	overlay  *overlay
	frozen   bool
	frozenAt int64
	mark     uint64
}

func (st *state) dayKey(d day, sc scope) dayKey {
	return dayKey{d, sc, st.asOf.Unix(), st.today, st.overlays[d], st.frozen, st.frozenAt.Unix(), st.changes.markOf(d)}
}

// groupKey is what the rows of a question depend on.
type groupKey struct {
	question question
	asOf     int64
	today    day
	version  uint64
	mark     uint64
}

func (st *state) groupKey(q question) groupKey {
	return groupKey{q, st.asOf.Unix(), st.today, st.version, st.changes.markOf(min(q.to, st.today))}
}

func newCaches(a *account) *caches {
	const rows = 1 << 20
	one := func(int64) int64 { return 1 }
	count := func(r []row) int64 { return int64(len(r)) + 1 }
	return &caches{
		days: cache[dayKey, *spendDay]{most: 1 << 18, weigh: func(sd *spendDay) int64 {
			return int64(len(sd.entries)) + 1
		}},
		creatives: cache[dayKey, []row]{most: rows, weigh: count},
		groups:    cache[groupKey, []row]{most: rows, weigh: count},
		costs:     cache[costKey, int64]{most: 1 << 14, weigh: one},
		limits:    cache[*campaign, int64]{most: 1 << 20, weigh: one},
		usual:     sync.OnceValue(func() uint64 { return traffic(a, civil(2026, time.October, 1)) }),
	}
}
