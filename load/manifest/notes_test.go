package manifest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/schema"
)

func TestNote_Stands(t *testing.T) {
	for _, c := range []struct {
		size     int64
		accepted *Acceptance
		want     bool
	}{
		{5, nil, false}, {0, nil, false}, {5, &Acceptance{Size: 5}, true}, {4, &Acceptance{Size: 5}, true},
		{6, &Acceptance{Size: 5}, false}, {0, &Acceptance{}, true},
	} {
		n := Note{Size: c.size, Accepted: c.accepted}
		if n.IsAccepted() != c.want {
			t.Errorf("%+v: stands is %t", n, n.IsAccepted())
		}
	}
}

// TestAccount_See: a note counts the runs that saw it, and keeps its first time and its acceptance. If no run sees it
// again, it lasts for a week or, if accepted, until the acceptance is taken back. A note about days, or about the
// operator's files, ends as soon as the difference is gone.
func TestAccount_See(t *testing.T) {
	at := schema.InstantOf(schema.NewDate(2026, 3, 9).Start())
	ago := func(d time.Duration) schema.Instant { return schema.InstantOf(at.Time().Add(-d)) }
	yes := &Acceptance{At: 3, Size: 7}
	a := &Account{Notes: []Note{
		{Name: "accepted", Accepted: yes, Size: 5, Runs: 1, LastSeenAt: ago(100 * noteLasts), RunID: "R1"},
		{Name: "counted", Size: 5, IsCount: true, Runs: 2, LastSeenAt: ago(1), RunID: "R1"},
		{Name: "lately", Runs: 2, LastSeenAt: ago(noteLasts - time.Microsecond), RunID: "R1"},
		{Name: "long ago", Runs: 9, LastSeenAt: ago(noteLasts), RunID: "R1"},
		{Name: "of version 11", Decision: schema.NoteAccepted, Runs: 9, LastSeenAt: ago(1), RunID: "R1"},
		{Name: "report.day-total.above", Size: 5, Runs: 4, LastSeenAt: ago(1), RunID: "R1"},
		{Name: "seen", Message: "old", Accepted: yes, Runs: 4, FirstSeenAt: 7, LastSeenAt: ago(1), RunID: "R1"},
		{Name: "tracker.set-aside", Runs: 2, LastSeenAt: ago(1), RunID: "R1"},
	}}
	before := slices.Clone(a.Notes)
	got := a.see(map[string]Note{"seen": {Message: "now"}, "of version 11": {Size: 9}, "new": {}}, at, "R2")
	accepted := a.Notes[0]
	accepted.Size = 0
	want := Notes{accepted, a.Notes[1], a.Notes[2],
		{Name: "new", Runs: 1, FirstSeenAt: at, LastSeenAt: at, RunID: "R2"},
		{Name: "of version 11", Size: 9, Accepted: &Acceptance{At: ago(1), Size: 9}, Runs: 10, LastSeenAt: at,
			RunID: "R2"},
		{Name: "seen", Message: "now", Accepted: yes, Runs: 5, FirstSeenAt: 7, LastSeenAt: at, RunID: "R2"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the notes are\n%+v, want\n%+v", got, want)
	}
	if !reflect.DeepEqual(a.Notes, before) {
		t.Errorf("the notes before are %+v now", a.Notes)
	}
}

// TestDay_Doubts checks the form and the size of each doubt.
func TestDay_Doubts(t *testing.T) {
	const day = schema.Date(20000)
	sum := func(rows, total schema.Money) Day {
		k := Day{LastReadAt: schema.InstantOf(day.End())}
		k.Sums.Rows, k.Sums.Spend = 10, rows*schema.Dollar
		k.Control, k.ControlTotal.Spend = schema.ControlDiffers, schema.Some(total*schema.Dollar)
		return k
	}
	unread := Day{LastReadAt: schema.InstantOf(day.End())}
	unread.Sums.Rows, unread.Unread, unread.UnreadForms = 200, 9, map[string]int64{"clicks.string": 3}
	old := unread
	old.UnreadForms, old.OldForms = nil, []string{"clicks.string", "conversions.absent"}
	refused := unread
	refused.Refused = 2
	for name, c := range map[string]struct {
		of      Day
		form    string
		size    int64
		partial string
	}{
		"above":     {of: sum(100, 110), form: "report.day-total.above", size: 10},
		"below":     {of: sum(100, 90), form: "report.day-total.below", size: 10},
		"far above": {of: sum(70, 100), partial: "the rows have 70 % of the service's own sum of 100"},
		"unread":    {of: unread, form: "report.unread.clicks.string", size: 2},
		"uncounted": {of: old, form: "report.unread.clicks.string", size: 5},
		"refused": {of: refused, form: "report.unread.clicks.string", size: 2,
			partial: "2 of its rows cannot be stored"},
	} {
		doubts := c.of.Doubts()
		if c.form == "" && len(doubts) > 0 || c.form != "" && (len(doubts) != 1 || doubts[0].Form != c.form ||
			doubts[0].Size != c.size) {
			t.Errorf("%s: %+v", name, doubts)
		}
		if why := c.of.partialWhy(day, day+9); !strings.HasPrefix(why, c.partial) || (why == "") != (c.partial == "") {
			t.Errorf("%s: partial because %q", name, why)
		}
	}
}
