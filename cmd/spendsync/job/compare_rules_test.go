package job

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// fakeTotals is a report that gives totals as the test states them: an amount of each asked day, or one of the
// answers below.
type fakeTotals struct {
	answer func(from, to string) string

	mu    sync.Mutex
	asked []string
}

const (
	tooFar  = "400 start_date cannot be more than 32 days before today"
	refused = "400 no such column"
	fails   = "500 out of order"
	noRows  = ""
)

func (f *fakeTotals) RoundTrip(r *http.Request) (*http.Response, error) {
	from, to := r.URL.Query().Get("start_date"), r.URL.Query().Get("end_date")
	f.mu.Lock()
	f.asked = append(f.asked, from+" "+to)
	answer := f.answer(from, to)
	f.mu.Unlock()
	status, rows := 200, ""
	if n, _ := fmt.Sscanf(answer, "%d ", &status); n == 1 && status > 200 {
		answer = `{"error":"` + answer[4:] + `"}`
	} else {
		status = 200
		if answer != noRows {
			rows = `{"date":"` + to + `","total_spend":` + answer + `,"clicks":5}`
		}
		answer = fmt.Sprintf(`{"columns":["date","total_spend","clicks"],"data":[%s],"pagination":{"page":1,`+
			`"page_size":1000,"total_rows":%d,"total_pages":1}}`, rows, min(len(rows), 1))
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: -1, Request: r,
		Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// ofTotals lets a session ask this report for totals of some days.
func (f *fakeTotals) ofTotals(t *testing.T, s *session, first, last schema.Date) *controlTotals {
	t.Helper()
	var err error
	s.Report, err = extract.NewClient(extract.Options{BaseURL: "https://report.test",
		Authorize: func(*http.Request) {}, RetryBudget: 1, Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Report.Close)
	s.plan.Read = nil
	for d := first; d <= last; d++ {
		s.plan.Read = append(s.plan.Read, PlannedDay{Day: d})
	}
	return &controlTotals{run: s}
}

// TestControl_AsksForTheRange: a range that is refused may begin with a day that has left the reach, so it is asked
// for once from the next day on, and then for as long as the service names the reach, four times at most. The answer
// is asked for once a run.
func TestControl_AsksForTheRange(t *testing.T) {
	s := sessionOf(t, &fakeAPI{})
	until := func(last int, first, then string) func(int) string {
		return func(n int) string {
			if n <= last {
				return first
			}
			return then
		}
	}
	for name, c := range map[string]struct {
		days   int
		answer func(n int) string // the n-th answer, from 1
		asked  int
		exists bool
		err    bool
	}{
		"it is given":              {9, until(0, "", "1.5"), 1, true, false},
		"one day is too old":       {9, until(1, tooFar, "1.5"), 2, true, false},
		"four are too old":         {9, until(4, tooFar, "1.5"), 5, true, false},
		"five are too old":         {9, until(0, "", tooFar), 5, false, false},
		"refused once":             {9, until(1, refused, "1.5"), 1, true, false}, // and asked again
		"refused":                  {9, until(0, "", refused), 2, false, false},
		"refused, then too old":    {9, until(1, refused, tooFar), 5, false, false},
		"without rows":             {9, until(0, "", noRows), 2, false, false},
		"two days":                 {2, until(0, "", tooFar), 2, false, false},
		"one day":                  {1, until(0, "", refused), 1, false, false},
		"it fails":                 {9, until(0, "", fails), 1, false, true},
		"it fails the second time": {9, until(1, tooFar, fails), 2, false, true},
	} {
		n := 0
		var log strings.Builder
		s.Log = logTo(&log)
		f := &fakeTotals{answer: func(string, string) string { n++; return c.answer(n) }}
		totals := f.ofTotals(t, s, aDay, aDay+schema.Date(c.days-1))
		for range 2 {
			got, err := totals.all(t.Context())
			if (err != nil) != c.err || got.Exists != c.exists {
				t.Errorf("%s: exists %t, %v", name, got.Exists, err)
			}
		}
		if warned := strings.Count(log.String(), "gives no total per day"); (warned == 1) != (!c.exists && !c.err) {
			t.Errorf("%s: %s", name, log.String())
		}
		var want []string
		for i := range schema.Date(c.asked) {
			want = append(want, (aDay+i).String()+" "+(aDay+schema.Date(c.days-1)).String())
		}
		// What fails is sent again: the same question counts once.
		var asked []string
		for _, q := range f.asked {
			if len(asked) == 0 || asked[len(asked)-1] != q {
				asked = append(asked, q)
			}
		}
		if strings.Join(asked, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s: asked for %q, want %q", name, asked, want)
		}
	}
}

// TestControl_Compare: the rows of a day that is over are held to the service's total of the range, and if that
// differs, or if asked to confirm it, to the total of the day alone.
func TestControl_Compare(t *testing.T) {
	w := newWorld(t)
	w.first()
	s, err := w.next().begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	const matched, unknown, none = schema.ControlMatched, schema.ControlUnknown, "alone it gives none"
	two := []string{"2.01", "2.99"}
	over := schema.InstantOf(aDay.End())
	stored := func(rows int64) *manifest.Day {
		return &manifest.Day{ContentHash: "stored", LastReadAt: over,
			Sums: history.Sums{Rows: rows, Spend: 5 * schema.Dollar, Clicks: schema.Some[int64](5)}}
	}
	for name, c := range map[string]struct {
		known   *manifest.Day
		spend   []string // of the rows
		range_  string
		alone   string
		confirm bool
		asked   int // how many questions
		state   string
		why     string // the error
		total   string // that is recorded
	}{
		"equal":                 {nil, two, "5.00", fails, false, 1, matched, "", "5.00"},
		"equal, confirmed":      {nil, two, "5.00", "5.00", true, 2, matched, "", "5.00"},
		"equal, not confirmed":  {nil, two, "5.00", "6.00", true, 2, "", "own total is 6.00", "6.00"},
		"restated meanwhile":    {nil, two, "4.00", "5.00", false, 2, matched, "", "5.00"},
		"different":             {nil, two, "6.00", "6.00", false, 2, "", "own total is 6.00", "6.00"},
		"no total alone":        {nil, two, "6.00", noRows, false, 2, "", none, ""},
		"refused alone":         {nil, two, "6.00", refused, false, 2, "", none, ""},
		"confirmed by no total": {nil, two, "5.00", noRows, true, 2, "", none, ""},
		"alone it fails":        {nil, two, "6.00", fails, false, 2, "", "the control total: ", ""},
		"alone it is too old, a new day": {nil, two, "6.00", tooFar, false, 2, unknown, "",
			""},
		"alone it is too old, stored": {stored(1), two, "6.00", tooFar, false, 2, "", "32 days", ""},

		"no rows and no total":            {nil, nil, "other", noRows, false, 1, matched, "", "0"},
		"no rows and no total, confirmed": {nil, nil, "other", noRows, true, 2, matched, "", "0"},
		"no rows, refused when confirmed": {nil, nil, "other", refused, true, 2, "", none, ""},
		"no rows, a total of the range":   {nil, nil, "5.00", noRows, false, 2, "", none, ""},

		"no totals":                   {stored(2), two, refused, "5.00", false, 2, schema.ControlNone, "", ""},
		"no totals, a day is emptied": {stored(2), nil, refused, "5.00", false, 2, "", "no total of the service's", ""},
		"the totals fail, a new day":  {nil, two, fails, "5.00", false, 1, unknown, "", ""},
		"the totals fail, stored":     {stored(2), two, fails, "5.00", false, 1, "", "the control total: ", ""},

		"rounded": {nil, []string{"1.01", "1.01", "3.02"}, "5.1", fails, false, 1, matched, "", "5.1"},
		"rounded too far": {nil, []string{"1.01", "1.01", "3.01"}, "5.1", "5.1", false, 2, "", "own total is 5.10",
			"5.1"},
		"rounded alone, with more decimals in the range": {nil, []string{"1.01", "1.01", "3.02"}, "5.99", "5.1",
			false, 2, "", "own total is 5.10", "5.1"},
	} {
		if s.store.Account().Days[aDay] = c.known; c.known == nil {
			delete(s.store.Account().Days, aDay)
		}
		f := &fakeTotals{answer: func(from, to string) string {
			switch {
			case from == to:
				return c.alone
			case c.range_ == "other": // the range has another day alone
				return "77"
			}
			return c.range_
		}}
		totals := f.ofTotals(t, s, aDay-2, aDay)
		if c.range_ == "other" {
			totals = f.ofTotals(t, s, aDay-2, aDay+1)
		}
		rows := &schema.SpendRows{}
		for i, text := range c.spend {
			spend, _, err := schema.ParseMoney([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			rows.Append(&schema.Spend{CampaignID: "C1", SourceID: fmt.Sprint(i), Spend: spend,
				Clicks: schema.Some(int64(5 * (1 - min(i, 1))))})
		}
		day, err := history.NewDay(rows)
		if err != nil {
			t.Fatal(err)
		}
		read := &dayRead{day: day, hash: day.Hash(), sums: day.Sums(), at: over}
		if len(c.spend) == 0 {
			read.sums.Clicks = schema.Some[int64](0)
		}
		state, err := totals.compare(t.Context(), aDay, read, c.confirm)
		if err == nil && state != c.state || (err == nil) != (c.why == "") ||
			err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", name, state, err)
		}
		asked := map[string]bool{}
		for _, q := range f.asked {
			asked[q] = true
		}
		if len(asked) != c.asked {
			t.Errorf("%s: asked for %q", name, f.asked)
		}
		if c.total != "" && (!read.total.Spend.Valid || read.total.Spend.V.String() != moneyOf(t, c.total)) {
			t.Errorf("%s: recorded %v", name, read.total)
		}
		if failed := totals.failed != nil; failed != (c.state == schema.ControlUnknown) {
			t.Errorf("%s: the run knows of a failure: %t", name, failed)
		}
	}
}

func moneyOf(t *testing.T, text string) string {
	t.Helper()
	m, _, err := schema.ParseMoney([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m.String()
}

// TestControl_DecimalsOfTheStore: if the rows of a read are those that are stored, their decimals are read there.
func TestControl_DecimalsOfTheStore(t *testing.T) {
	w := newWorld(t)
	w.first()
	day := w.today() - 5
	want := w.ask("SELECT max(length(rtrim(split_part(spend::VARCHAR, '.', 2), '0'))) FROM spend_daily "+
		"WHERE report_date = '%s'", day)
	s, err := w.next().begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	if got := fmt.Sprint((&controlTotals{run: s}).decimals(day, &dayRead{})); got != want {
		t.Errorf("%s decimals, want %s", got, want)
	}
}

// TestDifference_Form is the same for differences of one kind, and names clicks if the spend is equal.
func TestDifference_Form(t *testing.T) {
	sums := history.Sums{Spend: 1000, Clicks: schema.Some[int64](100)}
	total := func(spend schema.Money, clicks int64) manifest.ControlTotal {
		return manifest.ControlTotal{Spend: schema.Some(spend), Clicks: schema.Some(clicks)}
	}
	for want, of := range map[string]manifest.ControlTotal{
		"above-1pct": total(1010, 100), "above-10pct": total(1011, 100), "below-1pct": total(990, 7),
		"below-100pct": total(0, 100), "above-more": total(2001, 100),
		"clicks-above-10pct": total(1000, 105), "clicks-below-1pct": total(1000, 99),
	} {
		if got := (difference{rows: sums, total: of}).form(); got != want {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
	}
}
