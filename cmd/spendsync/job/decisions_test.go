package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

const aDay = schema.Date(20_000)

// TestPlan_SaysWhatIsKnownOfADay: whether it was proven after it was over, and how long it can be read.
func TestPlan_SaysWhatIsKnownOfADay(t *testing.T) {
	now := at("2026-11-21 12:00")
	today := schema.DateOf(now)
	known := knownSince(ReachFrom(now), today, now.Add(-time.Hour))
	delete(known.Days, today-1)
	p := PlanDays("acme", now, known, PlanOptions{YoungDays: 3, RereadAfter: 20 * time.Hour, PageSize: 1000})
	got := ""
	for _, d := range p.Read {
		got += fmt.Sprintf("%d %t %d, ", today-d.Day, d.Proven, d.DaysLeft)
	}
	if got != "2 true 31, 1 false 32, 0 false 33, " {
		t.Errorf("read %s", got)
	}
}

// TestCheckPinned: a key acts on the pinned account or is refused; before anything is pinned every account is right.
func TestCheckPinned(t *testing.T) {
	for c, want := range map[[2]string]bool{{"", "a"}: true, {"a", "a"}: true, {"a", "b"}: false, {"a", ""}: false,
		{"", ""}: true} {
		if err := checkPinned("acme", c[0], c[1]); (err == nil) != want || err != nil &&
			!errors.Is(err, exit.ErrOtherAccount) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// TestOfWrongURL: an error is one of the configuration only if it doubts the URL, and the service has not answered; of
// the network's, only if nothing was ever stored of the interface.
func TestOfWrongURL(t *testing.T) {
	client := func(answers bool) *extract.Client {
		c, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
			RetryBudget: 1, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{}, Request: r,
					Body: io.NopCloser(strings.NewReader(`{"account_id":"a"}`))}, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		if answers {
			if _, err := c.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	doubts := fmt.Errorf("x: %w", &extract.ReadError{Status: 404, Err: extract.ErrContract})
	for name, c := range map[string]struct {
		err               error
		answered, isKnown bool
		want              bool
	}{
		"never right":       {doubts, false, false, true},
		"it has answered":   {doubts, true, false, false},
		"it was right once": {doubts, false, true, true},
		"no such host any more": {&extract.ReadError{Err: extract.ErrUnavailable,
			Cause: &net.DNSError{IsNotFound: true}}, false, true, false},
		"another status": {&extract.ReadError{Status: 500, Err: extract.ErrUnavailable}, false, false, false},
		"no such host": {&extract.ReadError{Err: extract.ErrUnavailable, Cause: &net.DNSError{IsNotFound: true}}, false,
			false, true},
		"another error": {errors.New("x"), false, false, false},
		"none":          {nil, false, false, false},
	} {
		got := OfWrongURL(c.err, client(c.answered), c.isKnown)
		if errors.Is(got, exit.ErrUsage) != c.want || !c.want && got != c.err || c.want && !strings.Contains(
			got.Error(), c.err.Error()) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestKeyProof_Campaigns: a key that is not proven lists nothing, and a list that is not whole knows not all campaigns.
func TestKeyProof_Campaigns(t *testing.T) {
	list := func(l extract.Listing, err error) *campaignList {
		done := make(chan struct{})
		close(done)
		return &campaignList{done: done, listing: l, err: err}
	}
	two := []extract.Entity{{ID: "b"}, {ID: "a"}}
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		key    keyProof
		listed string
		why    string
	}{
		"whole": {keyProof{list: list(extract.Listing{Entities: two, Complete: true}, nil)}, "[b a]", "<nil>"},
		"not whole": {keyProof{list: list(extract.Listing{Entities: two, Why: "it moved"}, nil)}, "[b a]",
			"the campaigns of the API key: it moved"},
		"failed": {keyProof{list: list(extract.Listing{}, bad)}, "[]", "the campaigns of the API key: bad"},
		"not proven": {keyProof{err: bad, list: list(extract.Listing{Entities: two, Complete: true}, nil)}, "[]",
			"bad"},
	} {
		if got := fmt.Sprint(c.key.listed()); got != c.listed {
			t.Errorf("%s lists %s", name, got)
		}
		if got := fmt.Sprint(c.key.problem()); got != c.why {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestWitnesses_Accept: a reply that has a campaign of the account is the account's, and so is each that has one with
// such a reply. A reply without any proves nothing.
func TestWitnesses_Accept(t *testing.T) {
	replies := func(of ...string) (all []reply) {
		for _, ids := range of {
			all = append(all, reply{campaigns: strings.Fields(ids)})
		}
		return all
	}
	for name, c := range map[string]struct {
		known   string
		replies []reply
		left    string
		became  string
	}{
		"none is known":          {"", replies("a b", "b c"), "[a b c]", "[]"},
		"one":                    {"a", replies("a b", "c"), "[c]", "[a b]"},
		"one by another":         {"a", replies("c d", "b c", "a b", "x"), "[x]", "[a b c d]"},
		"nothing to be proven":   {"a", nil, "[]", "[a]"},
		"a reply without any":    {"a", replies(""), "[]", "[a]"},
		"all, in the last place": {"d", replies("a b", "b c", "c d"), "[]", "[a b c d]"},
	} {
		w := witnesses{}
		w.add(strings.Fields(c.known))
		given := len(c.replies)
		left := w.accept(c.replies)
		if got := fmt.Sprint(campaignsIn(left)); got != c.left || len(c.replies) != given {
			t.Errorf("%s: left %s", name, got)
		}
		if got := fmt.Sprint(slices.Sorted(maps.Keys(w))); got != c.became {
			t.Errorf("%s: became %s", name, got)
		}
	}
	if got := (witnesses{}).accept(replies("")); len(got) != 1 {
		t.Errorf("a reply without a campaign: %v", got)
	}
}

// TestWitnesses_Ours: creatives of other campaigns are left out, and with them those that name none.
func TestWitnesses_Ours(t *testing.T) {
	w := witnesses{"a": true}
	lines := func(of string) (all []transform.ReportCreative) {
		for _, id := range strings.Split(of, ",") {
			all = append(all, transform.ReportCreative{CampaignID: id})
		}
		return all
	}
	for of, want := range map[string]int{"a,a": 2, "a,": 2, "a,b": 1, "a,,b": 1, "b": 0, "": 1} {
		if got := len(w.ours(lines(of))); got != want {
			t.Errorf("%q: %d", of, got)
		}
	}
}

// TestSomeOf names three IDs at most, each once.
func TestSomeOf(t *testing.T) {
	for ids, want := range map[string]string{"": "0 campaigns", "b": "1 campaign (b)",
		"c b a b": "3 campaigns (a, b, c)",
		"d c b a": "4 campaigns (a, b, c, ...)"} {
		if got := someOf("campaign", strings.Fields(ids)); got != want {
			t.Errorf("%q: %s", ids, got)
		}
	}
}

// TestRefuseVanished: a run ends if three finished days, and half of those that changed, have lost nine of ten of
// their rows while others came. A backfill is told to take them in.
func TestRefuseVanished(t *testing.T) {
	type d struct{ stored, gone, rows int64 }
	lost, kept, empty, fresh := d{100, 90, 50}, d{100, 89, 50}, d{100, 100, 0}, d{0, 0, 5}
	for name, c := range map[string]struct {
		days []d
		want bool // it is refused
	}{
		"three of three":            {[]d{lost, lost, lost}, true},
		"two":                       {[]d{lost, lost}, false},
		"three of six":              {[]d{lost, kept, lost, kept, lost, kept}, true},
		"three of seven":            {[]d{lost, kept, lost, kept, lost, kept, kept}, false},
		"less than nine of ten":     {[]d{kept, kept, kept, kept}, false},
		"all that is new is empty":  {[]d{empty, empty, empty}, false},
		"empty ones count as days":  {[]d{lost, lost, lost, empty, empty, empty, empty}, false},
		"days that were not stored": {[]d{lost, lost, lost, fresh, fresh, fresh, fresh}, true},
	} {
		for _, command := range []string{"sync", "backfill"} {
			r := &prover{s: &session{command: command}, days: &copiedDays{}}
			for i, one := range c.days {
				day := aDay + schema.Date(len(c.days)-i)
				k := &copiedDay{plannedDay: plannedDay{Day: day}, isStaged: true, read: &dayRead{}}
				k.put.Changed, k.put.Diff.Deleted, k.read.sums.Rows = true, one.gone, one.rows
				k.known = &manifest.Day{LastReadAt: schema.InstantOf(day.End()), Sums: history.Sums{Rows: one.stored}}
				r.days.days = append(r.days.days, k)
			}
			open, same, failed, unknown := *r.days.days[0], *r.days.days[0], *r.days.days[0], *r.days.days[0]
			stillOpen := *open.known
			stillOpen.LastReadAt--
			open.known, same.put.Changed, failed.isStaged, unknown.known = &stillOpen, false, false, nil
			for range 9 { // none of which counts
				r.days.days = append(r.days.days, &open, &same, &failed, &unknown)
			}
			err := r.refuseVanished()
			if want := c.want && command == "sync"; errors.Is(err, exit.ErrOtherReport) != want || !want && err != nil {
				t.Errorf("%s by %s: %v", name, command, err)
			}
			if err != nil && len(c.days) == 3 && !strings.Contains(err.Error(), "2024-10-05, 2024-10-06, 2024-10-07") {
				t.Errorf("%s: %v does not name the days in order", name, err)
			}
		}
	}
}

// TestQuarantineSentence names the folder once for each reason.
func TestQuarantineSentence(t *testing.T) {
	for c, want := range map[[2]int]int{{0, 0}: 0, {0, 2}: 1, {3, 0}: 1, {3, 2}: 2} {
		r := &run{s: &session{Job: Job{Account: "acme"}}}
		r.withheld, r.quarantined = c[0], c[1]
		text := r.quarantineSentence()
		if got := strings.Count(text, quarantine.FolderOf("acme")); got != want ||
			strings.Contains(text, "of 3 days are kept") != (c[0] > 0) || strings.Contains(text,
			"replay") != (c[1] > 0) {
			t.Errorf("%v: %q", c, text)
		}
	}
}

// TestClock_NeverGoesBack, follows the service's only if they differ by more than two minutes, and is not before the
// last publication if it is so by little.
func TestClock_NeverGoesBack(t *testing.T) {
	at := worldNow
	clock := func() *clock { at = worldNow; return newClock(func() time.Time { return at }) }
	c := clock()
	at = at.Add(time.Hour)
	if got := c.Now().Sub(worldNow); got != time.Hour || c.elapsed() != time.Hour {
		t.Errorf("an hour later it is %v", got)
	}
	at = at.Add(-3 * time.Hour)
	if got := c.Now().Sub(worldNow); got != time.Hour || c.elapsed() != 0 {
		t.Errorf("after a jump back it is %v", got)
	}
	for ahead, follows := range map[time.Duration]bool{0: false, followFrom: false, -followFrom: false,
		followFrom + 1: true, -followFrom - 1: true} {
		c, want := clock(), worldNow
		c.Now()
		if got := c.compare(worldNow.Add(-ahead)); got != ahead {
			t.Errorf("%v ahead: %v", ahead, got)
		}
		if got := c.compare(worldNow.Add(time.Hour)); got != ahead {
			t.Errorf("%v ahead, asked again: %v", ahead, got)
		}
		if follows {
			want = want.Add(-ahead)
		}
		if got := c.Now(); !got.Equal(want) {
			t.Errorf("%v ahead: it is %v", ahead, got.Sub(worldNow))
		}
	}
	for floor, want := range map[time.Duration]time.Duration{-time.Minute: 0, time.Minute: time.Minute,
		followFrom: followFrom, followFrom + 1: 0} {
		c := clock()
		c.floor = worldNow.Add(floor)
		if got := c.Now().Sub(worldNow); got != want {
			t.Errorf("published %v later: it is %v", floor, got)
		}
	}
}

// TestClock_Surely: a day is over when it is over by both clocks.
func TestClock_Surely(t *testing.T) {
	midnight := aDay.Start()
	before := midnight.Add(-time.Microsecond)
	for _, c := range []struct{ ahead, after, want time.Duration }{
		{time.Minute, 0, -time.Microsecond}, {time.Minute, time.Minute - 1, -time.Microsecond},
		{time.Minute, time.Minute, time.Minute}, {0, 0, 0}, {-time.Minute, 0, 0},
		{-time.Hour, time.Minute, -time.Microsecond}, {-time.Hour, time.Hour, time.Hour},
		{time.Hour, 30 * time.Minute, -time.Microsecond}, {time.Hour, time.Hour, time.Hour},
	} {
		k := newClock(func() time.Time { return midnight })
		k.compare(midnight.Add(-c.ahead))
		if got := k.conservative(midnight.Add(c.after)).Sub(midnight); got != c.want {
			t.Errorf("%v ahead, %v after midnight: %v, want %v", c.ahead, c.after, got, c.want)
		}
		if got := k.conservative(before); !got.Equal(before) {
			t.Errorf("%v ahead, before midnight: %v", c.ahead, got)
		}
	}
}

// TestFailsReportToo: a generation without settings is tried only if it can succeed.
func TestFailsReportToo(t *testing.T) {
	for err, want := range map[error]bool{durable.ErrStorage: true, durable.ErrLocked: true, context.Canceled: true,
		durable.ErrDamaged: false, extract.ErrContract: false, errors.New("x"): false} {
		if got := failsReportToo(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestRun_NothingProven: a run without a proven day has the reasons of its days, or that of the signal.
func TestRun_NothingProven(t *testing.T) {
	var r run
	if err := r.nothingProven(); err != nil || r.storageFailed() != nil {
		t.Errorf("nothing was planned: %v", err)
	}
	if r.tally.planned = 2; !errors.Is(r.nothingProven(), context.Canceled) {
		t.Errorf("nothing was begun: %v", r.nothingProven())
	}
	r.tally.fail("a", extract.ErrContract)
	r.tally.fail("b", durable.ErrStorage)
	if err := r.nothingProven(); !errors.Is(err, extract.ErrContract) || !errors.Is(err, durable.ErrStorage) ||
		errors.Is(err, context.Canceled) || !errors.Is(r.storageFailed(), durable.ErrStorage) {
		t.Errorf("two failures: %v", err)
	}
	if r.tally.proven = 1; r.nothingProven() != nil {
		t.Errorf("one day is proven: %v", r.nothingProven())
	}
}

// TestDaySums: what a run reports of its days, each by how it ended.
func TestDaySums(t *testing.T) {
	read := func(edit func(*dayRead)) *dayRead {
		r := &dayRead{at: schema.InstantOf(aDay.End()), sums: history.Sums{Rows: 10},
			Facts: manifest.Facts{Control: schema.ControlMatched}}
		if edit != nil {
			edit(r)
		}
		return r
	}
	var days []*copiedDay
	add := func(d *copiedDay) *copiedDay {
		d.Day = aDay + schema.Date(len(days))
		d.step.Unit = d.Day.String()
		days = append(days, d)
		return d
	}
	odd := transform.OddID{Column: "source_id", Form: "f", Value: `"x"`}
	plain := add(&copiedDay{isStaged: true, known: &manifest.Day{}, read: read(nil), spent: []string{"a"}})
	first := add(&copiedDay{isStaged: true, read: read(func(r *dayRead) {
		r.Unread, r.lacks = 3, []string{"clicks"}
		r.unknown = []extract.UnknownKey{{Path: "data[].x", Type: "number"}}
	}), spent: []string{"b"}, oddIDs: []transform.OddID{odd, odd, {Column: "source_id", Form: "known"}}})
	first.put.Changed = true
	first.put.Diff = history.Diff{Inserted: 3, Updated: 2, Deleted: 1}
	part := add(&copiedDay{isStaged: true, read: read(func(r *dayRead) {
		r.Refused, r.first, r.Control = 1, errors.New("row 1"), schema.ControlNone
		r.Unread, r.lacks, r.aside = 1, []string{"clicks", "a"}, []schema.RefusedRow{{}}
	})})
	part.put.Diff = history.Diff{Inserted: 1, Updated: 1, Deleted: 1}
	counted := func(at schema.Instant) *dayRead {
		return read(func(r *dayRead) {
			r.at, r.Control = at, schema.ControlNone
			r.RowsTotalState, r.RowsTotal = schema.RowsDiffer, schema.Some[int64](11)
		})
	}
	add(&copiedDay{isStaged: true, read: counted(schema.InstantOf((aDay + 3).End()))})
	add(&copiedDay{isStaged: true, read: counted(schema.InstantOf((aDay + 4).End()) - 1)}) // it goes on
	add(&copiedDay{err: errors.New("broken"), isKept: true})
	add(&copiedDay{})
	last := add(&copiedDay{}) // the service refused both
	c := &copiedDays{planned: make([]plannedDay, 9), days: days, stopped: true, totals: &controlTotals{
		failed: errors.New("no totals")}, untried: &finding{what: "1 more day", err: errors.New("x")}}
	withheld := add(&copiedDay{isWithheld: true})
	c.withheld = errors.New("whose report")
	withheld.err = c.withheld
	c.days = days
	s := c.sum("acme", "run1", []schema.UnknownField{{Stream: "spend_report", Path: "data[].source_id: known"},
		{Stream: "balance", Path: "data[].source_id: f"}})
	got := s.tally
	if got.planned != 9 || !got.stopped || got.changed != 1 || got.proven != 4 || got.partial != 1 ||
		got.unreachable != 2 || fmt.Sprint(s.lacks) != "[a clicks]" ||
		fmt.Sprint(s.oddIDs) != fmt.Sprint([]transform.OddID{odd}) {
		t.Errorf("%+v", got)
	}
	var failed []string
	for _, f := range got.failures() {
		failed = append(failed, f.what)
	}
	if want := "spend 2024-10-06, spend 2024-10-09, control totals, report, 1 more day"; strings.Join(failed,
		", ") != want {
		t.Errorf("failures %q, want %s", failed, want)
	}
	if s.unreachable != last.Day || s.quarantined != 1 || s.withheld != 1 || s.rows != 50 ||
		len(s.steps) != len(days) ||
		s.diff != (history.Diff{Inserted: 4, Updated: 3, Deleted: 2}) || len(s.refused) != 1 ||
		fmt.Sprint(s.stored) != fmt.Sprint([]schema.Date{aDay, aDay + 1, aDay + 2, aDay + 3, aDay + 4}) {
		t.Errorf("%+v", s)
	}
	if len(s.spent) != 1 || s.spent[first.Day] == nil || s.spent[plain.Day] != nil {
		t.Errorf("spent %v", s.spent)
	}
	if len(s.unknown) != 2 || s.unknown[0].Path != "data[].x" || s.unknown[0].SampleType != "number" ||
		s.unknown[1].Path != "data[].source_id: f" || s.unknown[1].SampleType != "string" ||
		s.unknown[1].AccountID != "acme" || s.unknown[1].RunID != "run1" {
		t.Errorf("unknown %+v", s.unknown)
	}
	s.addTaken([]takenDay{{Day: quarantine.Day{Date: aDay - 1}, rows: 5}}, "acme", "run1", 7)
	if s.tally.taken != 1 || !slices.Contains(s.stored, aDay-1) || len(s.steps) != len(days)+1 ||
		s.steps[len(days)].Rows != 5 || s.steps[len(days)].Unit != (aDay-1).String() {
		t.Errorf("taken: %+v", s.steps)
	}
	alone := (&copiedDays{withheld: c.withheld}).sum("acme", "run1", nil)
	if alone.tally.planned != 1 || len(alone.tally.findings) != 1 || !alone.tally.nothing() {
		t.Errorf("a withheld report without a planned day: %+v", alone.tally)
	}
}

// roundTrip is a service in this process.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
