package load

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/commit"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestPublish_LoadsWhatDiffers lets few or many rows of days change: the DuckDB file
// always has what the Parquet files have, and the sums of it.
func TestPublish_LoadsWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir)
	days := map[schema.Date][]schema.Spend{}
	for d := day - 8; d <= day; d++ {
		days[d] = schematest.SpendOfSources(d, 40)
	}
	sync := func() {
		t.Helper()
		r.at = r.at.Add(time.Minute)
		read := map[schema.Date][]schema.Spend{}
		for d, rows := range days {
			read[d] = slices.Clone(rows)
		}
		r.mustSync(read)
		for _, table := range []string{"spend_daily", "spend_change"} {
			parquet := fmt.Sprintf("read_parquet(%s, hive_partitioning = false)",
				schema.QuoteText(filepath.Join(dir, "parquet", table, "*", "*", "*.parquet")))
			for _, q := range []string{"FROM %[1]s EXCEPT ALL FROM %[2]s", "FROM %[2]s EXCEPT ALL FROM %[1]s"} {
				if table == "spend_change" && query(t, dir, "SELECT count(*) FROM spend_change") == "0" {
					continue
				}
				if got := query(t, dir, fmt.Sprintf(q, "main."+table, parquet)); got != "" {
					t.Fatalf("%s: only on one side:\n%s", table, got)
				}
			}
		}
		if got := query(t, dir, "FROM mart.campaign_spend EXCEPT ALL ("+schema.CampaignSpendSQL("true")+
			")"); got != "" {
			t.Fatalf("mart.campaign_spend is not what spend_daily adds up to:\n%s", got)
		}
	}
	sync()
	random := rand.New(rand.NewPCG(6, 11))
	for range 5 {
		for _, d := range []schema.Date{day - 1, day} {
			for range []int{0, 2, 30, 30}[random.IntN(4)] {
				switch i := random.IntN(len(days[d])); random.IntN(4) {
				case 0:
					days[d] = slices.Insert(days[d], i, schematest.SpendRow(d, fmt.Sprintf("N%d", random.IntN(1e9)), 5))
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

// TestLoadDays_TakesOutWhatIsStale stages days with few new rows, one with many, one that differs completely, and an
// empty one whose stored rows cannot be read: for the first only the differing rows are loaded, for the others all
// rows.
func TestLoadDays_TakesOutWhatIsStale(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.mustSync(map[schema.Date][]schema.Spend{
		day: schematest.SpendOfSources(day, 40), day - 1: schematest.SpendOfSources(day-1, 40),
		day - 2: schematest.SpendOfSources(day-2, 40), day - 3: schematest.SpendOfSources(day-3, 40),
		day - 4: schematest.SpendOfSources(day-4, 40),
	})
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
	for d, n := range map[schema.Date]int{day: 2, day - 1: 20, day - 2: 0, day - 3: 0, day - 4: 0} {
		rows := schematest.SpendOfSources(d, 41) // one is new
		if d == day-4 {
			rows = nil
		}
		for i := range n {
			rows[i].Spend++
		}
		for i := range rows {
			rows[i].RunID = "again"
			if d == day-3 && i > 10 {
				rows[i].SourceID += "x"
			}
		}
		sealed, err := history.NewDay(schematest.Packed(rows))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.PutDay(t.Context(), DayRead{Day: d, Damaged: d == day-4}, sealed); err != nil {
			t.Fatal(err)
		}
	}
	base, _, err := g.store.begin("again")
	if err != nil {
		t.Fatal(err)
	}
	u := updates{changed: map[schema.Date]bool{}}
	u.loadDays(g, base.Accounts["acme"])
	var got []string
	for _, l := range u.loads {
		if l.Query != "" {
			continue // follows from the rows, however they came
		}
		for _, q := range l.Statements(false) {
			got = append(got, strings.NewReplacer(schema.SpendDaily.SQLColumns(), "*", g.area.dir, "", `"`, "",
				"parquet~spend_daily~account=acme~day=", "",
				"~data.parquet"+commit.StagedSuffix, "").Replace(q))
		}
	}
	want := []string{
		"DELETE FROM main.spend_daily WHERE account_id = 'acme' AND report_date IN (DATE '2026-11-16', DATE " +
			"'2026-11-17', DATE '2026-11-19')",
		"INSERT INTO main.spend_daily SELECT * FROM read_parquet(['/2026-11-16', '/2026-11-17', '/2026-11-19'], " +
			"hive_partitioning = false)",
		"DELETE FROM main.spend_daily AS t USING read_parquet(['/stale~2026-11-20" + commit.StagedSuffix +
			"'], hive_partitioning = false) AS stale WHERE " +
			"t.account_id = stale.account_id AND t.report_date = stale.report_date AND t.campaign_id = " +
			"stale.campaign_id AND t.creative_id = stale.creative_id AND t.source_id = stale.source_id",
		"INSERT INTO main.spend_daily SELECT * FROM read_parquet(['/2026-11-18', '/2026-11-20'], hive_partitioning = " +
			"false) WHERE _run_id = 'again'",
	}
	if !slices.Equal(got, want) {
		t.Errorf("statements =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
