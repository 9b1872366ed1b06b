package job

import (
	"strings"
	"testing"

	"spendsync/schema"
	"spendsync/transform"
)

// TestUnreadCounter_SaysWhatWasNotUnderstood: one entity without a field is not a failure, most of them
// are, and a value that nobody understands always is.
func TestUnreadCounter_SaysWhatWasNotUnderstood(t *testing.T) {
	missing := func(columns ...string) transform.Decoded { return transform.Decoded{Unread: columns} }
	withheld := func(columns ...string) transform.Decoded {
		return transform.Decoded{Unread: columns, Withheld: columns}
	}
	odd := transform.Decoded{
		Unread: []string{"bid"},
		Refused: []*transform.FieldError{{Table: "campaign_history", ID: "C1", Column: "bid", Value: `"x"`,
			Err: schema.ErrNotNumber}},
	}
	running := transform.Decoded{
		Unnamed: []*transform.FieldError{{Table: "campaign_history", ID: "C1", Column: "status", Value: `"RUNNING"`,
			Err: transform.ErrUnnamed}},
	}
	oddStatus := transform.Decoded{
		Unread: []string{"status"},
		Refused: []*transform.FieldError{{Table: "campaign_history", ID: "C1", Column: "status", Value: "7",
			Err: schema.ErrNotNumber}},
	}
	none := transform.Decoded{}
	for name, tc := range map[string]struct {
		readings []transform.Decoded
		want     []string // parts of the sentences
	}{
		"nothing":      {[]transform.Decoded{none, none}, nil},
		"one-of-three": {[]transform.Decoded{missing("bid"), none, none}, nil},
		"half":         {[]transform.Decoded{missing("bid"), none}, nil},
		"most": {[]transform.Decoded{missing("bid"), missing("bid"), none},
			[]string{"bid missing from most of 3 reads"}},
		"two-columns": {[]transform.Decoded{missing("bid", "name"), missing("name", "bid")},
			[]string{"bid, name missing from most of 2 reads"}},
		"withheld":     {[]transform.Decoded{withheld("bid"), withheld("bid")}, nil},
		"all-withheld": {[]transform.Decoded{withheld("bid", "name", "status")}, nil},
		"everything": {[]transform.Decoded{missing("bid", "name", "status"), none, none},
			[]string{"nothing but the ID could be read of 1 of 3 reads"}},
		"refused": {[]transform.Decoded{odd, none, none}, []string{`bid not understood in 1 of 3 reads, such ` +
			`as campaign_history C1: bid "x": not a number`}},
		"unnamed-in-half": {[]transform.Decoded{running, none}, nil},
		"unnamed-in-most": {[]transform.Decoded{running, running, none}, []string{"most of 3 reads have a value of " +
			`status that the description does not know, such as campaign_history C1: status "RUNNING"`}},
		"unnamed-and-refused": {[]transform.Decoded{running, running, oddStatus}, []string{
			"such as campaign_history C1: status 7: not a number", `such as campaign_history C1: status "RUNNING"`}},
		"refused-in-most": {[]transform.Decoded{odd, odd, odd}, []string{"bid not understood in 3 of 3 reads"}},
	} {
		var c unreadCounter
		for _, r := range tc.readings {
			c.add("campaign", "C1", []string{"bid", "name", "status"}, r)
		}
		got := c.notUnderstood(func(string, []string) severity { return differs })
		if len(got) != len(tc.want) {
			t.Errorf("%s: %v, want %q", name, got, tc.want)
			continue
		}
		for i, f := range got {
			if !strings.Contains(f.String(), tc.want[i]) {
				t.Errorf("%s: %q, want %q", name, f, tc.want[i])
			}
		}
	}
}
