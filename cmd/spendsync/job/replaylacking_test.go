package job

import (
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
)

// TestQuarantine_NeverTakesIDsAway: replies in quarantine whose columns lack an ID replace no stored day that has it.
// They make a day that is not stored, and one that is stored without the ID.
func TestQuarantine_NeverTakesIDsAway(t *testing.T) {
	for _, column := range []string{"source_id", "creative_id"} {
		for name, c := range map[string]struct {
			stored, before, lacks bool // something is stored; it lacks the ID, and so do the replies
			taken                 bool
		}{
			"the stored day has it":           {true, false, true, false},
			"the stored day lacks it":         {true, true, true, true},
			"nothing is stored":               {false, false, true, true},
			"the replies have it, too":        {true, false, false, true},
			"the replies alone have it":       {true, true, false, true},
			"nothing is stored, they have it": {false, false, false, true},
		} {
			if column == "creative_id" && c.stored && name != "the stored day has it" {
				continue // the two IDs take the same way
			}
			t.Run(column+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				w.rereadAll()
				day := w.today() - 7
				lacking := func(is bool, days ...schema.Date) *lackingID {
					l := &lackingID{RoundTripper: renamed{w, days}}
					if len(days) > 0 {
						l.other = days[0] // other numbers than those that are stored
					}
					if is {
						l.column = column
					}
					return l
				}
				if c.stored {
					w.transport = lacking(c.before)
					if _, err := w.next().Sync(t.Context()); err != nil {
						t.Fatal(err)
					}
					w.service.Advance(time.Hour)
				}
				w.transport = lacking(c.lacks, day)
				w.sync(exit.Partial, "the columns lack")
				w.understand(day, nil)
				was := w.ask("FROM spend_daily WHERE report_date = '%s' ORDER BY ALL", day)
				says := "1 day in quarantine not proven"
				if c.taken {
					says = "1 day proven from quarantine"
				}
				w.replay(exit.OK, says)
				now := w.ask("FROM spend_daily WHERE report_date = '%s' ORDER BY ALL", day)
				if (now != was) != c.taken {
					t.Errorf("the day has changed: %t", now != was)
				}
				named := w.ask("SELECT count(*) FILTER (%s <> '') > 0 FROM spend_daily WHERE report_date = '%s'",
					column, day)
				if want := !c.lacks || !c.taken; named != map[bool]string{true: "true", false: "false"}[want] {
					t.Errorf("some rows have a %s: %s", column, named)
				}
				w.wantVerified()
			})
		}
	}
}
