package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// checkDays compares the sums of some days with what the service holds.
func (w *world) checkDays(days ...schema.Date) {
	w.t.Helper()
	for _, d := range days {
		sum, err := w.service.TruthSum(d.String())
		if err != nil {
			w.t.Fatal(err)
		}
		want := fmt.Sprintf("%d|%s|%d|%d|%d", sum.Rows, sum.Exact(), sum.Clicks, sum.Impressions, sum.Conversions)
		if got := w.ask(fmt.Sprintf("SELECT count(*), sum(spend), sum(clicks), sum(impressions), sum(conversions) "+
			"FROM spend_daily WHERE report_date = '%s'", d)); got != want {
			w.t.Errorf("%s adds up to %s, the service says %s", d, got, want)
		}
	}
}

// state is how well a day is known.
func (w *world) state(d schema.Date) string {
	w.t.Helper()
	return w.ask(fmt.Sprintf("SELECT state FROM ops.day_coverage WHERE report_date = '%s'", d))
}

// TestFault_MidnightAtAnyRequest lets the Chicago day end at one request or another of
// a run (A29, A32, A33): what left the reach is an answer about that day alone, a day
// that was read in time is kept, and no day is taken for over that goes on.
func TestFault_MidnightAtAnyRequest(t *testing.T) {
	schematest.Long(t)
	from := syncedStore(t)
	midnight := time.Date(2026, time.March, 14, 5, 0, 0, 0, time.UTC)
	// Then all that is asked for is new.
	muchLater := midnight.AddDate(0, 0, 40)
	fresh := schema.DateOf(muchLater) - 33
	today, oldest := schema.DateOf(midnight)-1, schema.DateOf(midnight)-33
	pageOf := func(d schema.Date, page string) func(*http.Request) bool {
		return asks("start_date="+d.String()+"&", "page="+page+"&", "creative_id")
	}
	const lost, complete = "lost", "complete"
	for name, tc := range map[string]struct {
		stored bool // the account was read at noon
		first  schema.Date
		is     func(*http.Request) bool
		code   int
		says   string
		states [2]string // of the first day read and the next
	}{
		"oldest day/first page": {false, fresh, pageOf(fresh, "1"), exit.DayAtRisk, "1 day of 2 planned proven",
			[2]string{lost, complete}},
		"oldest day/second page": {false, fresh, pageOf(fresh, "2"), exit.DayAtRisk, "1 day of 2 planned proven",
			[2]string{lost, complete}},
		"oldest day/total": {false, fresh, asks("total_spend%2Cclicks&"), exit.DayAtRisk,
			"2 days of 2 planned proven, 2 changed", [2]string{"final", complete}},
		"oldest day/stored": {true, oldest, pageOf(oldest, "2"), exit.OK, "1 day of 2 planned proven",
			[2]string{"final", complete}},
		"today/second page": {true, today - 1, pageOf(today, "2"), exit.OK, "2 days of 2 planned proven",
			[2]string{complete, "partial"}},
		"settings/second page": {true, 0, asks("creative_title", "page=2&"), exit.OK, "3 days of 3 planned proven",
			[2]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "oldest day/first page", "oldest day/stored":
				schematest.Long(t)
			case "oldest day/total", "settings/second page":
				skipShort(t)
			}
			t.Parallel()
			w := inProcess(t, from, func(c *adsim.Config) { c.FreezeRestatements = tc.first != oldest })
			w.limits.concurrency, w.env["PAGE_SIZE"] = 1, "10"
			w.service.SetNow(midnight.Add(-100 * time.Millisecond))
			if !tc.stored {
				w.service.SetNow(muchLater.Add(-100 * time.Millisecond))
			}
			var struck atomic.Bool
			w.transport = onTheWay(func(r *http.Request) (*http.Response, error) {
				if tc.is(r) && !struck.Swap(true) {
					w.service.Advance(200 * time.Millisecond)
				}
				return w.service.Transport().RoundTrip(r)
			})
			args := []string{"sync"}
			if tc.first != 0 {
				args = []string{"backfill", "--from", tc.first.String(), "--to", (tc.first + 1).String()}
			}
			code, _, last := w.runLogged(args...)
			if code != tc.code || !strings.Contains(last, tc.says) {
				t.Errorf("exit %d, want %d and %q: %s", code, tc.code, tc.says, last)
			}
			if !struck.Load() {
				t.Error("midnight never came")
			}
			if tc.first == 0 {
				return
			}
			if got := [2]string{w.state(tc.first), w.state(tc.first + 1)}; got != tc.states {
				t.Errorf("the days are %v, want %v", got, tc.states)
			}
			if tc.states[0] != lost {
				w.checkDays(tc.first)
			}
			if tc.states[1] == complete {
				w.checkDays(tc.first + 1)
			}
			if got := w.ask("SELECT count(*) FROM spend_change"); got != "0" && !tc.stored {
				t.Errorf("%s restatements", got)
			}
		})
	}
}

// asks knows a request whose URI holds all of the parts.
func asks(parts ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		uri := r.URL.RequestURI() + "&"
		for _, p := range parts {
			if !strings.Contains(uri, p) {
				return false
			}
		}
		return true
	}
}

// TestFault_DaysOf23And25Hours reads both days on which the clocks change, in their
// last second and in the first after it (A34).
func TestFault_DaysOf23And25Hours(t *testing.T) {
	schematest.Long(t)
	from := syncedStore(t)
	for name, at := range map[string]time.Time{
		"23 hours": time.Date(2027, time.March, 15, 4, 59, 59, 9e8, time.UTC),
		"25 hours": time.Date(2026, time.November, 2, 5, 59, 59, 9e8, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "23 hours" {
				schematest.Long(t)
			}
			t.Parallel()
			w := inProcess(t, from)
			w.service.SetNow(at)
			today := w.today()
			read := func() {
				// The other days are at risk.
				if code, _, last := w.runLogged("backfill", "--from", (today - 1).String(), "--to",
					today.String()); code != exit.DayAtRisk || !strings.Contains(last, "2 days of 2 planned proven") {
					t.Errorf("exit %d: %s", code, last)
				}
			}
			read()
			w.checkDays(today-1, today)
			if got := w.state(today); got != "open" {
				t.Errorf("%s, which goes on, is %s", today, got)
			}
			w.service.Advance(time.Second)
			if w.today() != today+1 {
				t.Fatalf("%s is still going on", today)
			}
			read()
			w.checkDays(today-1, today)
			if got := w.state(today); got != "complete" {
				t.Errorf("%s, which is over, is %s", today, got)
			}
		})
	}
}

// TestFault_ClocksThatDiffer: a run whose clock is wrong by more than an hour would treat
// an unfinished day as complete, or a readable day as lost. It publishes nothing. One that
// is wrong by less follows the service's clock (A35).
func TestFault_ClocksThatDiffer(t *testing.T) {
	schematest.Long(t)
	from := syncedStore(t)
	for name, tc := range map[string]struct {
		ahead time.Duration // of this machine
		code  int
		says  string
		warns bool
	}{
		"a minute":     {time.Minute, exit.OK, "1 day of 1 planned proven", false},
		"ten minutes":  {10 * time.Minute, exit.OK, "1 day of 1 planned proven", true},
		"a day":        {24 * time.Hour, exit.Usage, "this machine's clock is 24h0m0s ahead of the service's", false},
		"a day behind": {-24 * time.Hour, exit.Usage, "this machine's clock is 24h0m0s behind the service's", false},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a minute" || name == "a day behind" {
				schematest.Long(t)
			}
			t.Parallel()
			w := inProcess(t, from)
			w.now = func() time.Time { return w.service.Now().Add(tc.ahead).Truncate(time.Second) }
			was, day := w.published(), w.today()-3
			code, stderr, last := w.runLogged("backfill", "--from", day.String(), "--to", day.String())
			if code != tc.code || !strings.Contains(last, tc.says) ||
				strings.Contains(stderr, "clock and the service's differ") != tc.warns {
				t.Errorf("exit %d, want %d and %q, warning %v: %s", code, tc.code, tc.says, tc.warns, last)
			}
			if tc.code == exit.Usage {
				w.wantUnchanged(name, was, w.published())
			}
			w.checkDays(day)
		})
	}
}
