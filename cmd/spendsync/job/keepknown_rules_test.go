package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/transform"
)

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
