package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMemory_OfGroupsAddsUp: the memories of all groups add up to the whole memory, and GroupKey finds the memory of
// each group.
func TestMemory_OfGroupsAddsUp(t *testing.T) {
	whole := Memory{ObservedAt: hour(1), Missed: map[string]int{"C1/a/blocked": 1, "C~11/a/blocked": 2},
		Never: map[string][]string{"C1/b/bid_override": {"bid"}}}
	groups := whole.ByGroup()
	if got := groups[GroupKey("C1")]; got.Missed["C1/a/blocked"] != 1 || len(got.Never) != 1 || len(got.Missed) != 1 {
		t.Errorf("C1: %+v", got)
	}
	if got := groups[GroupKey("C/1")]; got.Missed["C~11/a/blocked"] != 2 || len(got.Missed)+len(got.Never) != 1 {
		t.Errorf("C/1: %+v", got)
	}
	sum := Memory{ObservedAt: hour(1)}
	for _, group := range groups {
		sum.Add(group)
	}
	if diff := cmp.Diff(whole, sum); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
