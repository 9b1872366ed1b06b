package adsim

import (
	"cmp"
	"slices"
	"strconv"
)

// sourceTable is the websites, sorted by ID. What a website brings follows
// Zipf's law: a few bring most, thousands bring a little.
type sourceTable struct {
	ids       []string
	quoted    []string // as JSON
	visitors  []uint32 // impressions relative to a plain website, in 256ths
	worth     []uint32 // conversions relative to a plain website, in 256ths
	live      universe
	retired   []int32 // these deliver nothing any more; campaigns block them
	bad, good []int32
}

// universe is the websites a campaign may buy from, by index into the table, with
// their running weight: cum[i] is the weight of all before src[i].
type universe struct {
	src []int32
	cum []uint64
}

func newSourceTable(seed uint64, n int) *sourceTable {
	t := &sourceTable{
		ids:      make([]string, n),
		quoted:   make([]string, n),
		visitors: make([]uint32, n),
		worth:    make([]uint32, n),
	}
	for i := range t.ids {
		h := chance(seed, aboutSource, uint64(i))
		number := 101 + uint64(i)*17 + below(h, 17)
		if mix(h)%10 == 0 {
			number += 700_000_000
		}
		t.ids[i] = "S" + strconv.FormatUint(number, 10)
	}
	slices.Sort(t.ids)
	for i, id := range t.ids {
		t.quoted[i] = `"` + id + `"`
		t.worth[i] = 256
	}

	// byRank[0] is the biggest website.
	byRank := make([]int32, n)
	draw := make([]uint64, n)
	for i := range byRank {
		byRank[i] = int32(i)
		draw[i] = chance(seed, aboutRank, uint64(i))
	}
	slices.SortFunc(byRank, func(x, y int32) int { return cmp.Compare(draw[x], draw[y]) })
	weight := make([]uint64, n)
	for rank, i := range byRank {
		weight[i] = (1 << 32) / uint64(rank+8)
		t.visitors[i] = 110 + 256*60*20/uint32(rank+20)
	}
	few := max(1, min(12, n/20))
	for k := range few {
		bad, good := 2+k*5, 4+k*5
		if bad < n && good < n {
			t.bad = append(t.bad, byRank[bad])
			t.good = append(t.good, byRank[good])
			t.worth[byRank[bad]] = 0
			t.worth[byRank[good]] = 1000
		}
	}
	slices.Sort(t.bad)
	slices.Sort(t.good)
	for _, i := range byRank[n-n/50:] {
		t.retired = append(t.retired, i)
		weight[i] = 0
	}
	slices.Sort(t.retired)
	t.live = t.universeOf(weight, func(int32) bool { return true })
	return t
}

// universeOf is the sources with a weight that keep says yes to.
func (t *sourceTable) universeOf(weight []uint64, keep func(int32) bool) universe {
	var u universe
	sum := uint64(0)
	for i, w := range weight {
		if w > 0 && keep(int32(i)) {
			u.src = append(u.src, int32(i))
			u.cum = append(u.cum, sum)
			sum += w
		}
	}
	u.cum = append(u.cum, sum)
	return u
}

// subset is the sources of u that keep says yes to.
func (u universe) subset(keep func(int32) bool) universe {
	var out universe
	sum := uint64(0)
	for i, src := range u.src {
		if keep(src) {
			out.src = append(out.src, src)
			out.cum = append(out.cum, sum)
			sum += u.cum[i+1] - u.cum[i]
		}
	}
	out.cum = append(out.cum, sum)
	return out
}

// pick draws the j-th of n sources by a hash: the universe is cut into n runs of
// neighbours, and one source of the j-th run is drawn by weight. So the drawn ones
// differ, are in the order of their IDs, and each is found from j alone.
func (u *universe) pick(j, n int, h uint64) int32 {
	size := len(u.src)
	lo, hi := j*size/n, (j+1)*size/n
	if hi-lo > 1 {
		x := u.cum[lo] + below(h, u.cum[hi]-u.cum[lo])
		// The last one in lo..hi-1 whose running weight is not above x.
		for a, b := lo, hi; ; {
			if b-a <= 1 {
				lo = a
				break
			}
			if m := int(uint(a+b) >> 1); u.cum[m] <= x {
				a = m
			} else {
				b = m
			}
		}
	}
	return u.src[lo]
}

// index finds a source by its ID.
func (t *sourceTable) index(id string) (int32, bool) {
	i, ok := slices.BinarySearch(t.ids, id)
	return int32(i), ok
}

func (t *sourceTable) names(list []int32) []string {
	out := make([]string, len(list))
	for i, src := range list {
		out[i] = t.ids[src]
	}
	return out
}
