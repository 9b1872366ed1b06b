package adsim

import (
	"sync"
	"time"
)

// cache keeps what was computed, by all that it depends on. It is bounded: what
// was put in first goes first. Nothing ever has to be thrown away because the
// state changed, for another state is another key.
type cache[K comparable, V any] struct {
	most  int64
	weigh func(V) int64

	mu   sync.Mutex
	size int64
	held map[K]V
	age  []K
}

func newCache[K comparable, V any](most int64, weigh func(V) int64) cache[K, V] {
	return cache[K, V]{most: most, weigh: weigh}
}

// get returns what is held, or makes it. Two that ask at once may both make it.
func (c *cache[K, V]) get(key K, make func() V) V {
	c.mu.Lock()
	v, ok := c.held[key]
	c.mu.Unlock()
	if ok {
		return v
	}
	v = make()
	c.put(key, v)
	return v
}

func (c *cache[K, V]) put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.held[key]; ok || c.weigh(v) > c.most {
		return
	}
	if c.held == nil {
		c.held = make(map[K]V)
	}
	c.held[key] = v
	c.age = append(c.age, key)
	c.size += c.weigh(v)
	for c.size > c.most {
		c.size -= c.weigh(c.held[c.age[0]])
		delete(c.held, c.age[0])
		c.age = c.age[1:]
	}
}

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
