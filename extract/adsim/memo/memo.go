package memo

import "sync"

// Cache keeps computed results, keyed by everything that they depend on. It is bounded: the oldest
// entry is dropped first. Entries are never invalidated, because another state has another key.
type Cache[K comparable, V any] struct {
	Most  int64
	Weigh func(V) int64

	mu   sync.Mutex
	size int64
	held map[K]V
	age  []K
}

// Get returns the kept result, or makes it. Two callers at once may both make it.
func (c *Cache[K, V]) Get(key K, make func() V) V {
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

func (c *Cache[K, V]) put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.held[key]; ok || c.Weigh(v) > c.Most {
		return
	}
	if c.held == nil {
		c.held = make(map[K]V)
	}
	c.held[key] = v
	c.age = append(c.age, key)
	c.size += c.Weigh(v)
	for c.size > c.Most {
		c.size -= c.Weigh(c.held[c.age[0]])
		delete(c.held, c.age[0])
		c.age = c.age[1:]
	}
}
