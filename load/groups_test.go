package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// TestPutGroups_IsAsPutHistory: advancing only the campaigns whose rules have changed gives the same file and the same
// DuckDB rows as advancing all of them.
func TestPutGroups_IsAsPutHistory(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 0))
	dir, table := quickDir(t), schema.SourceRuleHistory
	path := manifest.TablePath(table.Table, "acme", 0)
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	var all history.Versions[schema.SourceRule]
	rules := map[string]map[int]schema.Money{} // by campaign and source
	for i := range 6 {
		r := sceneFirst()
		r.id, r.days, r.at = fmt.Sprintf("run%d", i), nil, r.at.AddDate(0, 0, i)
		s, g, err := r.begin(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for range 1 + d.IntN(3) {
			name := fmt.Sprint("C", d.IntN(8))
			if names = append(names, name); rules[name] == nil {
				rules[name] = map[int]schema.Money{}
			}
			for range 1 + d.IntN(4) {
				if source := d.IntN(6); d.IntN(3) > 0 {
					rules[name][source] = schema.Money(1 + d.IntN(3))
				} else {
					delete(rules[name], source)
				}
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		seen := func(name string) (seen []history.Seen[schema.SourceRule]) {
			for source := range 6 {
				if bid, is := rules[name][source]; is {
					seen = append(seen, history.Seen[schema.SourceRule]{Row: schema.SourceRule{AccountID: "acme",
						CampaignID: name, SourceID: strconv.Itoa(source), Rule: schema.RuleBid, Bid: schema.Some(bid)}})
				}
			}
			return seen
		}
		is := history.Observation[schema.SourceRule]{At: schema.InstantOf(r.at), RunID: r.id, Patience: 1,
			Absence: func(r *schema.SourceRule) history.Absence {
				if slices.Contains(names, r.CampaignID) {
					return history.Gone
				}
				return history.Unknown
			}}
		one, campaignOf := is, func(r *schema.SourceRule) string { return r.CampaignID }
		if err := PutGroups(s, g.Area, &g.settings, table, campaignOf, names, is.At, func(name string,
			h history.Versions[schema.SourceRule]) (history.Versions[schema.SourceRule], error) {
			one.Seen = seen(name)
			h, _, err := history.Advance(table, table.Tracked(), h, one)
			return h, err
		}); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			is.Seen = append(is.Seen, seen(name)...)
		}
		if all, _, err = history.Advance(table, table.Tracked(), all, is); err != nil {
			t.Fatal(err)
		}
		m, err := r.publish(t.Context(), g)
		if err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if _, err := parquet.Write(&want, table.Table, parquet.Record(table, all.Rows)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("run %d: %d bytes, %v; want %d", i, len(got), err, want.Len())
		}
		if got := m.Accounts["acme"].Memory[table.Name]; got.ObservedAt != is.At || len(got.Missed)+len(got.Never) > 0 {
			t.Errorf("run %d: memory %+v", i, got)
		}
		if got := query(t, dir, "SELECT count(*) FROM source_rule_history"); got != strconv.Itoa(len(all.Rows)) {
			t.Errorf("run %d: %s rows, want %d", i, got, len(all.Rows))
		}
	}
}
