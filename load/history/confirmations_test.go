package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/schema"
)

// checkConfirmationsText checks that confirmations come back from the manifest as it went.
func checkConfirmationsText(m Confirmations) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var back Confirmations
	if err := json.Unmarshal(b, &back); err != nil {
		return err
	}
	m.SharedCount = 0 // which is not kept
	if !reflect.DeepEqual(m, back) {
		return fmt.Errorf("the confirmations as JSON (-was +is):\n%s", cmp.Diff(m, back))
	}
	return nil
}

// TestHistory_UnchangedRowsStayAsTheyWere: a run that finds nothing new leaves
// the rows, and so their file, alone; the confirmations know it.
func TestHistory_UnchangedRowsStayAsTheyWere(t *testing.T) {
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1), campaign("c2", "B", 2)))
	rows := b.h.Rows
	b.run(listed(2, campaign("c2", "B", 2), campaign("c1", "A", 1)))
	if &rows[0] != &b.h.Rows[0] || b.h.Rows[0].LastConfirmedAt != hour(1) {
		t.Errorf("the rows were made again, confirmed at %s", b.h.Rows[0].LastConfirmedAt)
	}
	if want := (Stats{Confirmed: 2}); b.st != want {
		t.Errorf("got %+v, want %+v", b.st, want)
	}
	want := Confirmations{ObservedAt: hour(2), ConfirmedAt: hour(2), SharedCount: 2}
	if !cmp.Equal(b.h.Confirmations, want) {
		t.Errorf("got %+v, want %+v", b.h.Confirmations, want)
	}
}

// TestHistory_MemoryNamesTheExceptions: most keys share one instant, and keys that were not read in full are listed,
// however many runs fail in a row.
func TestHistory_MemoryNamesTheExceptions(t *testing.T) {
	b := campaigns(t)
	all := []Seen[schema.Campaign]{campaign("c1", "A", 1), campaign("c2", "B", 2), campaign("c3", "C", 3),
		campaign("c4", "D", 4)}
	b.run(listed(1, all...))
	b.run(listed(2, all[0], all[1], without(all[2], "gender")))
	want := Confirmations{
		ObservedAt: hour(2), ConfirmedAt: hour(2), SharedCount: 2,
		Exceptions: map[string]schema.Instant{"c3": hour(1), "c4": hour(1)},
		Missed:     map[string]int{"c4": 1},
	}
	if d := cmp.Diff(want, b.h.Confirmations); d != "" {
		t.Errorf("one unread, one missing (-want +got):\n%s", d)
	}
	b.run(broken[schema.Campaign](3))
	want.ObservedAt = hour(3)
	if d := cmp.Diff(want, b.h.Confirmations); d != "" {
		t.Errorf("a run that saw nothing (-want +got):\n%s", d)
	}
	b.run(listed(4, without(all[0], "gender"), campaign("c2", "B", 2), all[2], all[3], without(campaign("c5", "E", 5),
		"gender", "country")))
	want = Confirmations{
		ObservedAt: hour(4), ConfirmedAt: hour(4), SharedCount: 4,
		Exceptions: map[string]schema.Instant{"c1": hour(2)},
		Never:      map[string][]string{"c5": {"country", "gender"}},
	}
	if d := cmp.Diff(want, b.h.Confirmations); d != "" {
		t.Errorf("all but one (-want +got):\n%s", d)
	}
}

// TestHistory_NewColumnIsAFill: a new field of the service does not change any setting.
func TestHistory_NewColumnIsAFill(t *testing.T) {
	b := campaigns(t)
	b.values = func(r *schema.Campaign) string { return textOr(r.Name) + " " + textOr(r.Gender) }
	old := slices.DeleteFunc(slices.Clone(b.tracked), func(c schema.Column) bool { return c.Name == "gender" })
	b.tracked, old = old, b.tracked
	b.run(listed(1, campaign("c1", "A", 1), campaign("c2", "B", 1), blindCampaign("c3")))
	b.run(listed(2, campaign("c1", "AA", 1), campaign("c2", "B", 1)))
	b.run(reported(3, "c4"))

	b.tracked = old
	before := slices.Clone(b.h.Rows)
	grown, err := AddColumn(b.table, b.h, "gender")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, b.h.Rows) {
		t.Error("the history given was written to")
	}
	if err := Check(b.table, grown); err != nil {
		t.Fatal(err)
	}
	if again, err := AddColumn(b.table, grown, "gender"); err != nil || !cmp.Equal(grown, again) {
		t.Errorf("added twice: %v\n%s", err, cmp.Diff(grown, again))
	}
	b.h = grown
	b.want(
		"c1 v1 [1,2) first_seen, confirmed 1, ok: A NULL",
		"c1 v2 [2,-) changed(name) after 1, confirmed 2, partial: AA NULL",
		"c2 v1 [1,-) first_seen, confirmed 2, partial: B NULL",
		"c3 v1 [1,-) first_seen, confirmed 1, unreadable: NULL NULL",
		"c4 v1 [3,-) stub, confirmed 3, stub: NULL NULL",
	)
	withGender := func(s Seen[schema.Campaign]) Seen[schema.Campaign] {
		s.Row.Gender = schema.Some("F")
		return s
	}
	b.run(listed(4, withGender(campaign("c1", "AA", 1)), withGender(campaign("c2", "BB", 1)),
		withGender(campaign("c3", "C", 1))))
	b.want(
		"c1 v1 [1,2) first_seen, confirmed 1, ok: A NULL",
		"c1 v2 [2,-) changed(name) after 1, confirmed 4, ok: AA F",
		"c2 v1 [1,4) first_seen, confirmed 2, partial: B NULL",
		"c2 v2 [4,-) changed(name) after 2, confirmed 4, ok: BB F",
		"c3 v1 [1,-) first_read, confirmed 4, ok: C F",
		"c4 v1 [3,-) stub, confirmed 3, stub: NULL NULL",
	)
	if _, err := AddColumn(b.table, b.h, "valid_from"); err == nil || !strings.Contains(err.Error(), "valid_from") {
		t.Errorf("a column of the frame: %v", err)
	}
}

// TestHistory_KeyTextsOfDays: a day is part of a key in its written form.
func TestHistory_KeyTextsOfDays(t *testing.T) {
	row := schema.Payout{AccountID: "acme", FromDate: day, CreativeID: "k/1"}
	if got := KeyTextOf(schema.PayoutHistory)(&row); got != "2026-11-20//k~11/" {
		t.Errorf("got %q", got)
	}
}

// TestHistory_KeyTexts: no two keys share a text, and rows are in the order of
// the keys' parts, not of their texts.
func TestHistory_KeyTexts(t *testing.T) {
	b := rules(t)
	b.run(rulesRead(1, true, blocked("a/b", "c"), blocked("a", "b/c"), blocked("a~1b", "c"), blocked("a!", "z"),
		blocked("", "a")))
	b.want(
		"/a/blocked v1 [1,-) first_seen, confirmed 1, ok: NULL",
		"a/b~1c/blocked v1 [1,-) first_seen, confirmed 1, ok: NULL",
		"a!/z/blocked v1 [1,-) first_seen, confirmed 1, ok: NULL",
		"a~1b/c/blocked v1 [1,-) first_seen, confirmed 1, ok: NULL",
		"a~01b/c/blocked v1 [1,-) first_seen, confirmed 1, ok: NULL",
	)
}

// BenchmarkAdvance_NothingChanged is the usual run: 5,000 campaigns as before.
func BenchmarkAdvance_NothingChanged(b *testing.B) {
	var seen []Seen[schema.Campaign]
	for i := range 5000 {
		seen = append(seen, campaign(fmt.Sprintf("c%05d", i), "some name", 1))
	}
	tracked := schema.CampaignHistory.Tracked()
	h, _, err := Advance(schema.CampaignHistory, tracked, Versions[schema.Campaign]{}, listed(1, seen...))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, st, err := Advance(schema.CampaignHistory, tracked, h, listed(2, seen...))
		if err != nil || st.Changed {
			b.Fatal(st, err)
		}
	}
}
