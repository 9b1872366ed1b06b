package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

func closed() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// TestWithhold: a day that is not proven leaves the run, and its replies stay, unless they are those that are stored.
func TestWithhold(t *testing.T) {
	d, end := newDayTest(t, emptyStore(t), &scriptedReport{day: schema.DateOf(worldNow) - 5, reads: []string{"a1 =1"},
		sums: []string{"1 1"}})
	defer end()
	changed := d.copyDay(t.Context(), plannedDay{Day: d.day})
	same, other := *changed, *changed
	same.Day, same.put.Changed, other.Day, other.isStaged = d.day-1, false, d.day-2, false
	r := &prover{s: d.s, days: &copiedDays{days: []*copiedDay{changed, &same, &other}}}
	why := errors.New("whose report")
	kept := func(want string) {
		t.Helper()
		days, err := d.s.store.Quarantine().Days()
		got := ""
		for _, q := range days {
			got += fmt.Sprintf("%d %v %v %s;", d.day-q.Date, q.Withheld, q.Campaigns, q.Reason)
			if err := d.s.store.Quarantine().Remove(q.Date); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || got != want {
			t.Errorf("kept %q, %v", got, err)
		}
	}
	if err := r.keepReplies(errors.New("another key")); err != nil || !changed.isWithheld || other.isWithheld {
		t.Errorf("%v, %v", err, changed)
	}
	kept("0 true [C1000001] another key;")
	again := d.copyDay(t.Context(), plannedDay{Day: d.day})
	if err := r.withhold(&reportProof{withheld: []*copiedDay{again, &same}, err: why}); err != nil {
		t.Fatal(err)
	}
	kept("0 true [C1000001] whose report;")
	for _, k := range []*copiedDay{again, &same} {
		if k.isStaged || k.err != why || k.step.Outcome != "failed" || k.step.Message.V != why.Error() ||
			r.days.withheld != why {
			t.Errorf("%+v", k)
		}
	}
	if !again.isWithheld || same.isWithheld {
		t.Error("replies that are stored are kept once more")
	}
}

// TestTakeKept: kept days are taken once they can no longer be read, those that were not withheld once a day.
func TestTakeKept(t *testing.T) {
	dir := settingsStore(t)
	reach := schema.DateOf(worldNow) - schema.ReachDays
	for name, c := range map[string]struct {
		day     schema.Date
		script  string
		public  bool // it was not withheld
		again   bool // the day has seen a run
		later   bool // the stored day is newer
		before  bool // this run stored the day
		canWait bool
		want    string // taken, stored, waiting
	}{
		"out of reach":              {day: reach - 1, script: "a1 =1", want: "1 1 0"},
		"the first day of reach":    {day: reach, script: "a1 =1", want: "0 0 0"},
		"not withheld":              {day: reach - 1, script: "a1 =1", public: true, want: "1 1 0"},
		"not withheld, once a day":  {day: reach - 1, script: "a1 =1", public: true, again: true, want: "0 0 0"},
		"stored by this run":        {day: reach - 1, script: "a1 =1", before: true, want: "0 1 0"},
		"stored later":              {day: reach - 1, script: "a1 =1", later: true, want: "0 1 0"},
		"not proven":                {day: reach - 1, script: "a1", want: "0 0 0"},
		"not proven, and may be so": {day: reach - 1, script: "a1", canWait: true, want: "0 0 1"},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: c.day})
		d.s.plan.Reach = reach
		r := &run{s: d.s}
		if c.again {
			d.s.store.Account().Days = map[schema.Date]*manifest.Day{d.s.plan.Today: {}}
		}
		if c.before {
			r.stored = []schema.Date{c.day}
		}
		if c.later {
			d.s.store.Account().Days = map[schema.Date]*manifest.Day{c.day: {LastReadAt: schema.InstantOf(worldNow)}}
		}
		d.keptReplies(t, quarantine.Day{Date: c.day, ReadAt: schema.InstantOf(worldNow.Add(-time.Hour)), RunID: "run0",
			Reason: "x", Withheld: !c.public, Campaigns: []string{"C1000001"}}, c.script)
		err := r.takeKept(t.Context(), &reportProof{witnesses: witnesses{"C1000001": true}, canWait: c.canWait})
		if got := fmt.Sprint(r.tally.taken, len(r.stored), len(r.waiting)); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if r.tally.taken > 0 && (r.diff.Inserted != 1 || len(r.steps) != 1 || r.steps[0].Rows != 1) {
			t.Errorf("%s: %+v, %+v", name, r.diff, r.steps)
		}
		if err := d.s.store.Quarantine().Remove(c.day); err != nil {
			t.Fatal(err)
		}
		end()
	}
}

// TestKeyExpires: the end of the key is stored, and warned of when it is near or the service warns.
func TestKeyExpires(t *testing.T) {
	end := func(in time.Duration) string { return worldNow.Add(in).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		ends, warning string
		known, warns  bool
	}{
		"not stated":       {},
		"far":              {ends: end(KeyNotice), known: true},
		"near":             {ends: end(KeyNotice - time.Second), known: true, warns: true},
		"the service does": {ends: end(9 * KeyNotice), warning: "soon", known: true, warns: true},
		"it says no time":  {warning: "soon", warns: true},
	} {
		var log strings.Builder
		client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
			RetryBudget: 1, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				resp := replyWith(r, http.StatusOK, `{"account_id":"adv_1"}`)
				for key, value := range map[string]string{"X-Api-Key-Expires-At": c.ends,
					"X-Api-Key-Expiry-Warning": c.warning} {
					if value != "" {
						resp.Header.Set(key, value)
					}
				}
				return resp, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := &session{Job: Job{API: client, Now: atWorldNow, Log: logTo(&log)}}
		got := s.keyExpires()
		if got.Valid != c.known || c.known && got.V.Time().UTC().Format(time.RFC3339) != c.ends ||
			strings.Contains(log.String(), "expires soon") != c.warns {
			t.Errorf("%s: %v, %s", name, got, log.String())
		}
		client.Close()
	}
}

// TestReadDays: every planned day is read, whatever becomes of the others; a refused password ends the reading, and
// names how many days were not tried.
func TestReadDays(t *testing.T) {
	dir := emptyStore(t)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	today := schema.DateOf(worldNow)
	for name, c := range map[string]struct {
		reads   string
		stopped bool
		read    int
		untried string
	}{
		"well":       {reads: "=0", read: 3},
		"not proven": {reads: "a1< =1", read: 3},
		"refused":    {reads: "401 who are you", read: 1, untried: "2 more days not tried: "},
		"stopped":    {reads: "=0", stopped: true},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: today - 1, reads: []string{c.reads},
			sums: []string{"400 none"}})
		d.s.Concurrency = 1
		d.s.plan.Read = []plannedDay{{Day: today - 3}, {Day: today - 2}, {Day: today - 1}}
		ctx := t.Context()
		if c.stopped {
			ctx = stopped
		}
		got := d.s.readDays(ctx)
		untried := ""
		if got.untried != nil {
			untried = got.untried.String()
		}
		if len(got.days) != c.read || len(got.planned) != 3 || got.stopped != c.stopped ||
			!strings.HasPrefix(untried, c.untried) || (untried == "") != (c.untried == "") {
			t.Errorf("%s: %d read, stopped %t, %q", name, len(got.days), got.stopped, untried)
		}
		end()
	}
	for err, want := range map[error]bool{extract.ErrAuth: true, durable.ErrStorage: true, exit.ErrUsage: true,
		extract.ErrContract: false, extract.ErrUnavailable: false} {
		if isFatal(err) != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
}
