package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	g := Groups[schema.SourceRule]{Stored: stored, Memory: h.Memory, Added: added}
	next.Memory, st, err = AdvanceGroups(t, t.Tracked(), g, o, seen, func(rows []schema.SourceRule, _ bool) error {
		next.Rows = append(next.Rows, rows...)
		return nil
	})
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
		var was map[string]schema.Instant
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
			o, wantConfirmed := withReadings(table, o, was)
			want, wantStats, err := Advance(table, table.Tracked(), h, o)
			if err != nil {
				t.Fatal(err)
			}
			o, confirmed := withReadings(table, o, was)
			got, st, err := byGroups(h, o, 1+d.IntN(5))
			if was = confirmed; !maps.Equal(confirmed, wantConfirmed) {
				t.Fatalf("confirmed %v, want %v", confirmed, wantConfirmed)
			}
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
