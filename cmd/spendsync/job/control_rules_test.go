package job

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestControl_Rules tests the decision between a day's rows and the service's own total. The test sets the stored day.
func TestControl_Rules(t *testing.T) {
	w := newWorld(t)
	w.first()
	j := w.next()
	s, err := j.begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	day := w.today() - 5
	over, open := schema.InstantOf(day.End()), schema.InstantOf(day.End())-1
	know := func(d *manifest.Day) {
		if s.store.Account().Days[day] = d; d == nil {
			delete(s.store.Account().Days, day)
		}
	}
	sums := func(rows, spend, clicks int64) history.Sums {
		return history.Sums{Rows: rows, Spend: schema.Money(spend), Clicks: schema.Some(clicks)}
	}
	total := func(spend, clicks int64) extract.Total {
		return extract.Total{Spend: schema.Money(spend), Clicks: schema.Some(clicks)}
	}
	known := func(edit func(*manifest.Day)) *manifest.Day {
		d := &manifest.Day{ContentHash: "stored", Control: schema.ControlMatched, LastReadAt: over, Sums: sums(10,
			1000, 5)}
		if edit != nil {
			edit(d)
		}
		return d
	}

	// A difference is stored if it came twice, and nothing speaks for what is stored.
	differs := func(c *controlTotals, read dayRead, of extract.Total) (string, error) {
		read.total = manifest.ControlTotal{Spend: schema.Some(of.Spend), Clicks: of.Clicks}
		return c.differs(day, &read, extract.Totals{ByDay: map[schema.Date]extract.Total{day: of}})
	}
	read := dayRead{hash: "now", sums: sums(10, 1000, 5)}
	for name, c := range map[string]struct {
		known *manifest.Day
		read  dayRead
		total extract.Total
		once  bool // it is stored at once
		twice bool // it is stored when it comes again
	}{
		"a new day":          {nil, read, total(1100, 5), false, true},
		"other rows, stored": {known(nil), read, total(1100, 5), false, true},
		"rows of one key":    {nil, dayRead{hash: "now", combined: history.Newest}, total(1, 1), true, true},
		"another count":      {nil, dayRead{hash: "now", counted: schema.RowsDiffer}, total(1, 1), true, true},
		"as it was stored": {known(func(d *manifest.Day) {
			d.Control, d.ContentHash = schema.ControlDiffers, "now"
			d.ControlTotal = manifest.ControlTotal{Spend: schema.Some[schema.Money](1100),
				Clicks: schema.Some[int64](5)}
		}), read, total(1100, 5), true, true},
		"stored with another difference": {known(func(d *manifest.Day) {
			d.Control, d.ContentHash = schema.ControlDiffers, "now"
		}), read, total(1100, 5), false, true},
		"other rows stored with this difference": {known(func(d *manifest.Day) {
			d.Control = schema.ControlDiffers
			d.ControlTotal = manifest.ControlTotal{Spend: schema.Some[schema.Money](1100),
				Clicks: schema.Some[int64](5)}
		}), read, total(1100, 5), false, true},
		"the rows are stored, and agreed": {known(func(d *manifest.Day) {
			d.ContentHash = "now"
			d.ControlTotal = manifest.ControlTotal{Spend: schema.Some[schema.Money](1100),
				Clicks: schema.Some[int64](5)}
		}), read, total(1100, 5), false, true},
		"the total is that of the stored rows": {known(nil), dayRead{hash: "now", sums: sums(9, 900, 5)}, total(1000,
			5),
			false, false},
		"the total is that of the same rows stored": {known(func(d *manifest.Day) { d.ContentHash = "now" }),
			dayRead{hash: "now", sums: sums(9, 900, 5)}, total(1000, 5), false, true},
		"the clicks of the stored rows differ": {known(nil), dayRead{hash: "now", sums: sums(9, 900, 5)}, total(1000,
			6),
			false, true},
		"the clicks of the stored rows are unknown": {known(func(d *manifest.Day) { d.Unread = 1 }),
			dayRead{hash: "now", sums: sums(9, 900, 5)}, total(1000, 6), false, false},
		"an empty answer": {nil, dayRead{hash: "now"}, total(1, 1), false, false},
		"far less":        {known(nil), dayRead{hash: "now", sums: sums(4, 900, 5)}, total(1, 1), false, false},
	} {
		know(c.known)
		of := &controlTotals{run: s}
		state, err := differs(of, c.read, c.total)
		if (err == nil) != c.once || c.once && state != schema.ControlDiffers {
			t.Errorf("%s: %q, %v", name, state, err)
		}
		if err != nil && !strings.Contains(err.Error(), "the service's own total is "+c.total.Spend.String()) {
			t.Errorf("%s: %v", name, err)
		}
		if state, err = differs(of, c.read,
			c.total); (err == nil) != c.twice || c.twice && state != schema.ControlDiffers {
			t.Errorf("%s, again: %q, %v", name, state, err)
		}
		if c.once || !c.twice {
			continue
		}
		other := c.read
		if other.hash = "other"; len(of.trusted) != 1 {
			t.Errorf("%s: trusted %v", name, of.trusted)
		}
		if _, err = differs(of, other, c.total); err == nil {
			t.Errorf("%s: other rows with the same total are stored at once", name)
		}
	}

	// No total empties no day.
	c := &controlTotals{run: s}
	for name, k := range map[string]struct {
		known *manifest.Day
		rows  int64
		want  bool
	}{"nothing was stored": {nil, 0, true}, "no rows were stored": {known(func(d *manifest.Day) {
		d.Sums = sums(0, 0,
			0)
	}),
		0, true}, "rows came": {known(nil), 1, true}, "it would be emptied": {known(nil), 0, false}} {
		know(k.known)
		if err := c.keepsRows(day, &dayRead{sums: sums(k.rows, 0, 0)}, "x"); (err == nil) != k.want {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Totals that cannot be read keep a new day out of nothing, and a stored one as it is.
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	out := errors.New("out")
	for name, k := range map[string]struct {
		known *manifest.Day
		ctx   context.Context
		err   error
		want  bool
	}{"a new day": {nil, t.Context(), out, true}, "a stored day": {known(nil), t.Context(), out, false},
		"stopped": {nil, stopped, out, false}, "refused": {nil, t.Context(), extract.ErrAuth, false}} {
		know(k.known)
		c := &controlTotals{run: s}
		state, err := c.unavailable(k.ctx, day, &dayRead{}, k.err)
		if (err == nil) != k.want || k.want && (state != schema.ControlUnknown || !errors.Is(c.failed,
			out)) || !k.want &&
			(c.failed != nil || !errors.Is(err, k.err)) {
			t.Errorf("%s: %q, %v, %v", name, state, err, c.failed)
		}
		first := c.failed
		if _, _ = c.unavailable(k.ctx, day, &dayRead{}, errors.New("later")); c.failed != first && k.want {
			t.Errorf("%s: the first reason is lost: %v", name, c.failed)
		}
	}

	// The decimals are those of the rows, of the read or of the store.
	rows := &schema.SpendRows{}
	for i, spend := range []schema.Money{1_250_000, 1_125_000, 2_000_000} {
		rows.Append(&schema.Spend{CampaignID: "C1", SourceID: string(rune('a' + i)), Spend: spend})
	}
	of, err := history.NewDay(rows)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.decimals(day, &dayRead{day: of}); got != 3 {
		t.Errorf("%d decimals of the read", got)
	}
	if got := c.decimals(day, &dayRead{}); got < 1 || got > schema.MoneyDecimals {
		t.Errorf("%d decimals of the stored rows", got)
	}

	// An open day has no total.
	know(nil)
	s.plan.Read = []PlannedDay{{Day: day}}
	for at, want := range map[schema.Instant]bool{open: true, over: false} {
		state, err := (&controlTotals{run: s}).compare(stopped, day, &dayRead{at: at, sums: sums(1, 1, 1)}, false)

		if (state == schema.ControlOpen && err == nil) != want {
			t.Errorf("read at %s: %q, %v", at, state, err)
		}
	}
}

// TestControl_Sentence names the days that are stored with another total, the last of them as an example.
func TestControl_Sentence(t *testing.T) {
	c := &controlTotals{}
	for _, day := range []schema.Date{aDay + 2, aDay, aDay + 1} {
		c.trusted = append(c.trusted, difference{day: day})
	}
	for name, k := range map[string]struct {
		matched int
		stored  []schema.Date
		want    string
	}{
		"none is stored":        {1, nil, ""},
		"one":                   {1, []schema.Date{aDay, aDay + 9}, "differs on 1 day, such as 2024-10-04"},
		"one, and none matches": {0, []schema.Date{aDay}, "differs on 1 day, such as 2024-10-04"},
		"some":                  {1, []schema.Date{aDay, aDay + 1, aDay + 2}, "differs on 3 days, such as 2024-10-06"},
		"all": {0, []schema.Date{aDay, aDay + 1},
			"differs on every finished day, such as 2024-10-05"},
	} {
		got := c.sentence(k.matched, k.stored)
		if !strings.Contains(got, k.want) || (got == "") != (k.want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !slices.EqualFunc(c.trusted, []schema.Date{aDay + 2, aDay, aDay + 1}, func(d difference, day schema.Date) bool {
		return d.day == day
	}) {
		t.Error("the list is sorted in its place")
	}
}
