package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
)

// TestProveReport: each day is proven by a campaign of the account, and what is not, is withheld or ends the run.
func TestProveReport(t *testing.T) {
	today := schema.DateOf(worldNow)
	dir := oneDayStore(t, today-5)
	for name, c := range map[string]struct {
		days     string // campaigns of changed days; =: as it is stored, =open: and it goes on, -: none
		stored   string // campaigns that are stored; those in brackets are stubs
		listed   string // by the key
		part     bool   // the list is not whole
		fresh    bool   // it is not known what proved the first rows
		answers  bool   // the key reads every campaign
		unproven bool   // the key is not proven
		want     string // what proves it; then the withheld days
		err      error  // the run ends
		why      string
		canWait  bool
	}{
		"a stored campaign": {days: "a", stored: "a", listed: "a", want: "campaign a of the settings; 0"},
		"a listed one":      {days: "b", stored: "a", listed: "a b", want: "campaign b of the settings; 0"},
		"a stub": {days: "b", stored: "a (b)", listed: "a",
			want: "the report has what is stored of it; 0"},
		"one day is another's": {days: "a x", stored: "a", listed: "a", want: "campaign a of the settings; 1",
			why: "may have been switched"},
		"and one names none": {days: "a x -", stored: "a", listed: "a", want: "campaign a of the settings; 2",
			why: "it may have been switched"},
		"none but silent ones": {days: "-", stored: "a", listed: "a", want: "; 0"},
		"all are another's": {days: "x y", stored: "a", listed: "a", want: "; 0", err: exit.ErrOtherReport,
			why: "the report speaks of 2 campaigns (x, y)"},
		"and the list is not whole": {days: "x", stored: "a", listed: "a", part: true, want: "; 0",
			err: exit.ErrOtherReport, why: "two accounts"},
		"it may be ours": {days: "x", stored: "a", listed: "a", part: true, answers: true, want: "; 1",
			why: "cannot be proven yet", canWait: true},
		"the key is not proven": {days: "x", stored: "a", listed: "a", unproven: true, want: "; 1",
			why: "cannot be proven yet", canWait: true},
		"as it is stored": {days: "= =", stored: "a", listed: "a",
			want: "2 finished days of the report as stored; 0"},
		"an open day as stored": {days: "=open", stored: "a", listed: "a", want: "; 0"},
		"as it is stored, by nobody": {days: "=", stored: "C1000001", listed: "C1000001", fresh: true, answers: true,
			want: "campaign C1000001 of the settings; 0"},
		"the list is another's": {days: "a", stored: "a", listed: "y", want: "campaign a of the settings; 0",
			why: "the API key lists 1 campaign (y)", canWait: true},
		"a first run": {days: "x", listed: "a", fresh: true, answers: true,
			want: "reads campaign x of the report; 0"},
		"a first run, another's": {days: "x", listed: "a", fresh: true, want: "; 0", err: exit.ErrOtherReport,
			why: "two accounts"},
		"a first run, no list": {days: "x", part: true, fresh: true, want: "; 1", why: "cannot be proven yet",
			canWait: true},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: today - 5})
		api := paths{"me": `{"account_id":"adv_1"}`}
		for _, id := range strings.Fields("a b x y C1000001") {
			if api["campaigns/"+id] = "404"; c.answers || strings.Contains(" "+c.listed+" ", " "+id+" ") {
				api["campaigns/"+id] = `{"id":"` + id + `"}`
			}
		}
		d.s.API = clientOf(t, api)
		key := keyProof{who: identity{account: "adv_1"}, stored: storedCampaigns{}, list: &campaignList{done: closed()}}
		key.list.listing = extract.Listing{Complete: !c.part, Why: "it moved"}
		for _, id := range strings.Fields(c.listed) {
			key.list.listing.Entities = append(key.list.listing.Entities, extract.Entity{ID: id})
		}
		for _, id := range strings.Fields(c.stored) {
			key.stored[strings.Trim(id, "()")] = id[0] != '('
		}
		if c.unproven {
			key.err = errors.New("whose key")
		}
		d.s.trial = &Trial{known: &Known{Account: d.s.store.Account(), proven: !c.fresh}}
		days := &copiedDays{}
		for i, word := range strings.Fields(c.days) {
			k := &copiedDay{PlannedDay: PlannedDay{Day: today - 5}, isStaged: true,
				read:  &dayRead{sums: history.Sums{Rows: 3}},
				known: &manifest.Day{LastReadAt: schema.InstantOf(today.Start()), Sums: history.Sums{Rows: 3}}}
			switch k.put.Changed, k.put.Diff.Deleted = word[0] != '=', 3; word {
			case "=open":
				k.known.LastReadAt = 0
			case "=", "-":
			default:
				k.campaigns = []string{word}
			}
			days.days = append(days.days, k, &copiedDay{PlannedDay: PlannedDay{Day: schema.Date(i)}})
		}
		p, err := (&prover{d.s, key, days}).proveReport(t.Context())
		got, why := "; 0", fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s; %d", p.by, len(p.withheld))
			why = fmt.Sprint(p.err, p.listErr)
			if isOther := strings.Contains(c.why, "the API key lists"); (p.listErr != nil) != isOther {
				t.Errorf("%s: %v", name, p.listErr)
			}
			if p.canWait != c.canWait || (len(p.withheld) > 0) != (p.err != nil) {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if !strings.HasSuffix(got, c.want) || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) ||
			!strings.Contains(why, c.why) || c.why == "" && why != "<nil> <nil>" {
			t.Errorf("%s: %q, %s", name, got, why)
		}
		end()
	}
}

func closed() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// clientOf asks an API that a test states.
func clientOf(t *testing.T, api paths) *extract.Client {
	t.Helper()
	client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
		RetryBudget: 1, Transport: api})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestWithhold: a day that is not proven leaves the run, and its replies stay, unless they are those that are stored.
func TestWithhold(t *testing.T) {
	d, end := newDayTest(t, emptyStore(t), &scriptedReport{day: schema.DateOf(worldNow) - 5, reads: []string{"a1 =1"},
		sums: []string{"1 1"}})
	defer end()
	changed := d.copyDay(t.Context(), PlannedDay{Day: d.day})
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
	again := d.copyDay(t.Context(), PlannedDay{Day: d.day})
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

// TestTakeWithheld: withheld days are taken once they can no longer be read.
func TestTakeWithheld(t *testing.T) {
	dir := settingsStore(t)
	reach := schema.DateOf(worldNow) - schema.ReachDays
	for name, c := range map[string]struct {
		day     schema.Date
		script  string
		public  bool // it was not withheld
		later   bool // the stored day is newer
		before  bool // this run stored the day
		canWait bool
		want    string // taken, stored, waiting
	}{
		"out of reach":              {day: reach - 1, script: "a1 =1", want: "1 1 0"},
		"the first day of reach":    {day: reach, script: "a1 =1", want: "0 0 0"},
		"not withheld":              {day: reach - 1, script: "a1 =1", public: true, want: "0 0 0"},
		"stored by this run":        {day: reach - 1, script: "a1 =1", before: true, want: "0 1 0"},
		"stored later":              {day: reach - 1, script: "a1 =1", later: true, want: "0 1 0"},
		"not proven":                {day: reach - 1, script: "a1", want: "0 0 0"},
		"not proven, and may be so": {day: reach - 1, script: "a1", canWait: true, want: "0 0 1"},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: c.day})
		d.s.plan.Reach = reach
		r := &run{s: d.s}
		if c.before {
			r.stored = []schema.Date{c.day}
		}
		if c.later {
			d.s.store.Account().Days = map[schema.Date]*manifest.Day{c.day: {LastReadAt: schema.InstantOf(worldNow)}}
		}
		d.keptReplies(t, quarantine.Day{Date: c.day, ReadAt: schema.InstantOf(worldNow.Add(-time.Hour)), RunID: "run0",
			Reason: "x", Withheld: !c.public, Campaigns: []string{"C1000001"}}, c.script)
		err := r.takeWithheld(t.Context(), &reportProof{witnesses: witnesses{"C1000001": true}, canWait: c.canWait})
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
		d.s.plan.Read = []PlannedDay{{Day: today - 3}, {Day: today - 2}, {Day: today - 1}}
		stages, ctx := 0, t.Context()
		d.s.Trace = func(ctx context.Context, stage string, _ ...slog.Attr) (context.Context, EndStage) {
			return ctx, func(error, ...slog.Attr) { stages++ }
		}
		if c.stopped {
			ctx = stopped
		}
		got := d.s.readDays(ctx)
		untried := ""
		if got.untried != nil {
			untried = got.untried.String()
		}
		if len(got.days) != c.read || len(got.planned) != 3 || got.stopped != c.stopped || stages != c.read ||
			!strings.HasPrefix(untried, c.untried) || (untried == "") != (c.untried == "") {
			t.Errorf("%s: %d read, stopped %t, %q, %d stages", name, len(got.days), got.stopped, untried, stages)
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

// TestProve: a key of another account ends the run and leaves the replies; a proven one pins its account, or that the
// service names none, and what proves it is recorded.
func TestProve(t *testing.T) {
	for name, c := range map[string]struct {
		account string
		err     error
		ends    bool
		proofs  string
	}{
		"named":              {account: "adv_1", proofs: "[the key]"},
		"never named":        {proofs: "[the key]"},
		"another's":          {err: exit.ErrOtherAccount, ends: true},
		"a wrong URL":        {err: exit.ErrUsage, ends: true},
		"it does not answer": {err: extract.ErrUnavailable, proofs: "[]"},
	} {
		d, end := newDayTest(t, emptyStore(t), &scriptedReport{day: schema.DateOf(worldNow) - 5,
			reads: []string{"a1 =1"},
			sums:  []string{"400 none"}})
		d.s.API = clientOf(t, paths{"me": `{"account_id":"adv_1"}`})
		key := keyProof{who: identity{account: c.account}, by: "the key", err: c.err,
			list: &campaignList{done: closed()}}
		key.list.listing.Complete = true
		k := d.copyDay(t.Context(), PlannedDay{Day: d.day})
		days := &copiedDays{days: []*copiedDay{k}}
		if !c.ends {
			days.days = nil
		}
		p, err := (&prover{d.s, key, days}).prove(t.Context())
		if (err != nil) != c.ends || err == nil && fmt.Sprint(p.proofs) != c.proofs || k.isWithheld != c.ends {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if !c.ends {
			d.commit(t)
			want := c.account
			if want == "" || c.err != nil {
				want = acceptedUnpinned
			}
			if got := d.s.store.Account().Pinned; got != want {
				t.Errorf("%s: pinned to %q", name, got)
			}
		}
		end()
	}
}
