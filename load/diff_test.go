package load

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/schema"
)

// manySources are the rows of a day with so many sources.
func manySources(d schema.Date, n int) []schema.Spend {
	rows := make([]schema.Spend, n)
	for i := range rows {
		rows[i] = spendRow(d, fmt.Sprintf("S%03d", i), schema.Money(i+1)*1_000_000)
	}
	return rows
}

func asBatches(rows []schema.Spend, size int) iter.Seq2[[]schema.Spend, error] {
	return func(yield func([]schema.Spend, error) bool) {
		for batch := range slices.Chunk(rows, size) {
			lent := slices.Clone(batch)
			more := yield(lent, nil)
			clear(lent) // the batch was only lent
			if !more {
				return
			}
		}
	}
}

func TestMergeDay(t *testing.T) {
	was := func(edit ...func([]schema.Spend) []schema.Spend) []schema.Spend {
		rows := manySources(day, 40)
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
		diff    DayDiff
		stale   string // sources; "all" for nil
		changes string // op and source
	}{
		"nothing stored":    {nil, is(), DayDiff{Inserted: 40}, "all", strings.Repeat("insert ", 40)},
		"the same":          {was(), is(), DayDiff{}, "", ""},
		"two updated":       {was(), is(spend(0, 39)), DayDiff{Updated: 2}, "S000 S039", "update update "},
		"a name":            {was(), is(rename), DayDiff{Updated: 1}, "S007", ""},
		"five of 40":        {was(), is(spend(1, 2, 3, 4, 5)), DayDiff{Updated: 5}, "S001 S002 S003 S004 S005", "update update update update update "},
		"six of 40 is many": {was(), is(spend(1, 2, 3, 4, 5, 6)), DayDiff{Updated: 6}, "all", strings.Repeat("update ", 6)},
		"the last gone":     {was(), is(drop(39, 1)), DayDiff{Deleted: 1}, "S039", "delete "},
		"the first is new":  {was(drop(0, 1)), is(), DayDiff{Inserted: 1}, "", "insert "},
		"one of each":       {was(drop(3, 1)), is(drop(20, 1), spend(30)), DayDiff{Inserted: 1, Updated: 1, Deleted: 1}, "S020 S031", "insert delete update "},
		"all gone":          {was(), nil, DayDiff{Deleted: 40}, "all", strings.Repeat("delete ", 40)},
	} {
		for _, size := range []int{1, 7, 100, -100} { // below 0: of a day that was going on
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
			rows := packed(c.is)
			m, err := MergeDay(asBatches(stored, size), rows, Reading{At: 30, RunID: "new", WasOver: over})
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
				if ch.SourceID == "" {
					t.Errorf("%s, by %d: a change kept a text that was only lent: %+v", name, size, ch)
				}
			}
			wantChanges := c.changes
			if !over {
				wantChanges = "" // that is the day going on
			}
			if m.Diff != c.diff || stale != c.stale || changes != wantChanges {
				t.Errorf("%s, by %d: %+v, stale %q, changes %q; want %+v, %q, %q", name, size, m.Diff, stale, changes, c.diff, c.stale, wantChanges)
			}
		}
	}
	broken := errors.New("broken")
	_, err := MergeDay(func(yield func([]schema.Spend, error) bool) { yield(nil, broken) }, packed(is()), Reading{})
	if !errors.Is(err, broken) {
		t.Errorf("a day that cannot be read: %v, want %v", err, broken)
	}
}

// BenchmarkMergeDay lays a day that was read again over the same day as stored, of which
// one row in a hundred differs, and hashes it.
func BenchmarkMergeDay(b *testing.B) {
	stored := manySources(day, 100_000)
	slices.SortFunc(stored, func(a, b schema.Spend) int { return compareKeys(&a, &b) })
	read := packed(stored)
	for i := 0; i < len(stored); i += 100 {
		stored[i].Spend++
	}
	batches := func(yield func([]schema.Spend, error) bool) {
		for batch := range slices.Chunk(stored, recordRows) {
			if !yield(batch, nil) {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := SortDay(read); err != nil {
			b.Fatal(err)
		}
		HashDay(read)
		if m, err := MergeDay(batches, read, Reading{At: 30, RunID: "new", WasOver: true}); err != nil || m.Diff.Updated != 1_000 {
			b.Fatal(m.Diff, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(stored)), "ns/row")
}

// TestSumDay_RefusesWhatSumsCannotHold: no sum of some of a day's rows goes beyond
// DECIMAL(18,6), so that DuckDB can make each.
func TestSumDay_RefusesWhatSumsCannotHold(t *testing.T) {
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
			rows = append(rows, spendRow(day, fmt.Sprint("S", i), m))
		}
		sums, err := SumDay(packed(rows))
		if !errors.Is(err, c.err) || err == nil && sums.Spend != c.sum {
			t.Errorf("%v add up to %v, %v, want %v, %v", c.spend, sums.Spend, err, c.sum, c.err)
		}
	}
}

// TestSumDay_TakesCountsBack: a credit has counts below zero, and a sum may be so, too; one
// that wraps around is refused.
func TestSumDay_TakesCountsBack(t *testing.T) {
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
			row := spendRow(day, fmt.Sprint("S", i), 0)
			row.Clicks = schema.Some(n)
			rows = append(rows, row)
		}
		sums, err := SumDay(packed(rows))
		if !errors.Is(err, c.err) || err == nil && sums.Clicks.V != c.sum {
			t.Errorf("%v add up to %v, %v, want %v, %v", c.clicks, sums.Clicks, err, c.sum, c.err)
		}
	}
}

// TestPublish_LoadsWhatDiffers lets few or many rows of days change: the DuckDB file
// always has what the Parquet files have, and the sums of it.
func TestPublish_LoadsWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir)
	days := map[schema.Date][]schema.Spend{day: manySources(day, 40), day - 1: manySources(day-1, 40)}
	sync := func() {
		t.Helper()
		r.at = r.at.Add(time.Minute)
		read := map[schema.Date][]schema.Spend{}
		for d, rows := range days {
			read[d] = slices.Clone(rows)
		}
		r.mustSync(read)
		for _, table := range []string{"spend_daily", "spend_change"} {
			parquet := fmt.Sprintf("read_parquet(%s, hive_partitioning = false)", schema.QuoteText(filepath.Join(dir, "parquet", table, "*", "*", "*.parquet")))
			for _, q := range []string{"FROM %[1]s EXCEPT ALL FROM %[2]s", "FROM %[2]s EXCEPT ALL FROM %[1]s"} {
				if table == "spend_change" && query(t, dir, "SELECT count(*) FROM spend_change") == "0" {
					continue
				}
				if got := query(t, dir, fmt.Sprintf(q, "main."+table, parquet)); got != "" {
					t.Fatalf("%s: only on one side:\n%s", table, got)
				}
			}
		}
		if got := query(t, dir, "FROM mart.campaign_spend EXCEPT ALL ("+schema.CampaignSpendSQL("true")+")"); got != "" {
			t.Fatalf("mart.campaign_spend is not what spend_daily adds up to:\n%s", got)
		}
	}
	sync()
	random := rand.New(rand.NewPCG(6, 11))
	for range 5 {
		for d := range days {
			for range []int{0, 1, 3, 30}[random.IntN(4)] {
				switch i := random.IntN(len(days[d])); random.IntN(4) {
				case 0:
					days[d] = slices.Insert(days[d], i, spendRow(d, fmt.Sprintf("N%d", random.IntN(1e9)), 5))
				case 1:
					days[d] = slices.Delete(days[d], i, i+1)
				default:
					days[d][i].Conversions = schema.Some(random.Int64N(9))
				}
			}
		}
		sync()
	}
}

// TestAddDays_TakesOutWhatIsStale stages a day of which little is new and one of
// which much is: of the first only what differs is loaded.
func TestAddDays_TakesOutWhatIsStale(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.mustSync(map[schema.Date][]schema.Spend{day: manySources(day, 40), day - 1: manySources(day-1, 40), day - 2: manySources(day-2, 40)})
	s, err := Open(t.Context(), r.dir, r.account, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g, err := s.Begin("again")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Discard()
	for d, n := range map[schema.Date]int{day: 2, day - 1: 20, day - 2: 0} {
		rows := manySources(d, 41) // one is new
		for i := range n {
			rows[i].Spend++
		}
		for i := range rows {
			rows[i].RunID = "again"
		}
		read := packed(rows)
		m, err := MergeDay(s.StoredDay(d), read, Reading{RunID: "again"})
		if err != nil {
			t.Fatal(err)
		}
		err = g.PutDay(t.Context(), ProvenDay{Day: d, Sums: Sums{Rows: 41}, Records: records(unpacked(read)), Stale: m.Stale})
		if err != nil {
			t.Fatal(err)
		}
	}
	n, err := g.newGeneration(Publication{})
	if err != nil {
		t.Fatal(err)
	}
	n.addDays()
	var got []string
	for _, l := range n.loads {
		if l.table == schema.CampaignSpends.Table {
			continue // summed anew, however the rows came
		}
		for _, q := range l.statements(false) {
			got = append(got, strings.NewReplacer(schema.SpendDaily.SQLColumns(), "*", g.dir, "", "parquet~spend_daily~account=acme~day=", "", "~data.parquet"+stagedSuffix, "", `"`, "").Replace(q))
		}
	}
	want := []string{
		"DELETE FROM main.spend_daily WHERE account_id = 'acme' AND report_date BETWEEN DATE '2026-11-19' AND DATE '2026-11-19'",
		"INSERT INTO main.spend_daily SELECT * FROM read_parquet(['/2026-11-19'], hive_partitioning = false)",
		"DELETE FROM main.spend_daily AS t USING read_parquet(['/stale~2026-11-20" + stagedSuffix + "'], hive_partitioning = false) AS stale WHERE " +
			"t.account_id = stale.account_id AND t.report_date = stale.report_date AND t.campaign_id = stale.campaign_id AND t.creative_id = stale.creative_id AND t.source_id = stale.source_id",
		"INSERT INTO main.spend_daily SELECT * FROM read_parquet(['/2026-11-18', '/2026-11-20'], hive_partitioning = false) WHERE _run_id = 'again'",
	}
	if !slices.Equal(got, want) {
		t.Errorf("statements =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
