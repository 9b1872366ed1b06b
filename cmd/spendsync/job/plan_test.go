package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

func at(s string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", s, schema.Chicago())
	if err != nil {
		panic(err)
	}
	return t
}

func date(s string) schema.Date {
	d, err := schema.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

var defaults = PlanOptions{YoungDays: 3, RereadAfter: 20 * time.Hour, PageSize: 10000}

// knownSince returns an account whose days between two dates were all read at one instant.
func knownSince(from, last schema.Date, readAt time.Time) *manifest.Account {
	a := manifest.NewAccount(from)
	for d := from; d <= last; d++ {
		at := schema.InstantOf(readAt)
		a.Days[d] = &manifest.Day{FirstReadAt: at, LastReadAt: at, Reads: 1, Sums: history.Sums{Rows: 25000}}
	}
	return a
}

// show returns the days to read, as "day: reason" lines.
func show(p Plan) string {
	var lines []string
	for _, d := range p.Read {
		lines = append(lines, fmt.Sprintf("%s: %s", d.Day, d.Reason))
	}
	return strings.Join(lines, "\n")
}

func TestPlan_FirstRunReadsTheWholeReachOldestFirst(t *testing.T) {
	p := PlanDays("acme", at("2026-11-21 12:00"), manifest.NewAccount(date("2026-10-20")), defaults)
	if len(p.Read) != 33 || p.Read[0].Day != date("2026-10-20") || p.Read[32].Day != date("2026-11-21") {
		t.Fatalf("%d days from %s", len(p.Read), p.Read[0].Day)
	}
	if !slices.IsSortedFunc(p.Read, func(a, b plannedDay) int { return int(a.Day - b.Day) }) {
		t.Error("not oldest first")
	}
	if p.Requests != 34 {
		t.Errorf("requests = %d, want 33 days and the control total", p.Requests)
	}
	if p.Read[0].DaysLeft != 1 || p.Read[32].DaysLeft != 33 {
		t.Errorf("days left = %d and %d, want 1 and 33", p.Read[0].DaysLeft, p.Read[32].DaysLeft)
	}
}

func TestPlan_Reasons(t *testing.T) {
	now := at("2026-11-21 12:00")
	read := func(day, when string) func(*manifest.Account) {
		return func(a *manifest.Account) { a.Days[date(day)].LastReadAt = schema.InstantOf(at(when)) }
	}
	for name, c := range map[string]struct {
		edit func(*manifest.Account)
		o    PlanOptions
		want string
	}{
		"an hour later only the young days": {
			want: "2026-11-19: younger than 3 days\n2026-11-20: younger than 3 days\n2026-11-21: younger than 3 days",
		},
		"a read that waits for another": {
			edit: func(a *manifest.Account) { a.Waiting = map[schema.Date]string{date("2026-11-02"): "h"} },
			o:    PlanOptions{RereadAfter: 20 * time.Hour, PageSize: 10000},
			want: "2026-11-02: doubtful: " + manifest.LessRead + "\n2026-11-21: the day is not over",
		},
		"a day that is partial": {
			edit: func(a *manifest.Account) { a.Days[date("2026-11-02")].Refused = 1 },
			o:    PlanOptions{RereadAfter: 20 * time.Hour, PageSize: 10000},
			want: "2026-11-02: partial: 1 of its rows cannot be stored, see ops.refused_row\n" +
				"2026-11-21: the day is not over",
		},
		"a gap heals itself": {
			edit: func(a *manifest.Account) { delete(a.Days, date("2026-11-02")) },
			o:    PlanOptions{RereadAfter: 20 * time.Hour, PageSize: 10000},
			want: "2026-11-02: never proven complete\n2026-11-21: the day is not over",
		},
		"a day whose last read was before its end": {
			edit: read("2026-11-10", "2026-11-10 23:59"), o: PlanOptions{RereadAfter: 20 * 24 * time.Hour,
				PageSize: 10000},
			want: "2026-11-10: last read before the day was over\n2026-11-21: the day is not over",
		},
		"a read exactly at midnight counts": {
			edit: read("2026-11-10", "2026-11-11 00:00"), o: PlanOptions{RereadAfter: 20 * 24 * time.Hour,
				PageSize: 10000},
			want: "2026-11-21: the day is not over",
		},
		"a stale day": {
			edit: read("2026-11-05", "2026-11-20 15:00"), o: PlanOptions{RereadAfter: 20 * time.Hour, PageSize: 10000},
			want: "2026-11-05: last read 21h00m ago\n2026-11-21: the day is not over",
		},
		"a day read at a time that is yet to come": {
			edit: read("2026-11-05", "2026-11-21 12:01"), o: PlanOptions{RereadAfter: 20 * time.Hour, PageSize: 10000},
			want: "2026-11-05: last read at a time that is yet to come\n2026-11-21: the day is not over",
		},
		"exactly as old as allowed is fresh": {
			edit: read("2026-11-05", "2026-11-20 16:00"), o: PlanOptions{RereadAfter: 20 * time.Hour, PageSize: 10000},
			want: "2026-11-21: the day is not over",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := knownSince(date("2026-10-20"), date("2026-11-21"), now.Add(-time.Hour))
			if c.edit != nil {
				c.edit(a)
			}
			if c.o == (PlanOptions{}) {
				c.o = defaults
			}
			if got := show(PlanDays("acme", now, a, c.o)); got != c.want {
				t.Errorf("plan:\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestPlan_IgnoresTheMachinesZone plans at one instant on machines in several time zones, before and after midnight in
// Chicago.
func TestPlan_IgnoresTheMachinesZone(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for when, want := range map[string]string{"2026-11-20 23:59": "2026-11-20", "2026-11-21 00:00": "2026-11-21"} {
			p := PlanDays("acme", at(when).In(loc), manifest.NewAccount(date("2026-10-19")), defaults)
			if p.Today != date(want) || p.Reach != date(want)-32 {
				t.Errorf("%s in %s: today %s, reach %s", when, zone, p.Today, p.Reach)
			}
		}
	}
}

// TestPlan_WalksOverClockChanges plans in every hour around both clock changes. No day is skipped or planned twice.
func TestPlan_WalksOverClockChanges(t *testing.T) {
	for _, start := range []string{"2026-03-07 12:00", "2026-10-31 12:00"} {
		for h := range 48 {
			now := at(start).Add(time.Duration(h) * time.Hour)
			p := PlanDays("acme", now, manifest.NewAccount(schema.DateOf(now)-40), defaults)
			for i, d := range p.Read {
				if d.Day != p.Reach+schema.Date(i) {
					t.Fatalf("%s: day %d is %s, want %s", now, i, d.Day, p.Reach+schema.Date(i))
				}
			}
			if len(p.Read) != 33 {
				t.Fatalf("%s: %d days", now, len(p.Read))
			}
		}
	}
}

func TestPlanRange_RefusesWhatCannotBeRead(t *testing.T) {
	now := at("2026-11-21 12:00")
	known := manifest.NewAccount(date("2026-10-20"))
	p, err := planRange("acme", now, known, date("2026-10-20"), date("2026-11-21"), defaults)
	if err != nil || len(p.Read) != 33 || p.Read[0].Reason != "asked for" {
		t.Errorf("the whole reach: %d days, %v", len(p.Read), err)
	}
	for _, r := range [][2]string{
		{"2026-10-19", "2026-10-25"}, {"2026-11-01", "2026-11-22"}, {"2026-11-05", "2026-11-04"},
	} {
		if _, err := planRange("acme", now, known, date(r[0]), date(r[1]), defaults); !errors.Is(err, exit.ErrUsage) {
			t.Errorf("%v: %v, want a usage error", r, err)
		}
	}
}

// TestPlan_KeepsWhatIsFresh: days that were read after their end and less than RereadAfter ago are kept, with the time
// of that read. A read at the instant of the plan does not count as in the future.
func TestPlan_KeepsWhatIsFresh(t *testing.T) {
	now := at("2026-11-21 12:00")
	for name, c := range map[string]struct {
		ago  time.Duration
		kept bool
	}{"now": {0, true}, "an hour ago": {time.Hour, true}, "as long ago as may be": {20 * time.Hour, true},
		"longer ago": {20*time.Hour + time.Microsecond, false}, "yet to come": {-time.Microsecond, false}} {
		known := knownSince(ReachFrom(now), schema.DateOf(now), now.Add(-c.ago))
		p := PlanDays("acme", now, known, defaults)
		want := 0
		if c.kept {
			want = schema.ReachDays + 1 - defaults.YoungDays
		}
		if len(p.Keep) != want || len(p.Keep)+len(p.Read) != schema.ReachDays+1 {
			t.Errorf("%s: %d days are kept, want %d:\n%s", name, len(p.Keep), want, show(p))
		} else if want > 0 && p.Keep[0] != (freshDay{ReachFrom(now), schema.InstantOf(now.Add(-c.ago))}) {
			t.Errorf("%s: %+v", name, p.Keep[0])
		}
	}
}
