package page

import (
	"fmt"
	"strings"

	"spendsync/schema"
)

// Verdict names the days to read again, and the deadline for that.
func (v Coverage) Verdict() Verdict {
	if len(v.Days) == 0 {
		return why(v.Why)
	}
	var lost, gaps []schema.Date
	left := Number{}
	final, change := 0, 0
	for _, d := range v.Days {
		switch d.State {
		case schema.StateLost:
			lost = append(lost, d.Date)
		case schema.StateMissing, schema.StatePartial:
			gaps = append(gaps, d.Date)
			if d.Left.Known && (!left.Known || d.Left.V < left.V) {
				left = d.Left
			}
		case schema.StateFinal:
			final++
		case schema.StateComplete:
			change++
		}
	}
	switch {
	case len(gaps) > 0 && left.Known && left.V > 0:
		return act("Run 'spendsync sync' within %s: %s not known whole (%s), and can be asked for no longer than that.",
			plural(int(left.V), "day", "days"), are(len(gaps), "day"), dates(gaps))
	case len(gaps)+len(lost) > 0:
		return watch("Leave %s out of every average (%s): %s lost for good or known in part only.",
			countOf(len(gaps)+len(lost), "day"), dates(append(lost, gaps...)), isAre(len(gaps)+len(lost)))
	}
	return fine("Nothing to fetch: every finished day is known whole; %d of them may still be restated, so read the "+
		"newest ones with care.", change)
}

// Verdict states how long to wait before judging a day.
func (v Restated) Verdict() Verdict {
	if len(v.Days) == 0 {
		return why(v.Why)
	}
	at := func() string {
		return fmt.Sprintf("%s days later it shows %s of its final spend and %s of its final conversions",
			count(v.FirstAge), percent(v.FirstSpend), percent(v.FirstConversions))
	}
	if v.FirstAge.V == 1 {
		at = func() string {
			return fmt.Sprintf("the day after it shows %s of its final spend and %s of its final conversions",
				percent(v.FirstSpend), percent(v.FirstConversions))
		}
	}
	switch {
	case v.SettledAge.Known && v.SettledAge.V <= v.FirstAge.V:
		return fine("A day can be judged as soon as it is over: %s.", at())
	case v.SettledAge.Known:
		return watch("Judge a day from %s days after it on: %s.", count(v.SettledAge), at())
	}
	return watch("Treat the newest days as provisional: %s been seen to change after the end, and too few have been "+
		"watched long enough to say when they hold still.", has(v.Changed))
}

// Verdict names the newest change.
func (v Timeline) Verdict() Verdict {
	if len(v.Lanes) == 0 {
		return why(v.Why)
	}
	n := len(v.Changes) + v.MoreRows
	if n == 0 {
		return fine("Nothing to check: no setting was seen to change from %s to %s.", day(v.From), day(v.To))
	}
	c := v.Changes[0]
	what := plain(strings.ReplaceAll(c.Columns, ",", ", "), 60)
	if what == "" {
		what = plain(c.Kind, 30)
	}
	return watch("Check that you know of %s since %s; the newest: %s of %s, seen on %s.", countOf(n, "change"),
		day(v.From), what, c.label(), instant(c.SeenAt))
}

func (c Change) label() string {
	if c.Entity == "campaign" || c.Entity == "" {
		return c.Campaign.Label()
	}
	entity := words(c.Entity)
	if c.Entity == "source_rule" {
		entity = "source"
	}
	return entity + " " + plain(c.EntityID, 24) + " in " + c.Campaign.Label()
}

// Verdict lists the problems of the sync or the data, the gravest first.
func (v Health) Verdict() Verdict {
	if len(v.Runs) == 0 {
		return why(v.Why)
	}
	last := v.Runs[len(v.Runs)-1]
	var failed []string
	do := ""
	for _, c := range v.Checks {
		if c.Known && !c.Passed {
			if failed = append(failed, strings.ReplaceAll(plain(c.Name, 40), "_", " ")); do == "" {
				do = plain(c.Do, 160)
			}
		}
	}
	switch {
	case last.ExitCode != 0:
		return act("Look at the last run: it ended with exit %d, %s. %s", last.ExitCode, plain(last.Outcome, 120),
			sentence(plain(last.Message, 240)))
	case len(failed) > 0 && do != "":
		return act("%s of the data failed: %s. To begin with the first: %s", countOf(len(failed), "check"),
			list(failed), sentence(do))
	case len(failed) > 0:
		return act("%s of the data failed: %s.", countOf(len(failed), "check"), list(failed))
	}
	return fine("Nothing to do: the last run published, and all %d checks of the data passed.", v.Passed)
}
