package history

import (
	"maps"
	"testing"
	"time"

	"spendsync/schema"
)

// TestLearned names the campaigns for which a run learned something about already published days, and the first of
// these days.
func TestLearned(t *testing.T) {
	noon := func(day int) schema.Instant {
		return schema.InstantOf(time.Date(2026, 1, day, 18, 0, 0, 0, time.UTC))
	}
	first := schema.DateOf(noon(1).Time())
	version := func(campaign string, no int64, from, after int, name string) schema.Campaign {
		r := schema.Campaign{AccountID: "acme", CampaignID: campaign, Name: schema.Some(name)}
		r.VersionNo, r.ValidFrom, r.ValidTo, r.IsCurrent = no, noon(from), schema.Forever, true
		r.ReadState, r.ChangeType = schema.ReadOK, schema.FirstSeen
		if after > 0 {
			r.ChangeType, r.ChangedAfter = schema.Changed, schema.Some(noon(after))
		}
		return r
	}
	type rows = []schema.Campaign
	v1, v2 := version("c1", 1, 1, 0, "A"), version("c1", 2, 5, 4, "B")
	other := version("c2", 1, 3, 0, "A")
	closed, run, state := v1, v1, v1
	closed.ValidTo, closed.IsCurrent, closed.LastConfirmedAt = noon(5), false, noon(4)
	run.RunID, run.Raw = "another", schema.Some("another")
	state.ReadState = schema.ReadPartial
	is := func(pairs ...any) map[string]schema.Date {
		m := map[string]schema.Date{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = first + schema.Date(pairs[i+1].(int)) - 1
		}
		return m
	}
	for _, c := range []struct {
		name     string
		old, now rows
		want     map[string]schema.Date
	}{
		{"nothing", rows{v1, v2}, rows{v1, v2}, is()},
		{"a closed version", rows{v1}, rows{closed}, is()},
		{"another run and its JSON", rows{v1}, rows{run}, is()},
		{"a new campaign", rows{v1}, rows{v1, other}, is("c2", 3)},
		{"the first campaign", nil, rows{v1}, is("c1", 1)},
		{"a filled version", rows{state, other}, rows{v1, other}, is("c1", 1)},
		{"a corrected name", rows{v1, v2}, rows{v1, version("c1", 2, 5, 4, "C")}, is("c1", 5)},
		{"two corrected names", rows{version("c1", 1, 1, 0, "x"), version("c1", 2, 5, 4, "x")}, rows{v1, v2},
			is("c1", 1)},
		{"two campaigns", rows{version("c1", 1, 1, 0, "x"), version("c2", 1, 3, 0, "x")}, rows{v1, other},
			is("c1", 1, "c2", 3)},
		{"a change that was looked for", rows{v1}, rows{closed, v2}, is()},
		{"a change after the reach of the report", rows{v1},
			rows{closed, version("c1", 2, 4+schema.ReachDays, 4, "B")}, is()},
		{"a change after more than that", rows{v1}, rows{closed, version("c1", 2, 5+schema.ReachDays, 4, "B")},
			is("c1", 4)},
		{"two such changes", rows{v1}, rows{closed, version("c1", 2, 50, 4, "B"), version("c1", 3, 100, 50, "C")},
			is("c1", 4)},
		{"two such changes, the later one after an earlier look", rows{v1},
			rows{closed, version("c1", 2, 50, 4, "B"), version("c1", 3, 100, 2, "C")}, is("c1", 2)},
		{"a version without a look before", rows{v1}, rows{closed, func() schema.Campaign {
			v := version("c1", 2, 50, 4, "B")
			v.ChangedAfter = schema.Null[schema.Instant]{}
			return v
		}()}, is()},
	} {
		if got := Learned(schema.CampaignHistory, c.old, c.now); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	rule := blocked("c1", "s1").Row
	if got := Learned(schema.SourceRuleHistory, nil, []schema.SourceRule{rule}); got != nil {
		t.Errorf("of rules: %v", got)
	}
}
