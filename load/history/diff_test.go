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
		changes string // operation and source
	}{
		"nothing stored":   {nil, is(), Diff{Inserted: 40}, strings.Repeat("insert ", 40)},
		"the same":         {was(), is(), Diff{}, ""},
		"two updated":      {was(), is(spend(0, 39)), Diff{Updated: 2}, "update update "},
		"a name":           {was(), is(rename), Diff{}, ""},
		"the last gone":    {was(), is(drop(39, 1)), Diff{Deleted: 1}, "delete "},
		"the first is new": {was(drop(0, 1)), is(), Diff{Inserted: 1}, "insert "},
		"one of each": {was(drop(3, 1)), is(drop(20, 1), spend(30)), Diff{Inserted: 1, Updated: 1, Deleted: 1},
			"insert delete update "},
		"all gone": {was(), nil, Diff{Deleted: 40}, strings.Repeat("delete ", 40)},
	} {
		for _, size := range []int{1, 7, 100, -100} { // negative: the stored day was not over
			over := size > 0
			size = max(size, -size)
			stored, want := slices.Clone(c.was), slices.Clone(c.is)
			for i := range want {
				for _, w := range stored {
					if w.SourceID != want[i].SourceID {
						continue
					}
					want[i].FirstSeenAt = w.FirstSeenAt
					if name := want[i].CampaignName; w.Spend == want[i].Spend {
						want[i] = w
						want[i].CampaignName = name // a label
					}
				}
			}
			rows := schematest.Packed(c.is)
			changes := ""
			restate := func(ch schema.SpendChange) bool {
				changes += ch.Op + " "
				numbers := fmt.Sprint(spentIn(c.was, ch.SourceID), spentIn(c.is, ch.SourceID))
				if got := fmt.Sprint(ch.OldSpend, ch.NewSpend); got != numbers || ch.SeenAt != 30 || ch.RunID != "new" {
					t.Errorf("%s, by %d: %+v, want %s", name, size, ch, numbers)
				}
				return true
			}
			wantChanges := c.changes
			if !over { // changes of a day that is not over are not restatements
				restate, wantChanges = nil, ""
			}
			m, err := sealed(t, rows).Merge(schematest.Batches(stored, size), ReadTime{At: 30, RunID: "new"}, restate)
			if err != nil {
				t.Fatal(err)
			}
			if got := unpacked(rows); !slices.Equal(got, want) {
				t.Errorf("%s, by %d: rows =\n%v\nwant\n%v", name, size, got, want)
			}
			if m.Diff != c.diff || changes != wantChanges {
				t.Errorf("%s, by %d: %+v, changes %q; want %+v, %q", name, size, m.Diff, changes, c.diff, wantChanges)
			}
		}
	}
	broken := errors.New("broken")
	failing := func(yield func([]schema.Spend, error) bool) { yield(nil, broken) }
	_, err := sealed(t, schematest.Packed(is())).Merge(failing, ReadTime{}, nil)
	if !errors.Is(err, broken) {
		t.Errorf("a day that cannot be read: %v, want %v", err, broken)
	}
}

// spentIn returns the spend of a source's row; NULL if there is no row.
func spentIn(rows []schema.Spend, source string) schema.Null[schema.Money] {
	for i := range rows {
		if rows[i].SourceID == source {
			return schema.Some(rows[i].Spend)
		}
	}
	return schema.Null[schema.Money]{}
}

// TestDay_MergeKeepsNoLentText: Merge must copy texts of stored rows, because their memory is reused for the next
// batch.
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
	var changes []schema.SpendChange
	_, err := sealed(t, rows).Merge(lent, ReadTime{At: 30, RunID: "new"}, func(ch schema.SpendChange) bool {
		changes = append(changes, ch)
		return true
	})
	if err != nil || len(changes) != 2 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
	for _, ch := range changes {
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

// BenchmarkDay_Merge hashes a day and merges it with the stored rows, of which one in a hundred differs.
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
		m, err := d.Merge(batches, ReadTime{At: 30, RunID: "new"}, func(schema.SpendChange) bool { return true })
		if err != nil || m.Diff.Updated != 1_000 {
			b.Fatal(m.Diff, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(stored)), "ns/row")
}

// TestDay_TakesCountsBack: credits have negative counts, and sums may be negative. A sum that overflows is refused.
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

// sealed returns a day of rows that are in key order.
func sealed(t *testing.T, rows *schema.SpendRows) *Day {
	t.Helper()
	d, err := NewDay(rows)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
