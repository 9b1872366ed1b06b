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

// byGroups is Advance by AdvanceGroups, of rows in batches of that size, to which columns were added.
func byGroups(h ruleVersions, o Observation[schema.SourceRule], batch int, added ...string) (next ruleVersions,
	st Stats, err error) {
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
	g := Groups[schema.SourceRule]{Stored: stored, Confirmations: h.Confirmations, Added: added}
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
				if d.IntN(8) == 0 {
					s = without(s, "bid")
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

// TestAdvanceGroups_AddsAColumn: as Advance does after AddColumn.
func TestAdvanceGroups_AddsAColumn(t *testing.T) {
	table := schema.SourceRuleHistory
	h, _, err := byGroups(ruleVersions{}, listed(1, blocked("C1", "a"), blocked("C1", "b"), blocked("C2", "a")), 2)
	if err != nil {
		t.Fatal(err)
	}
	grown, err := AddColumn(table, h, "bid")
	if err != nil || !grown.Altered {
		t.Fatalf("altered %t, %v", grown.Altered, err)
	}
	for name, seen := range map[string][]Seen[schema.SourceRule]{
		"one is read": {blocked("C1", "b"), bid("C2", "a", 1)}, "none is read": nil,
	} {
		o := broken(2, seen...)
		want, wantStats, err := Advance(table, table.Tracked(), grown, o)
		if err != nil || !wantStats.Changed {
			t.Errorf("%s: %+v, %v", name, wantStats, err)
		}
		got, st, err := byGroups(h, o, 2, "bid")
		if d := cmp.Diff(want, got); d != "" || st != wantStats || err != nil {
			t.Errorf("%s: %+v, %v; want %+v (-want +got):\n%s", name, st, err, wantStats, d)
		}
	}
}
