package load

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// restated are a day's rows after a service has changed its mind about some.
func restated(random *rand.Rand, rows []schema.Spend) []schema.Spend {
	count := func() schema.Null[int64] {
		return schema.Null[int64]{V: random.Int64N(3), Valid: true}
	}
	var is []schema.Spend
	for _, r := range rows {
		switch random.IntN(8) {
		case 0:
			continue
		case 1:
			r.Spend = schema.Money(random.Int64N(1000)) - 500
		case 2:
			r.Clicks, r.Impressions, r.Conversions = count(), schema.Null[int64]{}, count()
		case 3:
			r.Clicks, r.Impressions = schema.Null[int64]{}, count()
		case 4:
			is = append(is, r)
			r = schematest.SpendRow(r.ReportDate, fmt.Sprintf("%s-%d", r.SourceID, random.IntN(1e9)), 7)
		}
		is = append(is, r)
	}
	return is
}

// plainChanges are the lines of spend_change by the plainest way there is.
func plainChanges(was, is []schema.Spend, at schema.Instant, run string) (lines []schema.SpendChange) {
	line := func(r schema.Spend, op string) *schema.SpendChange {
		lines = append(lines, schema.SpendChange{
			AccountID: r.AccountID, ReportDate: r.ReportDate, CampaignID: r.CampaignID, CreativeID: r.CreativeID,
			SourceID: r.SourceID,
			SeenAt:   at, Op: op, RunID: run,
		})
		return &lines[len(lines)-1]
	}
	bySource := func(rows []schema.Spend) map[string]*schema.Spend {
		found := map[string]*schema.Spend{}
		for i := range rows {
			found[rows[i].SourceID] = &rows[i]
		}
		return found
	}
	before, after := bySource(was), bySource(is)
	for _, r := range was {
		n := after[r.SourceID]
		if n != nil && n.Spend == r.Spend && n.Clicks == r.Clicks && n.Impressions == r.Impressions &&
			n.Conversions == r.Conversions {
			continue
		}
		op := schema.OpUpdate
		if n == nil {
			op = schema.OpDelete
		}
		l := line(r, op)
		l.OldSpend, l.OldClicks, l.OldImpressions, l.OldConversions = schema.Some(r.Spend), r.Clicks, r.Impressions,
			r.Conversions
		if n != nil {
			l.NewSpend, l.NewClicks, l.NewImpressions, l.NewConversions = schema.Some(n.Spend), n.Clicks, n.Impressions,
				n.Conversions
		}
	}
	for _, r := range is {
		if before[r.SourceID] == nil {
			l := line(r, schema.OpInsert)
			l.NewSpend, l.NewClicks, l.NewImpressions, l.NewConversions = schema.Some(r.Spend), r.Clicks, r.Impressions,
				r.Conversions
		}
	}
	slices.SortFunc(lines, history.CompareChanges)
	return lines
}

// TestPublish_KeepsEveryRestatement lets a service restate most of two days again and
// again, in more rows than are passed on at a time: the file of each day of seeing has
// every line once, sorted, and is given back whole where it is damaged.
func TestPublish_KeepsEveryRestatement(t *testing.T) {
	schematest.Long(t)
	r := newRun(t, t.TempDir())
	random := rand.New(rand.NewPCG(5, 5))
	days := map[schema.Date][]schema.Spend{day: schematest.SpendOfSources(day, parquet.RecordRows+100),
		day - 1: schematest.SpendOfSources(day-1, 50)}
	r.mustSync(days)
	r.at = r.at.Add(24 * time.Hour)
	want := map[string][]schema.SpendChange{}
	var path string
	for i := range 3 {
		if i == 2 {
			r.at = r.at.Add(24 * time.Hour)
		}
		r.at = r.at.Add(time.Minute)
		path = manifest.PartPath(schema.SpendChanges.Table, r.account, schema.DateOf(r.at))
		for d, was := range days {
			days[d] = restated(random, was)
			want[path] = append(want[path], plainChanges(was, days[d], schema.InstantOf(r.at),
				fmt.Sprintf("run%06d", runs+1))...)
		}
		m := r.mustSync(days)
		slices.SortFunc(want[path], history.CompareChanges)
		got, err := parquet.ReadRows(filepath.Join(r.dir, path), schema.SpendChanges)
		if err != nil || !slices.Equal(got, want[path]) {
			t.Fatalf("run %d: %s has %d lines, want %d: %v", i, path, len(got), len(want[path]), err)
		}
		if n := m.Accounts[r.account].Files[path].Rows; n != int64(len(got)) {
			t.Errorf("run %d: the manifest has %d lines of %d", i, n, len(got))
		}
	}
}
