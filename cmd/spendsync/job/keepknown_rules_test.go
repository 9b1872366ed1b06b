package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// TestUnion: several reads as one have every row, what is known of each read, and the evidence of the last.
func TestUnion(t *testing.T) {
	read := func(n int, edit func(*dayRead)) *dayRead {
		r := &dayRead{rows: &schema.SpendRows{}, pages: 2, bytes: 100}
		for i := range n {
			r.rows.Append(&schema.Spend{CampaignID: "C1", SourceID: fmt.Sprint(i)})
		}
		edit(r)
		return r
	}
	why := errors.New("row 1")
	got := union([]*dayRead{
		read(1, func(r *dayRead) {
			r.refused, r.unread, r.first, r.noClick, r.forms = 2, 1, why, true, []string{"clicks.string"}
			r.aside = make([]schema.RefusedRow, 3)
		}),
		read(2, func(r *dayRead) { r.aside, r.unread = make([]schema.RefusedRow, 1), 3 }),
		read(3, func(r *dayRead) { r.forms, r.seen.Total = []string{"conversions.string"}, 9 }),
	})
	if is := fmt.Sprint(got.rows.Len(), got.pages, got.bytes, got.refused, got.unread, got.first, len(got.aside),
		got.noClick,
		got.forms, got.seen.Total, got.combined); is !=
		"6 6 300 2 3 row 1 3 true [clicks.string conversions.string] 9"+string(history.Newest) {
		t.Error(is)
	}
	if got.seen.Repeats == "" {
		t.Error("it does not say why rows repeat")
	}
	known := union([]*dayRead{read(1, func(*dayRead) {}), read(1, func(r *dayRead) { r.seen.Repeats = "page 2" })})
	if known.seen.Repeats != "page 2" || known.noClick {
		t.Errorf("%+v", known)
	}
	// Reads without rows, and of rows without an ID, prove nothing together.
	r := &dayReader{}
	none, lacks := &dayRead{}, read(1, func(r *dayRead) { r.lacks = []string{"source_id"} })
	for name, c := range map[string]struct {
		read   *dayRead
		before []*dayRead
	}{"nothing": {nil, []*dayRead{lacks}}, "the first": {read(1, func(*dayRead) {}), nil}, "no rows": {none,
		[]*dayRead{lacks}},
		"without an ID": {lacks, []*dayRead{lacks}}, "the others had none": {read(1, func(*dayRead) {}),
			[]*dayRead{none}},
		"the others were empty": {read(1, func(*dayRead) {}), []*dayRead{read(0, func(*dayRead) {})}}} {
		if both, ok := r.together(t.Context(), aDay, c.read, c.before); both != nil || ok {
			t.Errorf("%s: %+v", name, both)
		}
	}
	if best := r.bestOf(aDay, []*dayRead{read(0, func(*dayRead) {})}, nil); best != nil {
		t.Errorf("the best of nothing: %+v", best)
	}
}

// TestOddIDSentence names three forms at most, and the log each.
func TestOddIDSentence(t *testing.T) {
	var ids []transform.OddID
	want := "; IDs of a new form, stored without the blanks around them and reported once:"
	for i, more := range []string{" c 0 (f)", ", c 1 (f)", ", c 2 (f)", ", and 1 more"} {
		ids = append(ids, transform.OddID{Column: "c", Value: fmt.Sprint(i), Form: "f"})
		if want += more; oddIDSentence(ids) != want {
			t.Error(oddIDSentence(ids))
		}
	}
	if oddIDSentence(nil) != "" {
		t.Error(oddIDSentence(nil))
	}
	for text, c := range map[string]extract.Ending{
		"ends":                   {Path: "/p"},
		"ends on 2026-12-01":     {Path: "/p", Sunset: "2026-12-01"},
		"ends, deprecated: true": {Path: "/p", Deprecated: "true"},
	} {
		text = "the service announces that a path " + text + " (/p); look for a newer version of spendsync"
		if got := (announced{c}).String(); got != text {
			t.Error(got)
		}
	}
}

// TestUnreadCounter_Notes: what most entities lack is another note than what some do, and names its columns.
func TestUnreadCounter_Notes(t *testing.T) {
	refused := &transform.FieldError{Table: "campaign_history", ID: "x", Column: "name", Value: "1",
		Err: errors.New("no text")}
	for name, c := range map[string]struct {
		of, bad int
		reading transform.Decoded
		want    string
		columns string
		fields  int
	}{
		"some are refused": {4, 2, transform.Decoded{Refused: []*transform.FieldError{refused},
			Unread: []string{"name"}},
			"settings.campaign.name.not-understood.some", "[name]", 2},
		"most are refused": {3, 2, transform.Decoded{Refused: []*transform.FieldError{refused},
			Unread: []string{"name"}},
			"settings.campaign.name.not-understood.most", "[name]", 2},
		"half lack it": {4, 2, transform.Decoded{Unread: []string{"name"}}, "", "[]", 2},
		"most lack it": {3, 2, transform.Decoded{Unread: []string{"name"}}, "settings.campaign.name.missing.most",
			"[name]", 2},
		"withheld": {3, 2, transform.Decoded{Unread: []string{"name"}, Withheld: []string{"name"}}, "", "[]", 0},
		"another word": {3, 2, transform.Decoded{Unnamed: []*transform.FieldError{refused}},
			"settings.campaign.name.unknown-word.most", "[]", 0},
		"half have another word": {4, 2, transform.Decoded{Unnamed: []*transform.FieldError{refused}}, "", "[]", 0},
		"nothing but the ID":     {3, 1, transform.Decoded{Unread: []string{"name", "status"}}, "", "[]", 2},
	} {
		var u unreadCounter
		for i := range c.of {
			reading := transform.Decoded{}
			if i < c.bad {
				reading = c.reading
			}
			u.add("campaign", fmt.Sprint(i), []string{"name", "status"}, reading)
		}
		var notes, columns []string
		for _, f := range u.notUnderstood() {
			notes, columns = append(notes, f.notes...), append(columns, f.columns...)
		}
		if got := strings.Join(notes, " "); got != c.want || fmt.Sprint(columns) != c.columns ||
			u.fields() != c.fields {
			t.Errorf("%s: %q of %v, %d fields", name, got, columns, u.fields())
		}
	}
	var one unreadCounter // an entity of one column is bare if that is missing, but not said to be
	one.add(deliveryKind, "x", []string{"delivery_status"}, transform.Decoded{Unread: []string{"delivery_status"}})
	if f := one.notUnderstood(); len(f) != 1 || !strings.Contains(f[0].err.Error(),
		"delivery_status missing from most") {
		t.Errorf("%v", f)
	}
}

// TestNotUnderstood: settings that are not understood are failures that the log names, and whose old values stand if
// there are some.
func TestNotUnderstood(t *testing.T) {
	for dir, stands := range map[string]bool{settingsStore(t): true, emptyStore(t): false} {
		n, end := readerOf(t, dir)
		var log strings.Builder
		n.run.Log = logTo(&log)
		n.read.unread.add("campaign", "C1000001", []string{"name", "status"},
			transform.Decoded{Unread: []string{"name"}})
		n.notUnderstood()
		if len(n.read.failures) != 1 || n.read.failures[0].standsOld != stands || len(n.read.failures[0].notes) != 1 ||
			!strings.Contains(log.String(), "a part of the settings is not understood") {
			t.Errorf("%+v, %s", n.read.failures, log.String())
		}
		end()
	}
}
