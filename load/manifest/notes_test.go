package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"spendsync/schema"
)

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
	a.Notes = before[:1] // the first one, seen again
	got := a.NotesAfter(map[string]Note{"decided": {}}, at, "R2")
	if len(got) != 1 || got[0].Runs != 2 || got[0].Decision != schema.NoteWithdrawn {
		t.Errorf("%+v", got)
	}
	a.Notes = got // published twice by this run
	if got := a.NotesAfter(map[string]Note{"decided": {}}, at, "R2"); len(got) != 1 || got[0].Runs != 2 {
		t.Errorf("%+v", got)
	}
	if got := new(Account).NotesAfter(nil, at, "R2"); got == nil || len(got) != 0 {
		t.Errorf("no notes: %#v, which would leave the former ones", got)
	}
}
