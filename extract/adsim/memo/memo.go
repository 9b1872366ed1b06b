package memo

import "sync"

// Cache keeps computed results. A key must contain everything that the result depends on, so that no entry becomes
// stale. Weigh returns the weight of an entry. When all entries together weigh more than Most, all but the newest are
// dropped.
type Cache[K comparable, V any] struct {
	Most  int64
	Weigh func(V) int64

	mu   sync.Mutex
	size int64
	held map[K]V
}

// Get returns the cached result for a key. If there is none, Get calls the given function and caches its result.
// Concurrent callers may each call their function.
func (c *Cache[K, V]) Get(key K, make func() V) V {
	c.mu.Lock()
	v, ok := c.held[key]
	c.mu.Unlock()
	if ok {
		return v
	}
	v = make()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += c.Weigh(v); c.held == nil || c.size > c.Most {
		c.held, c.size = map[K]V{}, c.Weigh(v)
	}
	c.held[key] = v
	return v
}
