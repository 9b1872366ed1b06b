package load

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMergeLines merges sequences of all lengths, and stops in between. Of a key that both have, the new line stays.
func TestMergeLines(t *testing.T) {
	type line struct {
		key   int
		isNew bool
	}
	random := rand.New(rand.NewPCG(3, 9))
	some := func(isNew bool) (lines []line) {
		for key := range 6 {
			if random.IntN(2) == 0 {
				lines = append(lines, line{key, isNew})
			}
		}
		return lines
	}
	byKey := func(a, b line) int { return cmp.Compare(a.key, b.key) }
	for range 500 {
		stored, news := some(false), some(true)
		want := slices.DeleteFunc(slices.Clone(stored), func(l line) bool {
			return slices.ContainsFunc(news, func(n line) bool { return n.key == l.key })
		})
		want = append(want, news...)
		slices.SortFunc(want, byKey)
		count := int64(len(stored) + len(news))
		merged := mergeLines(slices.Values(stored), slices.Values(news), byKey, &count)
		if got := slices.Collect(merged); !slices.Equal(got, want) || count != int64(len(want)) {
			t.Fatalf("%v and %v give %v, counted %d", stored, news, got, count)
		}
		n := random.IntN(len(want) + 1)
		var first []line
		for l := range mergeLines(slices.Values(stored), slices.Values(news), byKey, &count) {
			if len(first) == n {
				break
			}
			first = append(first, l)
		}
		if !slices.Equal(first, want[:n]) {
			t.Fatalf("the first %d of %v and %v are %v", n, stored, news, first)
		}
	}
}
