package history

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/load/durable"
	"spendsync/schema"
)

// TestRecall derives the confirmations from the rows again: their own instants, and no absence.
func TestRecall(t *testing.T) {
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1), without(campaign("c2", "B", 2), "name", "gender"), campaign("c3", "C", 3),
		blindCampaign("c4"), campaign("c6", "D", 1)))
	b.run(listed(2, campaign("c1", "B", 1), without(campaign("c2", "B", 2), "name", "gender"), blindCampaign("c4"),
		campaign("c6", "D", 1)))
	b.run(listed(3, campaign("c1", "B", 1), without(campaign("c2", "B", 2), "name", "gender"), blindCampaign("c4")))
	b.run(reported(4, "c5"))
	got, err := Recall(b.table, b.h.Rows)
	if err != nil {
		t.Fatal(err)
	}
	never := []string{}
	for _, name := range schema.Names(b.tracked) {
		if name != "default_bid" {
			never = append(never, name)
		}
	}
	slices.Sort(never)
	if !slices.Equal(got.Never["c2"], never) {
		t.Errorf("never read: %q, want all but default_bid", got.Never["c2"])
	}
	// c1 was confirmed when it changed; that it was again is lost, as is that c6 was missed.
	want := Confirmations{ObservedAt: hour(4), ConfirmedAt: hour(1), SharedCount: 3, Never: got.Never,
		Exceptions: map[string]schema.Instant{"c1": hour(2), "c3": hour(3), "c5": hour(4)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	again, st, err := Advance(b.table, b.tracked, Versions[schema.Campaign]{Rows: b.h.Rows, Confirmations: got},
		listed(5, campaign("c1", "B", 1), campaign("c2", "B", 2), campaign("c6", "D", 1)))
	if err != nil || st.Filled != 1 || st.Versions != 0 || again.Confirmations.Never != nil {
		t.Errorf("the next run: %+v, %v", st, err)
	}
	spoiled := append([]schema.Campaign{}, b.h.Rows...)
	spoiled[1].AccountID = "other"
	if m, err := Recall(b.table, spoiled); err == nil || cmp.Diff(m, Confirmations{}) != "" {
		t.Errorf("rows of two accounts: %+v, %v", m, err)
	}
	spoiled[1].AccountID, spoiled[1].VersionNo = "acme", 7
	if _, err := Recall(b.table, spoiled); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("a version that is missing: %v", err)
	}
}

// TestConfirmations_MovesOnly: only where nothing but the shared instant is another, and every key
// that had the old one is known to have the new one.
func TestConfirmations_MovesOnly(t *testing.T) {
	was := Confirmations{ConfirmedAt: hour(1), SharedCount: 2,
		Exceptions: map[string]schema.Instant{"c3": hour(0)}}
	is := was
	is.ConfirmedAt = hour(2)
	for name, c := range map[string]struct {
		edit func(was, is *Confirmations)
		want bool
	}{
		"moved":             {func(_, _ *Confirmations) {}, true},
		"no exceptions":     {func(was, is *Confirmations) { was.Exceptions, is.Exceptions = nil, nil }, true},
		"not counted":       {func(_, is *Confirmations) { is.SharedCount = 0 }, false},
		"nothing before":    {func(was, _ *Confirmations) { was.ConfirmedAt = 0 }, false},
		"nothing now":       {func(_, is *Confirmations) { is.ConfirmedAt = 0 }, false},
		"an exception more": {func(_, is *Confirmations) { *is = is.With("c4", hour(1)) }, false},
		"an exception less": {func(was, _ *Confirmations) { *was = was.With("c4", hour(0)) }, false},
		"another exception": {func(_, is *Confirmations) { *is = is.With("c3", hour(1)) }, false},
		"an exception shares": {func(was, is *Confirmations) {
			*was, *is = was.With("c3", hour(1)), is.With("c3", hour(1))
		}, false},
	} {
		w, i := was, is
		c.edit(&w, &i)
		if got := i.MovesOnly(w); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if len(was.Exceptions) != 1 || was.Exceptions["c3"] != hour(0) {
		t.Errorf("the given confirmations was written to: %v", was.Exceptions)
	}
}
