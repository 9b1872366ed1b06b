package extract

import "math/bits"

// hashSet is a set of hashes: a table that is at most three quarters full. A hash is at the place named by its last
// bits, or after it. There is one lookup per row, and a map takes several times as long; a larger, emptier table is no
// faster, because less of it is in the processor's cache.
type hashSet struct {
	table []uint64 // its length is a power of two; 0 is a free place
	n     int
}

// newHashSet has room for n hashes, and grows with more.
func newHashSet(n int) hashSet {
	return hashSet{table: make([]uint64, 1<<bits.Len(uint(4*n/3+1)))}
}

// add reports whether the hash was new. It treats 0 as 1.
func (s *hashSet) add(hash uint64) bool {
	if 4*(s.n+1) > 3*len(s.table) {
		more := newHashSet(2*s.n + 1)
		for _, h := range s.table {
			if h != 0 {
				more.add(h)
			}
		}
		*s = more
	}
	hash = max(hash, 1)
	last := uint64(len(s.table) - 1)
	for at := hash & last; ; at = (at + 1) & last {
		switch s.table[at] {
		case hash:
			return false
		case 0:
			s.table[at] = hash
			s.n++
			return true
		}
	}
}
