package job

import (
	"strings"
	"testing"

	"spendsync/transform"
)

// TestDoubts: a field that comes without a value is not set only if the service never shows null for it, and has
// left it out in the same way before, or, where it never did, other fields of the same object.
func TestDoubts(t *testing.T) {
	missing, blank, null := ways{missing: true}, ways{blank: true}, ways{null: true}
	for name, c := range map[string]struct {
		way, field, group ways
		isNew, described  bool
		want              string // why it may be set; empty: it is not
	}{
		"nothing is known":             {missing, ways{}, ways{}, false, false, "missing, which nothing"},
		"blank/nothing is known":       {blank, ways{}, ways{}, false, false, "blank, which nothing"},
		"no value was known":           {missing, ways{}, ways{}, true, false, ""},
		"no value was known/null is":   {missing, null, ways{}, true, false, "missing, while the"},
		"was missing":                  {missing, missing, null, false, false, ""},
		"was blank":                    {missing, blank, ways{}, false, false, "missing, which nothing"},
		"blank/was missing":            {blank, missing, ways{}, false, false, "blank, which nothing"},
		"blank/was blank":              {blank, blank, null, false, false, ""},
		"was missing and null":         {missing, null.and(missing), ways{}, false, false, "missing, while"},
		"may be left out":              {missing, ways{}, null, false, true, ""},
		"may be left out, and is null": {missing, null, ways{}, false, true, "missing, while"},
		"blank/may be left out":        {blank, ways{}, ways{}, false, true, "blank, which nothing"},
		"others are null":              {missing, ways{}, null, false, false, "missing, while the"},
		"others are null and missing":  {missing, ways{}, null.and(missing), false, false, "missing, while"},
		"others are missing":           {missing, ways{}, missing, false, false, ""},
		"others are blank":             {missing, ways{}, blank, false, false, "missing, which nothing"},
		"blank/others are blank":       {blank, ways{}, blank.and(missing), false, false, ""},
		"blank/others are missing":     {blank, ways{}, missing, false, false, "blank, which nothing"},
	} {
		got := c.field.doubts(doubt{way: c.way, new: c.isNew}, c.group, c.described)
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestGroupOfField: fields of one object of the service tell about each other how it leaves them out.
func TestGroupOfField(t *testing.T) {
	for _, column := range transform.AudienceColumns {
		if got := groupOfField(column); got != "audience" {
			t.Errorf("%s is of %q", column, got)
		}
	}
	for column, want := range map[string]string{"pending_bid": "pending", "pending_budget": "pending", "name": "",
		"daily_budget": ""} {
		if got := groupOfField(column); got != want {
			t.Errorf("%s is of %q", column, got)
		}
	}
}

// TestSomeNamed names three and counts the others.
func TestSomeNamed(t *testing.T) {
	for names, want := range map[string]string{
		"": "", "b": ", 1 unread field (b)", "c b a": ", 3 unread fields (a, b, c)",
		"d c b a": ", 4 unread fields (a, b, c and 1 more)", "e d c b a": ", 5 unread fields (a, b, c and 2 more)",
	} {
		if got := someNamed(strings.Fields(names), "unread field"); got != want {
			t.Errorf("%q: %q", names, got)
		}
	}
}
