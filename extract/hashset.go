package extract

import "math/bits"

// hashSet is a set of hashes: a table that is three quarters full at most, in which a
// hash stands at the place that its last bits name, or behind it. One is looked up for
// each row, and a map takes several times as long; a table of twice the size that is
// emptier takes as long, for less of it is near the processor.
type hashSet struct {
	table []uint64 // its length is a power of two; 0 is a free place
	n     int
}

// newHashSet has room for n hashes, and grows with more.
func newHashSet(n int) hashSet {
	return hashSet{table: make([]uint64, 1<<bits.Len(uint(4*n/3+1)))}
}

// add reports whether the hash was not there yet. It takes 0 for 1.
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
