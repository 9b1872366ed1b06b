package extract

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHashSet_IsAMap holds the set against a map, from hashes that are far apart to such
// as all want the same place.
func TestHashSet_IsAMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, room := range []int{0, 1, 2, 3, 64, 1000} {
		for _, mask := range []uint64{math.MaxUint64, 0xff, 0xfff << 52, 0xff << 32} {
			got, want := newHashSet(room), map[uint64]bool{}
			for range 3000 {
				hash := max(r.Uint64()&mask, 1)
				if added := got.add(hash); added == want[hash] {
					t.Fatalf("room %d: %#x is new: %v", room, hash, added)
				}
				want[hash] = true
			}
			check(t, "hashes", got.n, len(want))
			check(t, "three quarters full at most", 4*got.n <= 3*len(got.table), true)
		}
	}
	s := newHashSet(0)
	check(t, "zero is new", s.add(0), true)
	check(t, "zero is there", s.add(0), false)
}
