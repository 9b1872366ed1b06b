package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"spendsync/schema"
)

func TestGap(t *testing.T) {
	for _, c := range []struct {
		rows, service int64
		want          string
	}{
		{1000, 1010, "above-1pct"}, {1000, 1011, "above-10pct"}, {1000, 990, "below-1pct"}, {1000, 900, "below-10pct"},
		{1000, 899, "below-100pct"}, {1000, 0, "below-100pct"}, {1000, -1, "below-more"}, {1000, 2000, "above-100pct"},
		{1000, 2001, "above-more"}, {0, 1, "above-more"}, {0, -1, "below-more"}, {-1000, -990, "above-1pct"},
	} {
		if got := Gap(c.rows, c.service); got != c.want {
			t.Errorf("%d for %d rows: %s, want %s", c.service, c.rows, got, c.want)
		}
	}
}

func TestAsk_Unknown(t *testing.T) {
	var none *Ask
	if got := none.Unknown(); got != nil {
		t.Errorf("everything is asked for: %q are unknown", got)
	}
	a := &Ask{Without: []string{"date", "clicks", "campaign_name", "conversions"}}
	if got := a.Unknown(); !slices.Equal(got, []string{"clicks", "conversions"}) || len(a.Without) != 4 {
		t.Errorf("unknown are %q; not asked for %q", got, a.Without)
	}
}

func TestNote_Stands(t *testing.T) {
	for _, c := range []struct {
		decision string
		byHand   bool
		runs     int64
		want     bool
	}{
		{"", false, RunsToStand - 1, false},
		{"", false, RunsToStand, true},
		{"", false, RunsToStand + 1, true},
		{"", true, RunsToStand + 1, false},
		{schema.NoteAccepted, false, 1, true},
		{schema.NoteAccepted, true, 1, true},
		{schema.NoteWithdrawn, false, RunsToStand, false},
	} {
		n := Note{Decision: c.decision, ByHand: c.byHand, Runs: c.runs}
		if n.Stands() != c.want {
			t.Errorf("%+v: stands is %t", n, n.Stands())
		}
	}
}

// TestNotesAfter: a note counts the runs that saw it and keeps its first time and its decision. Without being seen it
// lasts for a week, or for as long as a decision on it.
func TestNotesAfter(t *testing.T) {
	at := schema.InstantOf(schema.NewDate(2026, 3, 9).Start())
	ago := func(d time.Duration) schema.Instant { return schema.InstantOf(at.Time().Add(-d)) }
	a := &Account{Notes: []Note{
		{Name: "decided", Decision: schema.NoteWithdrawn, Runs: 1, LastSeenAt: ago(100 * noteLasts), RunID: "R1"},
		{Name: "lately", Runs: 2, LastSeenAt: ago(noteLasts - time.Microsecond), RunID: "R1"},
		{Name: "long ago", Runs: 9, LastSeenAt: ago(noteLasts), RunID: "R1"},
		{Name: "seen", Message: "old", Decision: schema.NoteAccepted, Runs: 4, FirstSeenAt: 7, LastSeenAt: ago(1),
			RunID: "R1"},
	}}
	before := slices.Clone(a.Notes)
	seen := map[string]Note{"seen": {Message: "now", ByHand: true}}
	want := []Note{a.Notes[0], a.Notes[1]}
	for i := range 9 {
		name := fmt.Sprint("new ", i)
		seen[name] = Note{Message: name}
		want = append(want, Note{Name: name, Message: name, Runs: 1, FirstSeenAt: at, LastSeenAt: at, RunID: "R2"})
	}
	want = append(want, Note{Name: "seen", Message: "now", ByHand: true, Decision: schema.NoteAccepted, Runs: 5,
		FirstSeenAt: 7, LastSeenAt: at, RunID: "R2"})
	if got := a.NotesAfter(seen, at, "R2"); !reflect.DeepEqual(got, want) {
		t.Errorf("the notes are\n%+v, want\n%+v", got, want)
	}
	if !reflect.DeepEqual(a.Notes, before) {
		t.Errorf("the notes before are %+v now", a.Notes)
	}
	gaps := []Note{{Name: "c.below-10pct", Runs: RunsToStand, LastSeenAt: at},
		{Name: "c.above-more", Runs: 1, LastSeenAt: at}, {Name: "stands", Runs: RunsToStand},
		{Name: "x-100pct", Runs: RunsToStand, Decision: schema.NoteWithdrawn}}
	stands := map[string]bool{}
	for _, n := range (&Account{Notes: gaps}).NotesAfter(map[string]Note{"c.below-1pct": {}, "c.below-100pct": {},
		"d.below-1pct": {}, "c.above-1pct": {}, "x-10pct": {}, "c.below-other": {}, "c.below-10pct": {}}, at, "R2") {
		if n.RunID == "R2" {
			stands[n.Name] = n.Stands()
		}
	}
	if want := map[string]bool{"c.below-1pct": true, "c.below-10pct": true, "c.below-100pct": false,
		"d.below-1pct": false, "c.above-1pct": false, "x-10pct": false, "c.below-other": false,
	}; !maps.Equal(stands, want) {
		t.Errorf("below a gap of 10 %% that stands: %v, want %v", stands, want)
	}
	a.Notes = before[:1] // the first one, seen again
	got := a.NotesAfter(map[string]Note{"decided": {}}, at, "R2")
	if len(got) != 1 || got[0].Runs != 2 || got[0].Decision != schema.NoteWithdrawn {
		t.Errorf("%+v", got)
	}
	if got := new(Account).NotesAfter(nil, at, "R2"); got == nil || len(got) != 0 {
		t.Errorf("no notes: %#v, which would leave the former ones", got)
	}
}
