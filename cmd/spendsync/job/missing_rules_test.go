package job

import (
	"slices"
	"testing"
	"time"

	"spendsync/schema"
)

// TestLostMany: one entity may go at any time, and so may half of them; more at once is the reply's doing.
func TestLostMany(t *testing.T) {
	for c, want := range map[[2]int]bool{{0, 0}: false, {1, 1}: false, {2, 2}: true, {2, 3}: true, {2, 4}: false,
		{3, 6}: false, {3, 5}: true, {100, 199}: true, {100, 200}: false} {
		if got := lostMany(c[0], c[1]); got != want {
			t.Errorf("%d of %d: %t", c[0], c[1], got)
		}
	}
}

func atWorldNow() time.Time { return worldNow }

// TestToAsk: those that were confirmed longest ago are asked for first, living ones before archived ones, and an
// archived one once a day. What the run may not ask for any more is left, archived ones excepted.
func TestToAsk(t *testing.T) {
	at := func(hours int) schema.Instant {
		return schema.InstantOf(worldNow) - schema.Instant(hours)*3_600_000_000
	}
	missing := map[string]standing{
		"new": {confirmed: at(1)}, "old": {confirmed: at(9)}, "b": {confirmed: at(5)}, "a": {confirmed: at(5)},
		"archived": {archived: true, confirmed: at(24)}, "archived long ago": {archived: true, confirmed: at(90)},
		"archived and asked": {archived: true, confirmed: at(23)},
	}
	order := []string{"old", "a", "b", "new", "archived long ago", "archived"}
	for may, left := range map[int]int{0: 4, 1: 3, 4: 0, 5: 0, 100: 0} {
		n := &settingsReader{run: &session{Job: Job{Now: atWorldNow, RequestsPerMinute: may + 2}}, asked: 2}
		ids, rest := n.toAsk(missing)
		if !slices.Equal(ids, order[:min(may, len(order))]) || rest != left || n.asked != 2+len(ids) {
			t.Errorf("%d requests: %q and %d left, %d asked", may, ids, rest, n.asked)
		}
	}
	n := &settingsReader{run: &session{Job: Job{Now: atWorldNow, RequestsPerMinute: 3}}, asked: 9}
	if ids, left := n.toAsk(missing); len(ids) > 0 || left != 4 || n.asked != 9 {
		t.Errorf("after the limit: %q, %d", ids, left)
	}
}
