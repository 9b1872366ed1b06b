package adsim

import "sync"

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
