package job

import (
	"slices"
	"testing"

	"spendsync/load/history"
	"spendsync/schema"
)

// TestCombinations_OfRowsOfOneKey: rows under different names are parts of one row, as a campaign that was renamed in
// the day has them; others are first taken for one row that was seen twice.
func TestCombinations_OfRowsOfOneKey(t *testing.T) {
	row := func(name string, spend schema.Money) schema.Spend {
		return schema.Spend{CampaignID: "C1", CampaignName: name, CreativeID: "C1-1", SourceID: "S1", Spend: spend}
	}
	other := row("A", 1)
	other.SourceID = "S2"
	type ways = []history.Combination
	newest, added := history.Newest, history.Added
	for what, tc := range map[string]struct {
		rows  []schema.Spend
		lacks []string
		want  ways
		same  bool
	}{
		"no key twice":    {rows: []schema.Spend{row("A", 1), other}, want: ways{history.Apart}},
		"two names":       {rows: []schema.Spend{row("A", 1), row("B", 2)}, want: ways{added, newest}},
		"two names alone": {rows: []schema.Spend{row("A", 1), row("B", 1)}, want: ways{added, newest}},
		"one name":        {rows: []schema.Spend{row("A", 1), row("A", 2)}, want: ways{newest, added}},
		"the same row": {rows: []schema.Spend{row("A", 1), row("A", 1)}, want: ways{newest, added},
			same: true},
		"one name, others": {rows: []schema.Spend{row("A", 1), row("A", 2), row("B", 2)}, want: ways{newest, added}},
		"without an ID": {rows: []schema.Spend{row("A", 1), row("A", 1)}, lacks: []string{"source_id"},
			want: ways{added}},
	} {
		rows := &schema.SpendRows{}
		for _, r := range tc.rows {
			rows.Append(&r)
		}
		got, same := combinations(rows, tc.lacks)
		if !slices.Equal(got, tc.want) || same != tc.same {
			t.Errorf("%s: %q, %t; want %q, %t", what, got, same, tc.want, tc.same)
		}
	}
}
