package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// TestKeepKnown: rows that differ from the stored ones only by a column that the report no longer gives take no value
// away.
func TestKeepKnown(t *testing.T) {
	day := schema.DateOf(worldNow) - 5
	dir := oneDayStore(t, day) // a1 b2 c3~ d4?
	for name, c := range map[string]struct {
		reads   string
		without string // that is not asked for
		edit    func(*manifest.Day)
		want    string // outcome, and whether impressions are known
	}{
		"a column less": {reads: "a1 b2 c3~ =4 -impressions / d4? =4 -impressions", want: "unchanged true"},
		"and the name": {reads: "a1 b2 c3~ =4 -impressions -campaign_name / d4? =4 -impressions -campaign_name",
			without: "campaign_name", want: "unchanged true"},
		"another amount":            {reads: "a1 b2 c4 =4 -impressions / d4? =4 -impressions", want: "stored false"},
		"the same amount elsewhere": {reads: "a2 b1 c3~ =4 -impressions / d4? =4 -impressions", want: "stored false"},
		"rows were refused": {reads: "a1 b2 c3~ =4 -impressions / d4? =4 -impressions",
			edit: func(k *manifest.Day) { k.Refused = 1 }, want: "stored false"},
		"a row is refused": {reads: "a1 b2 c3~ =5 -impressions / d4? e0! =5 -impressions",
			edit: func(k *manifest.Day) { k.LastReadAt = schema.InstantOf(day.Start()) }, want: "stored false"},
		"as it is":     {reads: "a1 b2 c3~ =4 / d4? =4", want: "unchanged true"},
		"other values": {reads: "a1 b2 c9 =4 / d4? =4", want: "stored true"},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: day, reads: []string{c.reads}, sums: []string{"400 none"}})
		if c.without != "" {
			d.s.Report.AskLess(extract.Ask{Without: []string{c.without}})
		}
		if k := *d.s.store.Account().Days[day]; c.edit != nil {
			c.edit(&k)
			d.s.store.Account().Days[day] = &k
		}
		k := d.copyDay(t.Context(), PlannedDay{Day: day})
		if k.err != nil {
			t.Errorf("%s: %v", name, k.err)
			end()
			continue
		}
		d.commit(t)
		known := false
		for rows, err := range d.s.store.StoredDay(day) {
			if err != nil {
				t.Fatal(err)
			}
			known = rows[0].Impressions.Valid
		}
		if got := fmt.Sprint(k.step.Outcome, " ", known); got != c.want || k.read.sums.Rows != 4 {
			t.Errorf("%s: %s, %d rows", name, got, k.read.sums.Rows)
		}
		if k.step.Outcome == "unchanged" && (k.read.unread != 1 || len(k.read.forms) != 1) {
			t.Errorf("%s: %d unread %v", name, k.read.unread, k.read.forms)
		}
		end()
		dir = oneDayStore(t, day)
	}

	// The IDs that days lack are recorded with what is asked for.
	d, end := newDayTest(t, dir, &scriptedReport{day: day})
	defer end()
	if got := d.s.asked([]string{"source_id"}); got == nil || !slices.Equal(got.Without, []string{"source_id"}) {
		t.Errorf("%+v", got)
	}
}

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
		n, end := readerOf(t, dir, nil)
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
