package load

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

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
