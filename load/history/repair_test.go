package history

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/schema"
)

// reply is a kept reply about a campaign, of a reading from one hour to another.
type reply struct {
	since, at int
	seen      Seen[schema.Campaign]
}

func at(n int, seen Seen[schema.Campaign]) reply { return reply{n, n, seen} }

// gender is the campaign with an audience.
func gender(s Seen[schema.Campaign], g string) Seen[schema.Campaign] {
	s.Row.Gender = schema.Some(g)
	return s
}

// TestRepairer_Campaigns: what kept replies change in a history, and what they leave unchanged.
func TestRepairer_Campaigns(t *testing.T) {
	a1 := campaign("c1", "A", 1)
	noBidRead := without(a1, "default_bid")
	for _, c := range []struct {
		name     string
		runs     runs
		replies  []reply
		repaired int
		want     []string
	}{
		{"none", runs{listed(1, a1)}, nil, 0, []string{
			"c1 v1 [1,-) first_seen, confirmed 1, ok: A 1.00 {A 1} run-1"}},
		{"the same", runs{listed(1, a1), listed(2, a1)}, []reply{at(1, a1), at(2, a1)}, 0, []string{
			"c1 v1 [1,-) first_seen, confirmed 2, ok: A 1.00 {A 1} run-1"}},

		{"its own reply/fills in a column", runs{listed(1, noBidRead)}, []reply{at(1, a1)}, 1, []string{
			"c1 v1 [1,-) first_read, confirmed 1, ok: A 1.00 {A 1} repair"}},
		{"its own reply/fills in some", runs{listed(1, blindCampaign("c1"))}, []reply{at(1, noBidRead)}, 1, []string{
			"c1 v1 [1,-) first_read, confirmed 1, partial: A NULL {A 1} repair"}},
		{"its own reply/a later version still says what changed",
			runs{listed(1, noBidRead), listed(2, without(campaign("c1", "B", 9), "default_bid"))},
			[]reply{at(2, campaign("c1", "B", 2))}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, partial: A NULL {A 1} run-2",
				"c1 v2 [2,-) changed(name) after 1, confirmed 1, ok: B 2.00 {B 2} repair"}},
		{"its own reply/corrects a value", runs{listed(1, a1)}, []reply{at(1, campaign("c1", "B", 1))}, 1, []string{
			"c1 v1 [1,-) first_seen, confirmed 1, ok: B 1.00 {B 1} repair"}},
		{"its own reply/corrects what changed", runs{listed(1, a1), listed(2, campaign("c1", "B", 1))},
			[]reply{at(2, campaign("c1", "C", 2))}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} run-2",
				"c1 v2 [2,-) changed(default_bid,name) after 1, confirmed 2, ok: C 2.00 {C 2} repair"}},
		{"its own reply/shows that nothing changed", runs{listed(1, a1), listed(2, campaign("c1", "B", 1))},
			[]reply{at(2, a1)}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} run-2",
				"c1 v2 [2,-) changed(name) after 1, confirmed 2, ok: A 1.00 {A 1} repair"}},
		{"its own reply/corrects a restored version", runs{listed(1, a1), listed[schema.Campaign](2),
			listed[schema.Campaign](3), listed(4, a1)}, []reply{at(4, campaign("c1", "B", 1))}, 1, []string{
			"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00 {A 1} run-3",
			"c1 v2 [3,4) deleted after 1, confirmed 3, ok: A 1.00 {A 1} run-4",
			"c1 v3 [4,-) restored after 3, confirmed 4, ok: B 1.00 {B 1} repair"}},
		{"its own reply/fills in a restored version", runs{listed(1, noBidRead), listed[schema.Campaign](2),
			listed[schema.Campaign](3), listed(4, noBidRead)}, []reply{at(4, a1)}, 1, []string{
			"c1 v1 [1,3) first_seen, confirmed 1, partial: A NULL {A 1} run-3",
			"c1 v2 [3,4) deleted after 1, confirmed 3, partial: A NULL {A 1} run-4",
			"c1 v3 [4,-) restored after 3, confirmed 1, ok: A 1.00 {A 1} repair"}},
		{"its own reply/the last one counts", runs{listed(1, a1)},
			[]reply{at(1, campaign("c1", "B", 1)), at(1, a1)}, 0, []string{
				"c1 v1 [1,-) first_seen, confirmed 1, ok: A 1.00 {A 1} run-1"}},

		{"an older reply/corrects nothing", runs{listed(2, a1)}, []reply{at(1, campaign("c1", "B", 1))}, 0, []string{
			"c1 v1 [2,-) first_seen, confirmed 2, ok: A 1.00 {A 1} run-2"}},
		{"an older reply/fills in what was never read, and no more", runs{listed(2, noBidRead)},
			[]reply{at(1, campaign("c1", "B", 5))}, 1, []string{
				"c1 v1 [2,-) first_read, confirmed 2, ok: A 5.00 {A 1} repair"}},
		{"an older reply/leaves a value that is known to be absent",
			runs{listed(2, without(noBid(a1), "gender"))},
			[]reply{at(1, gender(campaign("c1", "B", 5), "F"))}, 1, []string{
				"c1 v1 [2,-) first_read, confirmed 2, ok: A NULL F {A 1} repair"}},
		{"an older reply/the newest counts", runs{listed(3, noBidRead)},
			[]reply{at(1, campaign("c1", "B", 5)), at(2, campaign("c1", "B", 7))}, 1, []string{
				"c1 v1 [3,-) first_read, confirmed 3, ok: A 7.00 {A 1} repair"}},
		{"an older reply/the newest counts, though it fills in nothing", runs{listed(3, noBidRead)},
			[]reply{at(1, campaign("c1", "B", 5)), at(2, noBidRead)}, 0, []string{
				"c1 v1 [3,-) first_seen, confirmed 3, partial: A NULL {A 1} run-3"}},
		{"an older reply/says nothing of a deleted entity", runs{listed(1, a1), listed[schema.Campaign](2),
			listed[schema.Campaign](3)}, []reply{at(2, campaign("c1", "B", 2)), at(3, campaign("c1", "B", 2))}, 0,
			[]string{
				"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00 {A 1} run-3",
				"c1 v2 [3,-) deleted after 1, confirmed 3, ok: A 1.00 {A 1} run-3"}},

		{"a newer reply/changes", runs{listed(1, a1), listed(2, blindCampaign("c1"))},
			[]reply{at(2, campaign("c1", "B", 1))}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} repair",
				"c1 v2 [2,-) changed(name) after 1, confirmed 2, ok: B 1.00 {B 1} repair"}},
		{"a newer reply/of a long reading", runs{listed(1, a1), listed(4, blindCampaign("c1"))},
			[]reply{{2, 3, campaign("c1", "B", 1)}}, 1, []string{
				"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00 {A 1} repair",
				"c1 v2 [3,-) changed(name) after 1, confirmed 2, ok: B 1.00 {B 1} repair"}},
		{"a newer reply/in part confirms nothing", runs{listed(1, a1), listed(2, blindCampaign("c1"))},
			[]reply{at(2, without(campaign("c1", "B", 9), "default_bid"))}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} repair",
				"c1 v2 [2,-) changed(name) after 1, confirmed 1, ok: B 1.00 {B 9} repair"}},
		{"a newer reply/takes back the confirmation of what it contradicts", runs{listed(1, a1), listed(2, a1)},
			[]reply{at(2, campaign("c1", "B", 1))}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} repair",
				"c1 v2 [2,-) changed(name) after 1, confirmed 2, ok: B 1.00 {B 1} repair"}},
		{"a newer reply/keeps an earlier confirmation", runs{listed(1, a1), listed(2, a1),
			listed(4, blindCampaign("c1"))}, []reply{at(3, campaign("c1", "B", 1))}, 1, []string{
			"c1 v1 [1,3) first_seen, confirmed 2, ok: A 1.00 {A 1} repair",
			"c1 v2 [3,-) changed(name) after 2, confirmed 3, ok: B 1.00 {B 1} repair"}},
		{"a newer reply/fills in", runs{listed(1, blindCampaign("c1")), listed(2, blindCampaign("c1"))},
			[]reply{at(2, a1)}, 1, []string{
				"c1 v1 [1,-) first_read, confirmed 1, ok: A 1.00 {A 1} repair"}},
		{"a newer reply/restores", runs{listed(1, a1), listed[schema.Campaign](2), listed[schema.Campaign](3),
			listed[schema.Campaign](4)}, []reply{at(4, a1)}, 1, []string{
			"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00 {A 1} run-3",
			"c1 v2 [3,4) deleted after 1, confirmed 3, ok: A 1.00 {A 1} repair",
			"c1 v3 [4,-) restored after 3, confirmed 4, ok: A 1.00 {A 1} repair"}},
		{"a newer reply/of an entity that is not stored", runs{listed(1, a1), listed(2, a1)},
			[]reply{{1, 2, campaign("c2", "B", 2)}}, 1, []string{
				"c1 v1 [1,-) first_seen, confirmed 2, ok: A 1.00 {A 1} run-1",
				"c2 v1 [2,-) first_seen, confirmed 1, ok: B 2.00 {B 2} repair"}},
		{"a newer reply/than the stored settings", runs{listed(1, a1), listed(2, a1)},
			[]reply{at(3, campaign("c1", "B", 2)), at(3, campaign("c2", "B", 2))}, 0, []string{
				"c1 v1 [1,-) first_seen, confirmed 2, ok: A 1.00 {A 1} run-1"}},
		{"a newer reply/after its own is corrected", runs{listed(1, a1), listed(2, blindCampaign("c1"))},
			[]reply{at(1, campaign("c1", "B", 1)), at(2, campaign("c1", "C", 1))}, 2, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: B 1.00 {B 1} repair",
				"c1 v2 [2,-) changed(name) after 1, confirmed 2, ok: C 1.00 {C 1} repair"}},
		{"a newer reply/of several of one reading the first counts", runs{listed(1, a1), listed(2, a1)},
			[]reply{at(2, campaign("c1", "B", 1)), at(2, campaign("c1", "C", 1))}, 1, []string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} repair",
				"c1 v2 [2,-) changed(name) after 1, confirmed 2, ok: B 1.00 {B 1} repair"}},
		{"several/are counted", runs{listed(1, a1, without(campaign("c2", "B", 2), "default_bid")),
			listed(2, a1, without(campaign("c2", "B", 2), "default_bid")), broken[schema.Campaign](3)},
			[]reply{at(1, campaign("c2", "B", 2)), at(2, campaign("c1", "B", 1)), at(3, campaign("c1", "C", 1)),
				at(3, campaign("c1/x", "D", 1)), at(3, campaign("c3", "D", 1)), at(3, campaign("c4", "D", 1))}, 6,
			[]string{
				"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00 {A 1} repair",
				"c1 v2 [2,3) changed(name) after 1, confirmed 2, ok: B 1.00 {B 1} repair",
				"c1 v3 [3,-) changed(name) after 2, confirmed 3, ok: C 1.00 {C 1} repair",
				"c1~1x v1 [3,-) first_seen, confirmed 3, ok: D 1.00 {D 1} repair",
				"c2 v1 [1,-) first_read, confirmed 1, ok: B 2.00 {B 2} repair",
				"c3 v1 [3,-) first_seen, confirmed 3, ok: D 1.00 {D 1} repair",
				"c4 v1 [3,-) first_seen, confirmed 3, ok: D 1.00 {D 1} repair"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := campaigns(t)
			b.values = func(r *schema.Campaign) string {
				s := textOr(r.Name) + " " + moneyOr(r.DefaultBid)
				if r.Gender.Valid {
					s += " " + r.Gender.V
				}
				return s + " " + textOr(r.Raw) + " " + r.RunID
			}
			for _, o := range c.runs {
				b.run(o)
			}
			before := slices.Clone(b.h.Rows)
			m, err := NewReplay(b.table, b.h, "repair")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.replies {
				if err := m.See(r.seen, hour(r.since), hour(r.at)); err != nil {
					t.Fatal(err)
				}
			}
			next, repaired, err := m.Versions()
			if err != nil || repaired != c.repaired {
				t.Errorf("%d repaired, %v; want %d", repaired, err, c.repaired)
			}
			if !slices.Equal(before, b.h.Rows) {
				t.Error("the history given was written to")
			}
			if next.Confirmations.ObservedAt != b.h.Confirmations.ObservedAt {
				t.Errorf("observed at %s", next.Confirmations.ObservedAt)
			}
			b.h = next
			b.want(c.want...)
		})
	}
}

// TestRepairer_RulesThatAReplyLacks end with its reading, if they started before it.
func TestRepairer_RulesThatAReplyLacks(t *testing.T) {
	b := rules(t)
	b.run(rulesRead(1, true, blocked("c1", "s1"), bid("c1", "s2", 1), blocked("c1", "s3"), blocked("c2", "s1")))
	b.run(rulesRead(2, true, blocked("c1", "s1"), bid("c1", "s2", 1)))
	b.run(rulesRead(4, true, blocked("c1", "s1"), bid("c1", "s2", 1), blocked("c1", "s4")))
	m, err := NewReplay(b.table, b.h, "repair")
	if err != nil {
		t.Fatal(err)
	}
	all := func(*schema.SourceRule) bool { return true }
	if err := m.See(blocked("c1", "s5"), hour(2), hour(3)); err != nil { // which was not understood then
		t.Fatal(err)
	}
	m.Gone("c1", hour(1), hour(1), all) // when they started
	m.Gone("c1", hour(5), hour(5), all) // not stored
	m.Gone("c9", hour(3), hour(4), all) // unknown
	m.Gone("c1", hour(3), hour(4), func(r *schema.SourceRule) bool { return r.Rule == schema.RuleBlocked })
	next, repaired, err := m.Versions()
	if err != nil || repaired != 3 {
		t.Errorf("%d repaired, %v", repaired, err)
	}
	b.h = next
	b.want(
		"c1/s1/blocked v1 [1,4) first_seen, confirmed 1, ok: NULL",
		"c1/s1/blocked v2 [4,-) deleted after 1, confirmed 4, ok: NULL",
		"c1/s2/bid_override v1 [1,-) first_seen, confirmed 4, ok: 1.00",
		"c1/s3/blocked v1 [1,2) first_seen, confirmed 1, ok: NULL",
		"c1/s3/blocked v2 [2,-) deleted after 1, confirmed 4, ok: NULL",
		"c1/s4/blocked v1 [4,-) first_seen, confirmed 4, ok: NULL",
		"c1/s5/blocked v1 [3,4) first_seen, confirmed 2, ok: NULL",
		"c1/s5/blocked v2 [4,-) deleted after 2, confirmed 3, ok: NULL",
		"c2/s1/blocked v1 [1,-) first_seen, confirmed 1, ok: NULL",
	)
}

// TestRepairer_RefusesWhatItCannotJudge: unknown columns in an older and in a newer reply, and a
// history that is inconsistent.
func TestRepairer_RefusesWhatItCannotJudge(t *testing.T) {
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1)))
	b.run(listed(2, campaign("c1", "A", 1)))
	m, err := NewReplay(b.table, b.h, "repair")
	if err != nil {
		t.Fatal(err)
	}
	if is := m.Current(&schema.Campaign{CampaignID: "c1"}); is == nil || is.Name.V != "A" {
		t.Errorf("current: %+v", is)
	}
	if is := m.Current(&schema.Campaign{CampaignID: "c2"}); is != nil {
		t.Errorf("current of an unknown campaign: %+v", is)
	}
	for n := 1; n <= 2; n++ {
		err := m.See(without(campaign("c1", "B", 1), "nmae"), hour(n), hour(n))
		if err == nil || !strings.Contains(err.Error(), `"c1"`) || !strings.Contains(err.Error(), `"nmae"`) {
			t.Errorf("an unknown column at hour %d: %v", n, err)
		}
	}
	next, repaired, err := m.Versions()
	if err != nil || repaired != 0 || cmp.Diff(b.h, next) != "" {
		t.Errorf("%d repaired, %v", repaired, err)
	}
	for name, h := range map[string]Versions[schema.Campaign]{
		"a version":   {Rows: b.h.Rows, Confirmations: Confirmations{}},
		"what is not": {Rows: b.h.Rows, Confirmations: b.h.Confirmations.With("c9", hour(1))},
	} {
		if _, err := NewReplay(b.table, h, "repair"); err == nil ||
			!strings.HasPrefix(err.Error(), "campaign_history: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
