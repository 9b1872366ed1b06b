package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spendsync/load/durable"
	"spendsync/schema"
)

type ruleVersions = Versions[schema.SourceRule]

// byGroups is Advance by AdvanceGroups, of rows in batches of that size.
func byGroups(h ruleVersions, o Observation[schema.SourceRule], batch int) (next ruleVersions, st Stats, err error) {
	t := schema.SourceRuleHistory
	var seen []SeenGroup[schema.SourceRule]
	all := o.Seen
	for _, s := range all {
		if n := len(seen); n == 0 || seen[n-1].Name != s.Row.CampaignID {
			of := func(r Seen[schema.SourceRule]) bool { return r.Row.CampaignID != s.Row.CampaignID }
			seen = append(seen, SeenGroup[schema.SourceRule]{Name: s.Row.CampaignID,
				Seen: func() []Seen[schema.SourceRule] { return slices.DeleteFunc(slices.Clone(all), of) }})
		}
	}
	o.Seen = nil
	stored := func(yield func([]schema.SourceRule, error) bool) {
		for rows := range slices.Chunk(h.Rows, batch) {
			lent := slices.Clone(rows)
			if !yield(lent, nil) {
				return
			}
			clear(lent)
		}
	}
	g := Groups[schema.SourceRule]{Stored: stored, Confirmations: h.Confirmations}
	next.Confirmations, st, err = AdvanceGroups(t, t.Tracked(), g, o, seen, func(rows []schema.SourceRule) error {
		next.Rows = append(next.Rows, rows...)
		return nil
	})
	_, looked, lookErr := AdvanceGroups(t, t.Tracked(), g, o, seen, nil)
	if (lookErr == nil) != (err == nil) || looked.Changed != st.Changed {
		err = fmt.Errorf("found to be changed: %t %v, and then %t %v", looked.Changed, lookErr, st.Changed, err)
	}
	return next, st, err
}

// TestAdvanceGroups_IsAsAdvance: random readings of rules, with unread campaigns and unreadable kinds, give the same
// versions and the same confirmations, however the rows are divided into batches.
func TestAdvanceGroups_IsAsAdvance(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 0))
	table := schema.SourceRuleHistory
	stayed, changed := 0, 0
	for range 200 {
		var h ruleVersions
		var all []Seen[schema.SourceRule]
		for run := range 8 {
			if run == 0 || d.IntN(2) == 0 {
				all = nil
				for _, campaign := range []string{"", "C1", "C1/", "C2", "C3~"}[d.IntN(2):] {
					for _, source := range []string{"", "a", "a/b", "b"} {
						if d.IntN(2) == 0 {
							all = append(all, blocked(campaign, source))
						}
						if d.IntN(2) == 0 {
							all = append(all, bid(campaign, source, schema.Money(d.IntN(3))))
						}
					}
				}
				slices.SortFunc(all, func(a, b Seen[schema.SourceRule]) int {
					return identityOf(table).compare(&a.Row, &b.Row)
				})
			}
			read := map[string]bool{}
			o := Observation[schema.SourceRule]{Since: hour(2*run + 1), At: hour(2*run + 2),
				RunID: fmt.Sprint("run", run), Patience: 1 + d.IntN(2),
				Absence: func(r *schema.SourceRule) Absence {
					if read[r.CampaignID+" "+r.Rule] {
						return Gone
					}
					return Unknown
				}}
			for _, s := range all {
				is := s.Row.CampaignID + " " + s.Row.Rule
				if _, decided := read[is]; !decided {
					read[is] = d.IntN(6) > 0
				}
				if read[is] {
					o.Seen = append(o.Seen, s)
				}
			}
			want, wantStats, err := Advance(table, table.Tracked(), h, o)
			if err != nil {
				t.Fatal(err)
			}
			got, st, err := byGroups(h, o, 1+d.IntN(5))
			if err != nil || st != wantStats {
				t.Fatalf("%+v, %v; want %+v", st, err, wantStats)
			}
			if diff := cmp.Diff(want, got); diff != "" && len(want.Rows)+len(got.Rows) > 0 {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if h = want; st.Changed {
				changed++
			} else {
				stayed++
			}
		}
	}
	if min(stayed, changed) < 100 {
		t.Errorf("%d readings changed nothing and %d did", stayed, changed)
	}
}

// TestAdvanceGroups_RefusesWhatDoesNotHoldTogether: also where nothing has changed.
func TestAdvanceGroups_RefusesWhatDoesNotHoldTogether(t *testing.T) {
	o := listed(1, blocked("C1", "a"), blocked("C1", "b"), blocked("C2", "a"), blocked("C3", "a"))
	o.Patience = 1
	whole, _, err := byGroups(ruleVersions{}, o, 2)
	if err != nil {
		t.Fatal(err)
	}
	o.Since, o.At = hour(2), hour(2)
	for _, c := range []struct {
		name  string
		spoil func(h *ruleVersions)
		want  string
	}{
		{"a group twice", func(h *ruleVersions) { h.Rows = append(h.Rows, h.Rows[0]) }, "are stored after"},
		{"another account", func(h *ruleVersions) { h.Rows[3].AccountID = "other" }, "are stored after"},
		{"another account in a group", func(h *ruleVersions) { h.Rows[1].AccountID = "other" }, "and of"},
		{"the order in a group", func(h *ruleVersions) { h.Rows[0], h.Rows[1] = h.Rows[1], h.Rows[0] },
			"is stored after"},
		{"a version", func(h *ruleVersions) { h.Rows[1].VersionNo = 2 }, "version 1"},
		{"a group that is not there",
			func(h *ruleVersions) { h.Confirmations = h.Confirmations.With("C9/", 1) }, "no row"},
		{"a key that is not there", func(h *ruleVersions) { h.Confirmations = h.Confirmations.With("C1/z/blocked", 1) },
			"no row"},
		{"a confirmation to come", func(h *ruleVersions) { h.Confirmations = h.Confirmations.With("C1/", hour(9)) },
			"its recorded confirmation is"},
	} {
		h := ruleVersions{Rows: slices.Clone(whole.Rows), Confirmations: whole.Confirmations}
		c.spoil(&h)
		if _, _, err := byGroups(h, o, 3); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), durable.ErrDamaged.Error()) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// groupsOf returns the observed groups, in the given order.
func groupsOf(seen []Seen[schema.SourceRule]) (groups []SeenGroup[schema.SourceRule]) {
	for len(seen) > 0 {
		name, n := seen[0].Row.CampaignID, 1
		for n < len(seen) && seen[n].Row.CampaignID == name {
			n++
		}
		of := seen[:n]
		groups = append(groups, SeenGroup[schema.SourceRule]{Name: name,
			Seen: func() []Seen[schema.SourceRule] { return of }})
		seen = seen[n:]
	}
	return groups
}

// TestAdvanceGroups_PassesOverWhatIsUnchanged: an unchanged group, an unread group and a group that is still deleted
// cost no work per rule, and their rows are unchanged.
func TestAdvanceGroups_PassesOverWhatIsUnchanged(t *testing.T) {
	const campaigns, sources = 50, 40
	table := schema.SourceRuleHistory
	var seen []Seen[schema.SourceRule]
	for c := range campaigns {
		for s := range sources {
			seen = append(seen, bid(fmt.Sprintf("C%02d", c), fmt.Sprintf("s%02d", s), 1))
		}
	}
	gone := listed[schema.SourceRule](2)
	gone.Patience = 1
	gone3 := listed[schema.SourceRule](3)
	gone3.Patience = 1
	for _, c := range []struct {
		name   string
		before []Observation[schema.SourceRule]
		is     Observation[schema.SourceRule]
		want   schema.Instant // confirmed
	}{
		{"seen", []Observation[schema.SourceRule]{listed(1, seen...)}, listed(3, seen...), hour(3)},
		{"not asked for", []Observation[schema.SourceRule]{listed(1, seen...)}, broken[schema.SourceRule](3), hour(1)},
		{"of a run that asks for nothing", []Observation[schema.SourceRule]{listed(1, seen...)},
			Observation[schema.SourceRule]{At: hour(3), RunID: "run-3"}, hour(1)},
		{"still gone", []Observation[schema.SourceRule]{listed(1, seen...), gone}, gone3, hour(3)},
	} {
		var h ruleVersions
		for _, o := range c.before {
			next, _, err := Advance(table, table.Tracked(), h, o)
			if err != nil {
				t.Fatal(err)
			}
			h = next
		}
		o, groups := c.is, groupsOf(c.is.Seen)
		o.Seen = nil
		stored := func(yield func([]schema.SourceRule, error) bool) { yield(h.Rows, nil) }
		rows, changed := 0, false
		advance := func() {
			rows = 0
			confirmed, st, err := AdvanceGroups(table, table.Tracked(),
				Groups[schema.SourceRule]{Stored: stored, Confirmations: h.Confirmations}, o, groups,
				func(some []schema.SourceRule) error {
					changed = changed || !slices.Equal(some, h.Rows[rows:rows+len(some)])
					rows += len(some)
					return nil
				})
			if err != nil || st.Changed || confirmed.Confirmed("C07/s07/bid_override") != c.want ||
				confirmed.SharedCount != campaigns*sources {
				t.Fatalf("%s: %+v, %+v, %v", c.name, st, confirmed, err)
			}
		}
		each := testing.AllocsPerRun(3, advance) / float64(campaigns*sources)
		if changed || rows != len(h.Rows) {
			t.Errorf("%s: %d rows of %d, changed %t", c.name, rows, len(h.Rows), changed)
		}
		if each > 0.5 {
			t.Errorf("%s: %.1f allocations a rule", c.name, each)
		}
	}
}

// TestAdvanceGroups_ConfirmsAsAdvance: also entities of one group that differ in when they were
// confirmed, in whether they could be read, and in their JSON beyond the columns.
func TestAdvanceGroups_ConfirmsAsAdvance(t *testing.T) {
	table := schema.SourceRuleHistory
	unreadBid := func(s Seen[schema.SourceRule]) Seen[schema.SourceRule] { return without(s, "bid") }
	changed := bid("C1", "b", 2)
	changed.Extra = ExtraChanged
	gone := func(source string) func(r *schema.SourceRule) Absence {
		return func(r *schema.SourceRule) Absence {
			if r.SourceID == source {
				return Gone
			}
			return Unknown
		}
	}
	for name, runs := range map[string][]Observation[schema.SourceRule]{
		"unread and filled": {listed(1, unreadBid(bid("C1", "a", 1)), bid("C1", "b", 2)),
			listed(2, unreadBid(bid("C1", "a", 1)), bid("C1", "b", 2)),
			listed(3, bid("C1", "a", 1), bid("C1", "b", 2))},
		"unread after it was read": {listed(1, bid("C1", "a", 1), bid("C1", "b", 2)),
			listed(2, unreadBid(bid("C1", "a", 1)), unreadBid(bid("C1", "b", 2))),
			listed(3, unreadBid(bid("C1", "a", 1)), bid("C1", "b", 2))},
		"changed beyond the columns": {listed(1, bid("C1", "a", 1), bid("C1", "b", 2)),
			listed(2, bid("C1", "a", 1), changed), listed(3, bid("C1", "a", 1), bid("C1", "b", 2))},
		"changed": {listed(1, bid("C1", "a", 1), bid("C2", "a", 2)), listed(2, bid("C1", "a", 1), bid("C2", "a", 3))},
		"one is seen, one was not asked for": {listed(1, bid("C1", "a", 1), bid("C1", "b", 2)),
			broken(2, bid("C1", "b", 2)), broken(3, bid("C1", "a", 1))},
		"one is still gone, one was not asked for": {listed(1, bid("C1", "a", 1), bid("C1", "b", 2)),
			{At: hour(2), RunID: "run-2", Patience: 1, Absence: gone("a")},
			{At: hour(3), RunID: "run-3", Patience: 1, Absence: gone("a")},
			{At: hour(4), RunID: "run-4", Patience: 1, Absence: gone("b"),
				Seen: []Seen[schema.SourceRule]{bid("C1", "a", 1)}}},
	} {
		var h ruleVersions
		for _, o := range runs {
			want, wantStats, err := Advance(table, table.Tracked(), h, o)
			if err != nil {
				t.Fatal(name, err)
			}
			got, st, err := byGroups(h, o, 2)
			if err != nil || st != wantStats {
				t.Errorf("%s, hour %s: %+v, %v; want %+v", name, hourText(o.At), st, err, wantStats)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, hour %s (-want +got):\n%s", name, hourText(o.At), d)
			}
			h = want
		}
	}
}

// TestAdvanceGroups_AddsAColumn and refreshes others: as Advance does after AddColumn.
func TestAdvanceGroups_AddsAColumn(t *testing.T) {
	table := schema.CreativeHistory
	creative := func(id, image string) Seen[schema.Creative] {
		return Seen[schema.Creative]{Row: schema.Creative{AccountID: "acme", CreativeID: id, Title: schema.Some("A"),
			ImageURL: schema.Some(image)}}
	}
	refreshed := table.ColumnsThatAre(schema.Refreshed)
	untitled := func(s Seen[schema.Creative]) Seen[schema.Creative] {
		s.Row.Title = schema.Null[string]{}
		return s
	}
	h, _, err := Advance(table, table.Tracked(), Versions[schema.Creative]{}, listed(1, untitled(creative("k1", "a")),
		untitled(creative("k2", "a"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, added := range [][]string{nil, {"title"}} {
		for name, seen := range map[string][]Seen[schema.Creative]{
			"both":            {creative("k1", "a"), creative("k2", "b")},
			"an image":        {untitled(creative("k1", "a")), untitled(creative("k2", "b"))},
			"neither":         nil,
			"one without one": {without(creative("k1", "a"), "title")},
		} {
			o, read := broken(2, seen...), len(seen) == 2
			o.Refreshed = refreshed
			grown := h
			for _, column := range added {
				if grown, err = AddColumn(table, grown, column); err != nil || !grown.Altered {
					t.Fatalf("altered %t, %v", grown.Altered, err)
				}
			}
			want, wantStats, err := Advance(table, table.Tracked(), grown, o)
			if err != nil || wantStats.Changed != (len(added) > 0 || read) ||
				(wantStats.Filled == 2) != (len(added) > 0 && read) {
				t.Errorf("%s, added %q: changed %t, %v", name, added, wantStats.Changed, err)
			}
			var groups []SeenGroup[schema.Creative]
			for _, s := range seen {
				groups = append(groups, SeenGroup[schema.Creative]{Name: s.Row.CreativeID,
					Seen: func() []Seen[schema.Creative] { return []Seen[schema.Creative]{s} }})
			}
			o.Seen = nil
			got := Versions[schema.Creative]{}
			var st Stats
			got.Confirmations, st, err = AdvanceGroups(table, table.Tracked(),
				Groups[schema.Creative]{Confirmations: h.Confirmations,
					Added:  added,
					Stored: func(yield func([]schema.Creative, error) bool) { yield(h.Rows, nil) },
				}, o, groups, func(rows []schema.Creative) error {
					got.Rows = append(got.Rows, rows...)
					return nil
				})
			if d := cmp.Diff(want, got); d != "" || st != wantStats || err != nil {
				t.Errorf("%s, added %q: %+v, %v; want %+v (-want +got):\n%s", name, added, st, err, wantStats, d)
			}
		}
	}
}
