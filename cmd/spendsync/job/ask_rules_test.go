package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestAsk_Rules: what the report refused is asked for once a day, by the first run of the day; a run that learns
// nothing changes nothing; and what is new about it is said once.
func TestAsk_Rules(t *testing.T) {
	w := newWorld(t)
	w.first()
	s, err := w.next().begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	s.plan.Today = w.today()
	now, yesterday := schema.InstantOf(worldNow), schema.InstantOf(w.today().Start())-1
	ask := func(tried schema.Instant, size int, without ...string) *manifest.Ask {
		return &manifest.Ask{Without: without, PageSize: size, TriedAt: tried}
	}
	for name, c := range map[string]struct {
		known *manifest.Ask
		begin string        // what is asked for at first
		found extract.Ask   // what the report answers
		next  *manifest.Ask // for the next run
	}{
		"nothing is refused": {nil, "{[] 0}", extract.Ask{}, nil},
		"a column is, for the first time": {nil, "{[] 0}", extract.Ask{Without: []string{"clicks"}}, ask(now, 0,
			"clicks")},
		"large pages are": {nil, "{[] 0}", extract.Ask{PageSize: 500}, ask(now, 500)},
		"as before, the same day": {ask(now-1, 600, "clicks"), "{[clicks] 600}",
			extract.Ask{Without: []string{"clicks"},
				PageSize: 600}, ask(now-1, 600, "clicks")},
		"as before, the next day": {ask(yesterday, 600, "clicks"), "{[] 0}", extract.Ask{Without: []string{"clicks"}},
			ask(now, 0, "clicks")},
		"given again, the next day": {ask(yesterday, 0, "clicks"), "{[] 0}", extract.Ask{}, nil},
	} {
		s.store.Account().Ask = c.known
		s.askForLess()
		if got := fmt.Sprint(s.Report.Asked()); got != c.begin {
			t.Errorf("%s: asks for %s", name, got)
		}
		s.Report.AskLess(c.found)
		s.start = worldNow
		got := s.asked(nil)
		if (got == nil) != (c.next == nil) || got != nil && fmt.Sprint(*got) != fmt.Sprint(*c.next) {
			t.Errorf("%s: keeps %+v", name, got)
		}
	}

	for name, c := range map[string]struct {
		known    *manifest.Ask
		found    []string // that the report refuses
		lacks    []string // that the days' pages left out
		proven   int
		partial  int
		lacking  string
		newly    string
		again    string
		isUpdate bool // what is kept is what was found
	}{
		"nothing": {proven: 1, isUpdate: true},
		"refused now": {found: []string{"clicks"}, proven: 1, lacking: "clicks", newly: "clicks",
			isUpdate: true},
		"refused in part": {found: []string{"clicks"}, partial: 1, lacking: "clicks", newly: "clicks",
			isUpdate: true},
		"refused as before": {known: ask(now, 0, "clicks"), found: []string{"clicks"}, proven: 1,
			lacking: "clicks", isUpdate: true},
		"left out": {lacks: []string{"clicks"}, proven: 1, lacking: "clicks", newly: "clicks",
			isUpdate: true},
		"left out and refused": {found: []string{"a"}, lacks: []string{"b", "a"}, proven: 1, lacking: "a b",
			newly: "a b", isUpdate: true},
		"given again": {known: ask(now, 0, "a", "b"), found: []string{"b"}, proven: 1, lacking: "b",
			again: "a", isUpdate: true},
		"no day is proven": {known: ask(now, 0, "clicks"), found: []string{"x"}, lacking: "clicks"},
	} {
		s.store.Account().Ask = c.known
		s.Report.AskLess(extract.Ask{Without: c.found})
		r := &run{s: s}
		r.tally.proven, r.tally.partial, r.tally.lacks = c.proven, c.partial, c.lacks
		r.sumUpAsked()
		got := strings.Join(r.tally.lacks, " ") + "|" + strings.Join(r.tally.newlyLacks, " ") + "|" +
			strings.Join(r.tally.givenAgain, " ")
		if got != c.lacking+"|"+c.newly+"|"+c.again {
			t.Errorf("%s: %s", name, got)
		}
		kept, found := fmt.Sprint(r.ask.Unknown()), fmt.Sprint((&manifest.Ask{Without: c.found}).Unknown())
		if c.isUpdate && kept != found ||
			!c.isUpdate && r.ask != c.known {
			t.Errorf("%s: keeps %s", name, kept)
		}
	}

	// The line of a run that publishes has what keeps its settings back, and the proof of its account.
	for name, c := range map[string]struct {
		settings error
		stopped  bool
		code     int
	}{"well": {nil, false, exit.OK}, "settings that cannot be stored": {durable.ErrStorage, false, exit.Storage},
		"settings that fail": {errors.New("x"), false, exit.OK}, "stopped": {durable.ErrStorage, true, exit.Stopped}} {
		r := &run{s: s, settingsErr: c.settings, proofs: []string{"a", "b"}, newVersions: 3}
		r.tally.planned, r.tally.proven, r.tally.stopped = 1, 1, c.stopped
		row := r.publishedRow(load.Preview{Generation: 7, Restatements: 2})
		if row.ExitCode != int64(c.code) || row.Generation != 7 || row.Restatements != 2 || !row.Published ||
			row.IdentityProof.V != "a; b" || row.SettingsVersions != 3 || row.DaysPlanned != 1 {
			t.Errorf("%s: %+v", name, row)
		}
		if row := r.row(exit.OK, "", false); row.IdentityProof.Valid {
			t.Errorf("%s: what is not published has a proof", name)
		}
	}
}
