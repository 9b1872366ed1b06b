package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
)

// riskDays is how close to the end of the reach an unproven day calls a person.
const riskDays = 3

// failure is one thing that a run could not read.
type failure struct {
	what string // "spend 2026-11-20", "control totals"
	err  error
}

// tally is what a run has to tell about its reading, before anything is
// published.
type tally struct {
	planned, proven, changed, unreachable int
	added                                 int // days that were not stored before
	failures                              []failure
	stopped                               bool // by a signal
}

// nothing says whether there is nothing that could be published: days were to be
// read and none was.
func (t tally) nothing() bool { return t.planned > 0 && t.proven == 0 && t.unreachable == 0 }

// unpublishedCode decides the exit code of a run that publishes nothing. What
// needs a person comes before what time heals.
func (t tally) unpublishedCode() int {
	if t.stopped {
		return exit.Stopped
	}
	codes := map[int]bool{}
	for _, f := range t.failures {
		codes[exit.Of(f.err)] = true
	}
	for _, c := range []int{exit.Auth, exit.Storage, exit.Damaged, exit.Unreachable, exit.Contract} {
		if codes[c] {
			return c
		}
	}
	return exit.Unexpected
}

// publishedCode decides the exit code of a run that publishes, from what will be
// known afterwards.
func (t tally) publishedCode(o load.Outlook) int {
	risk := atRisk(o.Coverage)
	codes := map[int]bool{}
	for _, f := range t.failures {
		codes[exit.Of(f.err)] = true
	}
	switch {
	case t.stopped:
		return exit.Stopped
	case codes[exit.Auth]:
		return exit.Auth
	case codes[exit.Damaged]:
		return exit.Damaged
	case len(o.NewlyLost) > 0 || len(risk) > 0:
		return exit.DayAtRisk
	case len(t.failures) > 0:
		return exit.Partial
	}
	return exit.OK
}

// addTroubles takes in the views that a publication could not make, once each.
func (t *tally) addTroubles(troubles []error) {
	for _, err := range troubles {
		if !slices.ContainsFunc(t.failures, func(f failure) bool { return f.err.Error() == err.Error() }) {
			t.failures = append(t.failures, failure{"views", err})
		}
	}
}

// settingsCode decides the exit code of a run whose settings could not be
// published at all, for the given reason, while its report was.
func (t tally) settingsCode(o load.Outlook, reason int) int {
	switch reason {
	case exit.Storage, exit.Damaged, exit.Locked, exit.Auth:
		return reason
	}
	return t.publishedCode(o)
}

// atRisk are the days that are not known in full and leave the reach soon.
func atRisk(coverage []schema.DayCoverage) []schema.DayCoverage {
	var days []schema.DayCoverage
	for _, c := range coverage {
		unproven := c.State == schema.StateMissing || c.State == schema.StatePartial
		if unproven && c.DaysUntilUnreachable > 0 && c.DaysUntilUnreachable <= riskDays {
			days = append(days, c)
		}
	}
	return days
}

// sentence tells how a run ended, naming what failed. settings is what became of
// them, if the run came so far.
func (t tally) sentence(o load.Outlook, published bool, settings string) string {
	var b strings.Builder
	if t.stopped {
		b.WriteString("stopped by a signal: ")
	}
	if published {
		fmt.Fprintf(&b, "published generation %d: %s of %s planned proven, %d changed", o.Generation, phrase.Count(t.proven, "day"), fmt.Sprint(t.planned), t.changed)
	} else {
		fmt.Fprintf(&b, "nothing published: none of %s proven", phrase.Count(t.planned, "planned day"))
	}
	if o.Restatements > 0 {
		fmt.Fprintf(&b, ", %s", phrase.Count(o.Restatements, "restatement"))
	}
	b.WriteString(settings)
	if len(o.NewlyLost) > 0 {
		fmt.Fprintf(&b, "; lost for good: %s", phrase.Days(o.NewlyLost))
	}
	for _, c := range atRisk(o.Coverage) {
		fmt.Fprintf(&b, "; %s is not proven and can be read for %s more", c.ReportDate, phrase.Count(int(c.DaysUntilUnreachable), "day"))
	}
	const shown = 2 // the others are in the log and in ops.step
	failures := t.named()
	for i, f := range failures {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more", len(failures)-i)
			break
		}
		fmt.Fprintf(&b, "; %s", f)
	}
	return b.String()
}

// named are the failures worth telling: what a signal broke off is none.
func (t tally) named() []failure {
	if !t.stopped {
		return t.failures
	}
	return slices.DeleteFunc(slices.Clone(t.failures), func(f failure) bool { return errors.Is(f.err, context.Canceled) })
}

func (f failure) String() string {
	text := phrase.OneLine(f.err.Error())
	if strings.HasPrefix(text, f.what) {
		return text
	}
	return f.what + ": " + text
}

// fatal says whether a failure of one day makes going on with others pointless.
func fatal(err error) bool {
	return errors.Is(err, extract.ErrAuth) || errors.Is(err, load.ErrStorage)
}
