package market

import (
	"cmp"
	"slices"
	"strconv"

	"spendsync/extract/adsim/chance"
)

// Sources contains the websites, sorted by ID. The traffic of the websites follows Zipf's law: a few websites have most
// of the traffic, thousands have a little.
type Sources struct {
	IDs      []string
	Visitors []uint32 // impressions relative to an average website, in 256ths
	Worth    []uint32 // conversions relative to an average website, in 256ths
	Live     Universe // all but the retired ones
	retired  []int32  // websites without any delivery; campaigns block them
	Good     []int32  // websites with about four times the conversions of other websites
}

// Universe is a set of websites from which a campaign may buy, weighted by traffic.
type Universe struct {
	Src []int32  // indexes into Sources, ascending
	cum []uint64 // cum[i] is the total weight of Src[:i]
}

func newSources(seed uint64, n int) *Sources {
	t := &Sources{
		IDs:      make([]string, n),
		Visitors: make([]uint32, n),
		Worth:    make([]uint32, n),
	}
	for i := range t.IDs {
		h := chance.Hash(seed, chance.AboutSource, uint64(i))
		number := 101 + uint64(i)*17 + chance.Below(h, 17)
		if chance.Mix(h)%10 == 0 {
			number += 700_000_000
		}
		t.IDs[i] = "S" + strconv.FormatUint(number, 10)
	}
	slices.Sort(t.IDs)
	for i := range t.IDs {
		t.Worth[i] = 256
	}

	// byRank[0] is the website with the most traffic.
	byRank := make([]int32, n)
	draw := make([]uint64, n)
	for i := range byRank {
		byRank[i] = int32(i)
		draw[i] = chance.Hash(seed, chance.AboutRank, uint64(i))
	}
	slices.SortFunc(byRank, func(x, y int32) int { return cmp.Compare(draw[x], draw[y]) })
	weight := make([]uint64, n)
	for rank, i := range byRank {
		weight[i] = (1 << 32) / uint64(rank+8)
		t.Visitors[i] = 110 + 256*60*20/uint32(rank+20)
	}
	few := max(1, min(12, n/20))
	for k := range few {
		bad, good := 2+k*5, 4+k*5
		if bad < n && good < n {
			t.Good = append(t.Good, byRank[good])
			t.Worth[byRank[bad]] = 0
			t.Worth[byRank[good]] = 1000
		}
	}
	slices.Sort(t.Good)
	for _, i := range byRank[n-n/50:] {
		t.retired = append(t.retired, i)
		weight[i] = 0
	}
	slices.Sort(t.retired)
	t.Live = t.universeOf(weight, func(int32) bool { return true })
	return t
}

// universeOf returns the sources that have a weight other than 0 and for which keep returns true.
func (t *Sources) universeOf(weight []uint64, keep func(int32) bool) Universe {
	var u Universe
	sum := uint64(0)
	for i, w := range weight {
		if w > 0 && keep(int32(i)) {
			u.Src = append(u.Src, int32(i))
			u.cum = append(u.cum, sum)
			sum += w
		}
	}
	u.cum = append(u.cum, sum)
	return u
}

// Subset returns the sources of u for which keep returns true.
func (u Universe) Subset(keep func(int32) bool) Universe {
	var out Universe
	sum := uint64(0)
	for i, src := range u.Src {
		if keep(src) {
			out.Src = append(out.Src, src)
			out.cum = append(out.cum, sum)
			sum += u.cum[i+1] - u.cum[i]
		}
	}
	out.cum = append(out.cum, sum)
	return out
}

// Pick returns the j-th of n sources that are chosen from u. It divides u into n runs of adjacent sources and draws one
// source from the j-th run, by weight and the hash h. The n sources are therefore different and in the order of their
// IDs, and each source is computed without the others.
func (u *Universe) Pick(j, n int, h uint64) int32 {
	size := len(u.Src)
	lo, hi := j*size/n, (j+1)*size/n
	if hi-lo > 1 {
		x := u.cum[lo] + chance.Below(h, u.cum[hi]-u.cum[lo])
		// Find the last i in lo..hi-1 with cum[i] <= x.
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
	return u.Src[lo]
}

// Index returns the index of a source by its ID.
func (t *Sources) Index(id string) (int32, bool) {
	i, ok := slices.BinarySearch(t.IDs, id)
	return int32(i), ok
}

// Names returns the IDs of sources.
func (t *Sources) Names(list []int32) []string {
	out := make([]string, len(list))
	for i, src := range list {
		out[i] = t.IDs[src]
	}
	return out
}
