package market

import (
	"fmt"
	"slices"
	"testing"

	"spendsync/schema/schematest"
)

// broken returns the campaigns for which mart.breaks has a break of conversions.
func (q *Questions) broken(t *testing.T) []string {
	t.Helper()
	return q.texts(t, "SELECT campaign_id FROM mart.breaks WHERE kind IN ('conversions_stopped', 'conversions_fell')")
}

// TestBreaks_HalfOfTheConversions removes half of the conversions of all campaigns. It counts the mornings until
// mart.breaks names a campaign, by the campaign's conversions a day before the loss. With few conversions a day, even a
// test that knows the true rates cannot distinguish the loss from chance in time. The test also counts the campaigns
// that mart.breaks names in worlds without a break.
func TestBreaks_HalfOfTheConversions(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context(), "breaks")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	quiet, all, few, many := 0, 0, []int{}, []int{}
	worlds := max(6, *worlds)
	for seed := range uint64(worlds) {
		k := Usual
		k.Campaigns, k.Sources, k.History, k.Follow, k.SpendPerDay = 4, 60, 60, 2, 300
		alarms := map[string]bool{}
		Play(k.Draw(seed+700), Func(func(m *Morning) []bool {
			q.Sync(t.Context(), m)
			for _, c := range q.broken(t) {
				alarms[c] = true
			}
			return m.Blocked
		}))
		quiet, all = quiet+len(alarms), all+k.Campaigns
		if int(seed) >= worlds/2 {
			continue
		}
		k.Follow, k.Broken = 14, Break{Campaigns: k.Campaigns, From: 60, Until: 99, Lost: 0.5}
		first, before := make([]int, k.Campaigns), make([]float64, k.Campaigns)
		Play(k.Draw(seed+700), Func(func(m *Morning) []bool {
			if m.Day == k.History {
				for i, p := range m.World.pairs {
					for d, spend := range m.Spend[i][:m.Day] {
						before[p.campaign] += spend * p.rate[d] / float64(m.Day)
					}
				}
			} else if m.Day%2 == 1 {
				q.Sync(t.Context(), m)
				seen := q.broken(t)
				for c := range first {
					if first[c] == 0 && slices.Contains(seen, fmt.Sprintf("c%02d", c)) {
						first[c] = m.Day - k.History
					}
				}
			}
			return m.Blocked
		}))
		for c := range first {
			if before[c] < 10 {
				few = append(few, first[c])
			} else {
				many = append(many, first[c])
			}
		}
		if q.Err != nil {
			t.Fatal(q.Err)
		}
	}
	t.Logf("mornings until half of the conversions were missed: of ten a day and more %v, of fewer %v (0: not within "+
		"13); %d of %d quiet campaigns named", many, few, quiet, all)
	missed := 0
	for _, s := range many {
		if s == 0 {
			missed++
		}
	}
	if len(many) == 0 || 2*missed > len(many) {
		t.Errorf("of %d breaks of campaigns with ten conversions a day or more %d are not seen", len(many), missed)
	}
	if float64(quiet) > 0.05*float64(all)+1 {
		t.Errorf("%d of %d quiet campaigns are said to be broken", quiet, all)
	}
}

// TestBreaks_ThatAreOverCountForNothing breaks a campaign for a week in the middle of its history. The campaign must
// have the same verdict as without the break, and a CPA that is at most 10 % higher.
func TestBreaks_ThatAreOverCountForNothing(t *testing.T) {
	schematest.Long(t)
	q, err := NewQuestions(t.Context(), "source_block_candidates", "campaign_performance")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	k := Usual
	k.Campaigns, k.Sources, k.History, k.Follow, k.SpendPerDay, k.New, k.Turn = 3, 40, 45, 1, 400, 0, 0
	judge := func(b Break) (judged, within []string) {
		k.Broken = b
		Play(k.Draw(71), Func(func(m *Morning) []bool { q.Sync(t.Context(), m); return m.Blocked }))
		if q.Err != nil {
			t.Fatal(q.Err)
		}
		return q.texts(t, "SELECT verdict || ' ' || regexp_extract(reason, 'costs \\$([0-9.]+)', 1) FROM "+
				"mart.campaign_performance WHERE campaign_id = 'c00'"),
			q.texts(t, "SELECT report_date::VARCHAR FROM int.break_day WHERE is_over AND campaign_id = 'c00'")
	}
	whole, none := judge(Break{})
	mended, days := judge(Break{Campaigns: 1, From: 25, Until: 32, Lost: 0.9})
	if len(none) > 0 || len(days) < 6 || len(days) > 9 {
		t.Fatalf("days of a break: %v without one, %v with one of seven days", none, days)
	}
	var verdicts [2]string
	var a, b float64
	if _, err := fmt.Sscan(whole[0]+" "+mended[0], &verdicts[0], &a, &verdicts[1], &b); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s at a CPA of %.2f without a break, %s at %.2f with one that is over", verdicts[0], a, verdicts[1], b)
	if b > 1.1*a || verdicts[0] != verdicts[1] {
		t.Errorf("the break that is over changes the verdict from %s at %.2f to %s at %.2f", verdicts[0], a,
			verdicts[1], b)
	}
}
