package load

import (
	"fmt"
	"testing"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestSpans_FollowEachOtherAndStaySmall: days are taken together while they follow each other
// and have few rows; a day that nothing is known of counts for none.
func TestSpans_FollowEachOtherAndStaySmall(t *testing.T) {
	a := &manifest.Account{Days: map[schema.Date]*manifest.Day{}}
	for d, rows := range map[schema.Date]int64{1: 200_000, 2: 300_000, 3: 1, 5: 900_000, 6: 10} {
		a.Days[d] = &manifest.Day{Sums: history.Sums{Rows: rows}}
	}
	var got []int
	for _, s := range a.Spans([]schema.Date{6, 5, 4}, []schema.Date{1, 2, 3, 8}) {
		got = append(got, int(s.First), int(s.Last))
	}
	if want := []int{1, 2, 3, 4, 5, 5, 6, 6, 8, 8}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
