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
		s.plan.Read = append(s.plan.Read, plannedDay{Day: d})
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
	if got := fmt.Sprint((&dayRead{}).decimals(s.store.StoredDay(day))); got != want {
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
		"above": total(1010, 100), "below": total(990, 7),
		"clicks-above": total(1000, 105), "clicks-below": total(1000, 99),
	} {
		if got := (difference{rows: sums, total: of}).form(); got != want {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
	}
}
