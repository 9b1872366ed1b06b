package queries_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"spendsync/schema/schematest"
)

// aCampaign is the true history of a campaign: when the campaign was paused and resumed, and what it spent. The test
// compares the views with this history.
type aCampaign struct {
	id       string
	switched []time.Time // instants of pause, resume, pause and so on; the campaign is active at first
	leaks    bool        // the campaign spends while it is paused
}

// activeAt reports whether the campaign was active at an instant.
func (c *aCampaign) activeAt(at time.Time) bool {
	n := 0
	for n < len(c.switched) && !c.switched[n].After(at) {
		n++
	}
	return n%2 == 0
}

// versions returns the rows of campaign_history that reads at the given instants produce.
func (c *aCampaign) versions(looks []time.Time) (rows [][]cell) {
	status := func(at time.Time) string { return map[bool]string{true: "active", false: "paused"}[c.activeAt(at)] }
	from := 0
	add := func(from, until int, to time.Time, current bool) {
		after := cell{null: true}
		if from > 0 {
			after = cell{text: looks[from-1].Format(time.RFC3339)}
		}
		rows = append(rows, append(cells(c.id, fmt.Sprint(len(rows)+1), looks[from].Format(time.RFC3339),
			to.Format(time.RFC3339),
			fmt.Sprint(current), looks[until].Format(time.RFC3339), status(looks[from])), after))
	}
	for i := 1; i < len(looks); i++ {
		if status(looks[i]) != status(looks[from]) {
			add(from, i-1, looks[i], false)
			from = i
		}
	}
	add(from, len(looks)-1, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), true)
	return rows
}

// TestStops_NothingThatRanIsALeak pauses and resumes campaigns at instants that the views do not see, and reads the
// campaigns now and then. Spend while a campaign was active must never be called a leak, even if reads are rare. Spend
// while a campaign was stopped must be found.
func TestStops_NothingThatRanIsALeak(t *testing.T) {
	w := newWarehouse(t)
	day := func(d int) time.Time { return time.Date(2026, 11, d, 6, 0, 0, 0, time.UTC) } // midnight in Chicago
	every := func(hours int, skip func(time.Time) bool) (looks []time.Time) {
		for at := day(2).Add(5 * time.Hour); at.Before(day(20).Add(12 * time.Hour)); at = at.Add(time.Duration(hours) *
			time.Hour) {
			if skip == nil || !skip(at) {
				looks = append(looks, at.Add(20*time.Minute))
			}
		}
		return looks
	}
	schedules := map[string][]time.Time{
		"hourly": every(1, nil), "daily": every(24, nil),
		"a gap of four days":  every(1, func(at time.Time) bool { return at.After(day(9)) && at.Before(day(13)) }),
		"none since the 16th": every(6, func(at time.Time) bool { return at.After(day(16)) }),
	}
	// the minimum length of a stop, in hours
	shortest := map[string]int{"hourly": 2, "daily": 25, "a gap of four days": 2, "none since the 16th": 7}
	for name, looks := range schedules {
		if name != "none since the 16th" && !schematest.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(18, 1))
			var campaigns []*aCampaign
			for i := range 30 {
				c := &aCampaign{id: fmt.Sprintf("c%02d", i), leaks: i%10 == 9}
				for at := day(3); len(c.switched) < 6; {
					// If a campaign is resumed and paused between two reads, this leaves no trace.
					at = at.Add(time.Duration(shortest[name]+rng.IntN(90)) * time.Hour).
						Add(time.Duration(rng.IntN(60)) * time.Minute)
					if c.leaks && len(c.switched) == 1 {
						break // stopped for good
					}
					c.switched = append(c.switched, at)
				}
				campaigns = append(campaigns, c)
			}
			history := [][]cell{cells("campaign_id", "version_no", "valid_from", "valid_to", "is_current",
				"last_confirmed_at", "status", "changed_after")}
			spend := [][]cell{cells("report_date", "campaign_id", "creative_id", "source_id", "spend", "clicks")}
			runs := [][]cell{cells("_run_id", "started_at", "campaigns_read")}
			for i, at := range looks {
				runs = append(runs, cells(fmt.Sprint("r", i), at.Format(time.RFC3339), "30"))
			}
			coverage := [][]cell{cells("report_date", "state", "first_read_at", "last_read_at")}
			ran := map[string]bool{} // campaigns and days with at least one active minute
			stopped := map[string]bool{}
			last := looks[len(looks)-1].Add(time.Minute)
			if last.Before(day(19)) {
				last = day(20).Add(12 * time.Hour) // the report is still read, although the settings are not
			}
			for d := 2; d <= 20; d++ {
				date, state := day(d).Format(time.DateOnly), "complete"
				if d == 20 {
					state = "open"
				}
				coverage = append(coverage, cells(date, state, day(d).Format(time.RFC3339), last.Format(time.RFC3339)))
				for _, c := range campaigns {
					minutes := 0
					for at := day(d); at.Before(day(d+1)) && at.Before(last); at = at.Add(time.Minute) {
						if c.activeAt(at) {
							minutes++
						}
					}
					ran[c.id+date] = minutes > 0
					stopped[c.id+date] = minutes == 0 && d > 2 && !c.activeAt(day(d-1))
					if minutes > 0 || c.leaks {
						spend = append(spend, cells(date, c.id, "k1", "s1",
							fmt.Sprintf("%.2f", float64(minutes)*0.02+3), "3"))
					}
				}
			}
			for _, c := range campaigns {
				history = append(history, c.versions(looks)...)
			}
			defer w.exec(t, "ROLLBACK")
			w.fill(t, &testCase{now: last.Format(time.RFC3339), tables: []*fixture{
				{"campaign_history", history}, {"spend_daily", spend}, {"ops.day_coverage", coverage},
				{"ops.run", runs},
			}}, "main.spend_on_stopped, mart.campaign_day")
			assumed := w.checkStatuses(t, campaigns, looks)
			if assumed == 0 && name != "hourly" {
				t.Error("no day's end lies between two looks that differ")
			}
			found := map[string]bool{}
			for _, r := range w.rows(t, "SELECT campaign_id, report_date, spend FROM "+
				"main.spend_on_stopped(DATE '2000-01-01', DATE '2999-12-31') "+
				"WHERE is_leak") {
				if ran[r[0]+r[1]] {
					t.Errorf("%s on %s: $%s is called a leak, but it ran on that day", r[0], r[1], r[2])
				}
				found[r[0]+r[1]] = true
			}
			leaks := 0
			for _, c := range campaigns {
				for d := 3; c.leaks && d < 20; d++ {
					// The views know of a stop from the first read after the stop to the last read.
					date := day(d).Format(time.DateOnly)
					if !c.activeAt(day(d-3)) && d > 6 && looks[len(looks)-1].After(day(d+1)) && stopped[c.id+date] {
						if leaks++; !found[c.id+date] && name != "a gap of four days" {
							t.Errorf("%s on %s: what it spent in spite of its stop is not called a leak", c.id, date)
						}
					}
				}
			}
			if leaks == 0 {
				t.Fatal("the diary has no leak")
			}
		})
	}
}

// checkStatuses compares campaign_day with the true history. The status at the end of a day must be right. Two
// exceptions are allowed: the status is marked as assumed, or it was changed and changed back between two reads, which
// leaves no trace. checkStatuses returns the number of days that are marked as assumed.
func (w *warehouse) checkStatuses(t *testing.T, campaigns []*aCampaign, looks []time.Time) (assumed int) {
	t.Helper()
	byID := map[string]*aCampaign{}
	for _, c := range campaigns {
		byID[c.id] = c
	}
	for _, r := range w.rows(t, `SELECT d.campaign_id, epoch(k.ends_at)::BIGINT, d.status, d.is_assumed, d.report_date
		FROM mart.campaign_day AS d JOIN main.calendar AS k USING (account_id, report_date)`) {
		var seconds int64
		if _, err := fmt.Sscan(r[1], &seconds); err != nil {
			t.Fatal(err)
		}
		end, c := time.Unix(seconds, 0), byID[r[0]]
		next, _ := slices.BinarySearchFunc(looks, end, time.Time.Compare)
		if next == 0 || next == len(looks) {
			continue
		}
		traceless := c.activeAt(looks[next-1]) == c.activeAt(looks[next])
		if r[3] == "false" && !traceless {
			t.Errorf("%s at the end of %s: the looks before and after differ, and nothing is assumed", r[0], r[4])
		}
		if was := c.activeAt(end.Add(-time.Second)); r[3] == "false" && !traceless && was != (r[2] == "active") {
			t.Errorf("%s at the end of %s: %s, and nothing is assumed", r[0], r[4], r[2])
		}
		if r[3] == "true" {
			assumed++
		}
	}
	return assumed
}
