package manifest

import (
	"fmt"
	"testing"

	"spendsync/schema"
)

// TestNext_Facts: a lasting fact is one row with its first and last sighting. A fact ends when a run looks and does not
// observe it. Facts beyond maxFacts are only counted.
func TestNext_Facts(t *testing.T) {
	m := New()
	m.Accounts["acme"] = NewAccount(0)
	run := func(n int, looked func(*schema.EntityRead) bool, ids ...string) []schema.EntityRead {
		var rows []schema.EntityRead
		for _, id := range ids {
			rows = append(rows, schema.EntityRead{EntityType: "campaign", EntityID: id, Field: "target_cpa"})
		}
		head := Head{Generation: int64(n), RunID: fmt.Sprintf("R%d", n/10), PublishedAt: schema.Instant(n)}
		m = Next(m, head, "acme", Change{Unread: &Sightings[schema.EntityRead]{Rows: rows, Looked: looked}})
		return m.Accounts["acme"].UnreadRows("acme")
	}
	all := func(*schema.EntityRead) bool { return true }
	only := func(id string) func(*schema.EntityRead) bool {
		return func(r *schema.EntityRead) bool { return r.EntityID == id }
	}
	describe := func(rows []schema.EntityRead) (text string) {
		for _, r := range rows {
			text += fmt.Sprintf("%s %d-%d x%d %s; ", r.EntityID, r.FirstSeenAt, r.LastSeenAt, r.Runs, r.RunID)
		}
		return text
	}
	for _, c := range []struct {
		name, want string
		rows       []schema.EntityRead
	}{
		{"two are found", "a 10-10 x1 R1; b 10-10 x1 R1; ", run(10, all, "b", "a", "a")},
		{"one is not looked at", "a 10-20 x2 R2; b 10-10 x1 R1; ", run(20, only("a"), "a")},
		{"one has ended, one is new", "b 10-10 x1 R1; c 30-30 x1 R3; ", run(30, only("a"), "c")},
	} {
		if got := describe(c.rows); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	many := make([]string, maxFacts+5)
	for i := range many {
		many[i] = fmt.Sprintf("m%04d", i)
	}
	rows := run(40, all, many...)
	if last := rows[len(rows)-1]; len(rows) != maxFacts+1 || last.ReadState != "more" ||
		last.Message.V != "5 more lines, which are not listed" {
		t.Errorf("%d rows, the last %+v", len(rows), last)
	}
	if rows = run(50, all); len(rows) != 0 {
		t.Errorf("%d rows after all have ended", len(rows))
	}
}
