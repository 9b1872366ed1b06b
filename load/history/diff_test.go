package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"spendsync/schema"
	"spendsync/schema/schematest"
)

const day = schema.Date(20777) // 2026-11-20

func unpacked(p *schema.SpendRows) (rows []schema.Spend) {
	for _, r := range p.All() {
		rows = append(rows, *r)
	}
	return rows
}

func TestDay_Merge(t *testing.T) {
	was := func(edit ...func([]schema.Spend) []schema.Spend) []schema.Spend {
		rows := schematest.SpendOfSources(day, 40)
		for i := range rows {
			rows[i].FirstSeenAt, rows[i].ChangedAt, rows[i].RunID = 10, 20, "old"
		}
		for _, e := range edit {
			rows = e(rows)
		}
		return rows
	}
	is := func(edit ...func([]schema.Spend) []schema.Spend) []schema.Spend {
		rows := was(edit...)
		for i := range rows {
			rows[i].FirstSeenAt, rows[i].ChangedAt, rows[i].RunID = 30, 30, "new"
		}
		return rows
	}
	spend := func(at ...int) func([]schema.Spend) []schema.Spend {
		return func(rows []schema.Spend) []schema.Spend {
			for _, i := range at {
				rows[i].Spend++
			}
			return rows
		}
	}
	drop := func(i, n int) func([]schema.Spend) []schema.Spend {
		return func(rows []schema.Spend) []schema.Spend { return slices.Delete(rows, i, i+n) }
	}
	rename := func(rows []schema.Spend) []schema.Spend {
		rows[7].CampaignName = "Spring"
		return rows
	}
	for name, c := range map[string]struct {
		was, is []schema.Spend
		diff    Diff
		stale   string // sources; "all" for nil
		changes string // op and source
	}{
		"nothing stored": {nil, is(), Diff{Inserted: 40}, "all", strings.Repeat("insert ", 40)},
		"the same":       {was(), is(), Diff{}, "", ""},
		"two updated":    {was(), is(spend(0, 39)), Diff{Updated: 2}, "S000 S039", "update update "},
		"a name":         {was(), is(rename), Diff{Updated: 1}, "S007", ""},
		"five of 40": {was(), is(spend(1, 2, 3, 4, 5)), Diff{Updated: 5}, "S001 S002 S003 S004 S005",
			"update update update update update "},
		"six of 40 is many": {was(), is(spend(1, 2, 3, 4, 5, 6)), Diff{Updated: 6}, "all",
			strings.Repeat("update ", 6)},
		"the last gone":    {was(), is(drop(39, 1)), Diff{Deleted: 1}, "S039", "delete "},
		"the first is new": {was(drop(0, 1)), is(), Diff{Inserted: 1}, "", "insert "},
		"one of each": {was(drop(3, 1)), is(drop(20, 1), spend(30)), Diff{Inserted: 1, Updated: 1, Deleted: 1},
			"S020 S031", "insert delete update "},
		"all gone": {was(), nil, Diff{Deleted: 40}, "all", strings.Repeat("delete ", 40)},
	} {
		for _, size := range []int{1, 7, 100, -100} { // below 0: of a day that was not over
			over := size > 0
			size = max(size, -size)
			stored, want := slices.Clone(c.was), slices.Clone(c.is)
			for i := range want {
				for _, w := range stored {
					if w.SourceID != want[i].SourceID {
						continue
					}
					want[i].FirstSeenAt = w.FirstSeenAt
					if w.Spend == want[i].Spend && w.CampaignName == want[i].CampaignName {
						want[i] = w
					}
				}
			}
			rows := schematest.Packed(c.is)
			reading := ReadTime{At: 30, RunID: "new", WasOver: over}
			m, err := sealed(t, rows).Merge(schematest.Batches(stored, size), reading)
			if err != nil {
				t.Fatal(err)
			}
			if got := unpacked(rows); !slices.Equal(got, want) {
				t.Errorf("%s, by %d: rows =\n%v\nwant\n%v", name, size, got, want)
			}
			stale := "all"
			if m.Stale != nil {
				var sources []string
				for _, r := range m.Stale {
					sources = append(sources, r.SourceID)
				}
				stale = strings.Join(sources, " ")
			}
			changes := ""
			for ch := range m.Changes.All() {
				changes += ch.Op + " "
				numbers := fmt.Sprint(spentIn(c.was, ch.SourceID), spentIn(c.is, ch.SourceID))
				if got := fmt.Sprint(ch.OldSpend, ch.NewSpend); got != numbers || ch.SeenAt != 30 || ch.RunID != "new" {
					t.Errorf("%s, by %d: %+v, want %s", name, size, ch, numbers)
				}
				if ch.SourceID == "" {
					t.Errorf("%s, by %d: a change kept a text that was only lent: %+v", name, size, ch)
				}
			}
			wantChanges := c.changes
			if !over || len(c.was) == 0 {
				wantChanges = "" // that is the day going on, or a day that was taken for an empty one
			}
			if m.Diff != c.diff || stale != c.stale || changes != wantChanges {
				t.Errorf("%s, by %d: %+v, stale %q, changes %q; want %+v, %q, %q", name, size, m.Diff, stale, changes,
					c.diff, c.stale, wantChanges)
			}
		}
	}
	if n := (*Changes)(nil).Len(); n != 0 {
		t.Errorf("no changes are %d", n)
	}
	broken := errors.New("broken")
	failing := func(yield func([]schema.Spend, error) bool) { yield(nil, broken) }
	_, err := sealed(t, schematest.Packed(is())).Merge(failing, ReadTime{})
	if !errors.Is(err, broken) {
		t.Errorf("a day that cannot be read: %v, want %v", err, broken)
	}
}

// spentIn is what the row of a source spent; NULL if there is none.
func spentIn(rows []schema.Spend, source string) schema.Null[schema.Money] {
	for i := range rows {
		if rows[i].SourceID == source {
			return schema.Some(rows[i].Spend)
		}
	}
	return schema.Null[schema.Money]{}
}

// TestDay_MergeKeepsNoLentText: the memory of stored texts is reused for the next batch.
func TestDay_MergeKeepsNoLentText(t *testing.T) {
	stored := schematest.SpendOfSources(day, 20)
	read := slices.Concat(stored[:2], stored[3:])
	for i := range stored {
		stored[i].RunID = "old"
	}
	stored[5].Spend++
	lent := func(yield func([]schema.Spend, error) bool) {
		for i := range stored {
			row := stored[i]
			memory := []byte(row.SourceID + row.RunID)
			row.SourceID = unsafe.String(&memory[0], len(row.SourceID))
			row.RunID = unsafe.String(&memory[len(row.SourceID)], len(row.RunID))
			more := yield([]schema.Spend{row}, nil)
			copy(memory, "xxxxxxxxxx")
			if !more {
				return
			}
		}
	}
	rows := schematest.Packed(read)
	m, err := sealed(t, rows).Merge(lent, ReadTime{At: 30, RunID: "new", WasOver: true})
	if err != nil || len(m.Stale) != 2 || m.Stale[0].SourceID != "S002" || m.Stale[1].SourceID != "S005" {
		t.Errorf("stale: %+v, %v", m.Stale, err)
	}
	for ch := range m.Changes.All() {
		if ch.SourceID != "S002" && ch.SourceID != "S005" {
			t.Errorf("a change of source %q", ch.SourceID)
		}
	}
	for _, r := range unpacked(rows) {
		if want := map[bool]string{true: "", false: "old"}[r.SourceID == "S005"]; r.RunID != want {
			t.Errorf("source %s is of run %q, want %q", r.SourceID, r.RunID, want)
		}
	}
}

// BenchmarkDay_Merge merges a day that was read again with the stored day, from which one row in a hundred differs,
// and hashes it.
func BenchmarkDay_Merge(b *testing.B) {
	stored := schematest.SpendOfSources(day, 100_000)
	slices.SortFunc(stored, func(a, b schema.Spend) int { return CompareKeys(&a, &b) })
	read := schematest.Packed(stored)
	for i := 0; i < len(stored); i += 100 {
		stored[i].Spend++
	}
	batches := func(yield func([]schema.Spend, error) bool) {
		for batch := range slices.Chunk(stored, 4_096) {
			if !yield(batch, nil) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		d, err := NewDay(read)
		if err != nil {
			b.Fatal(err)
		}
		if m, err := d.Merge(batches, ReadTime{At: 30, RunID: "new", WasOver: true}); err != nil ||
			m.Diff.Updated != 1_000 {
			b.Fatal(m.Diff, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(stored)), "ns/row")
}

// TestDay_RefusesWhatSumsCannotHold: no sum of some of a day's rows goes beyond
// DECIMAL(18,6), so that DuckDB can make each.
func TestDay_RefusesWhatSumsCannotHold(t *testing.T) {
	half := schema.MaxMoney/2 + 1
	for _, c := range []struct {
		spend []schema.Money
		sum   schema.Money
		err   error
	}{
		{spend: []schema.Money{schema.MaxMoney}, sum: schema.MaxMoney},
		{spend: []schema.Money{-1, 3, -5}, sum: -3},
		{spend: []schema.Money{half, half}, err: schema.ErrRange},
		{spend: []schema.Money{-half, half}, err: schema.ErrRange},
		{spend: []schema.Money{-half, half, half}, err: schema.ErrRange},
	} {
		var rows []schema.Spend
		for i, m := range c.spend {
			rows = append(rows, schematest.SpendRow(day, fmt.Sprint("S", i), m))
		}
		sums, err := sumDay(schematest.Packed(rows))
		if !errors.Is(err, c.err) || err == nil && sums.Spend != c.sum {
			t.Errorf("%v add up to %v, %v, want %v, %v", c.spend, sums.Spend, err, c.sum, c.err)
		}
	}
}

// TestDay_TakesCountsBack: a credit has counts below zero, and a sum may be so, too; one
// that wraps around is refused.
func TestDay_TakesCountsBack(t *testing.T) {
	for _, c := range []struct {
		clicks []int64
		sum    int64
		err    error
	}{
		{clicks: []int64{-3}, sum: -3}, {clicks: []int64{5, -8, 1}, sum: -2},
		{clicks: slices.Repeat([]int64{999_999_999_999_999_999}, 10), err: schema.ErrRange},
		{clicks: slices.Repeat([]int64{-999_999_999_999_999_999}, 10), err: schema.ErrRange},
	} {
		var rows []schema.Spend
		for i, n := range c.clicks {
			row := schematest.SpendRow(day, fmt.Sprint("S", i), 0)
			row.Clicks = schema.Some(n)
			rows = append(rows, row)
		}
		sums, err := sumDay(schematest.Packed(rows))
		if !errors.Is(err, c.err) || err == nil && sums.Clicks.V != c.sum {
			t.Errorf("%v add up to %v, %v, want %v, %v", c.clicks, sums.Clicks, err, c.sum, c.err)
		}
	}
}

// sealed is a day of rows that are in order.
func sealed(t *testing.T, rows *schema.SpendRows) *Day {
	t.Helper()
	d, err := NewDay(rows)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
