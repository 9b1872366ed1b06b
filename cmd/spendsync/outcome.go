package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
)

// riskDays is how close to the end of the reach an unproven day calls a person.
const riskDays = 3

// outcome is how a run ended: its code and what it did. It is an error, so that
// commands return it; it has been told to the user already.
type outcome struct {
	code    int
	happens string
}

func (o *outcome) Error() string { return o.happens }

// exitOf is the exit code of a command that ended so.
func exitOf(err error) int {
	if o, ok := err.(*outcome); ok {
		return o.code
	}
	return codeOf(err)
}

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
		return exitStopped
	}
	codes := map[int]bool{}
	for _, f := range t.failures {
		codes[codeOf(f.err)] = true
	}
	for _, c := range []int{exitAuth, exitStorage, exitDamaged, exitUnreached, exitContract} {
		if codes[c] {
			return c
		}
	}
	return exitUnexpected
}

// publishedCode decides the exit code of a run that publishes, from what will be
// known afterwards.
func (t tally) publishedCode(o load.Outlook) int {
	risk := atRisk(o.Coverage)
	codes := map[int]bool{}
	for _, f := range t.failures {
		codes[codeOf(f.err)] = true
	}
	switch {
	case t.stopped:
		return exitStopped
	case codes[exitAuth]:
		return exitAuth
	case codes[exitDamaged]:
		return exitDamaged
	case len(o.NewlyLost) > 0 || len(risk) > 0:
		return exitDayAtRisk
	case len(t.failures) > 0:
		return exitPartial
	}
	return exitOK
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
	case exitStorage, exitDamaged, exitLocked, exitAuth:
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
		fmt.Fprintf(&b, "published generation %d: %s of %s planned proven, %d changed", o.Generation, count(t.proven, "day"), fmt.Sprint(t.planned), t.changed)
	} else {
		fmt.Fprintf(&b, "nothing published: none of %s proven", count(t.planned, "planned day"))
	}
	if o.Restatements > 0 {
		fmt.Fprintf(&b, ", %s", count(o.Restatements, "restatement"))
	}
	b.WriteString(settings)
	if len(o.NewlyLost) > 0 {
		fmt.Fprintf(&b, "; lost for good: %s", days(o.NewlyLost))
	}
	for _, c := range atRisk(o.Coverage) {
		fmt.Fprintf(&b, "; %s is not proven and can be read for %s more", c.ReportDate, count(int(c.DaysUntilUnreachable), "day"))
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
	text := oneLine(f.err.Error())
	if strings.HasPrefix(text, f.what) {
		return text
	}
	return f.what + ": " + text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(what, "s"))
}

func days(d []schema.Date) string {
	texts := make([]string, len(d))
	for i, x := range d {
		texts[i] = x.String()
	}
	if len(texts) > 6 {
		texts = slices.Concat(texts[:3], []string{"..."}, texts[len(texts)-1:])
	}
	return strings.Join(texts, ", ")
}

// fatal says whether a failure of one day makes going on with others pointless.
func fatal(err error) bool {
	return errors.Is(err, extract.ErrAuth) || errors.Is(err, load.ErrStorage)
}
