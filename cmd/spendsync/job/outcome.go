package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// RiskDays is how many days ahead a run warns: if a day is not proven and the report covers it for at most that many
// more days, the run ends with [exit.DayAtRisk].
const RiskDays = 3

// finding is one thing that a run reports: its subject and its cause. The exit code of a run is the code of its gravest
// finding. The run's sentence lists all findings.
type finding struct {
	what     string // such as "spend 2026-11-20"; empty: err names the subject
	err      error
	isRemark bool // whether it is shown without effect on the exit code
	// notes are the names under which a person can accept this finding. Once all of them are accepted, the finding is
	// still shown, but it no longer makes a run exit with code 4. Only findings about stored data have notes.
	notes []string
	size  int64 // how many entities the notes are about; 0: this is not counted
}

// outcome counts what a run has read, and collects the findings, from which the run's exit code and message are made.
type outcome struct {
	planned, proven, partial, fromQuarantine, changed, unreachable int // numbers of days

	findings []finding
	accepted []string // names of notes that a person has accepted
	stopped  bool     // by a signal
}

// fail adds a finding: something could not be read or made.
func (t *outcome) fail(what string, err error) {
	t.findings = append(t.findings, finding{what: what, err: err})
}

// hasNothing reports whether the run has nothing of the report to publish: days were planned, but none was read
// completely or in part, and the service refused none as too old.
func (t *outcome) hasNothing() bool {
	return t.planned > 0 && t.proven+t.partial+t.fromQuarantine == 0 && t.unreachable == 0
}

// unaccepted returns the findings for which not all notes are accepted. Findings without notes are always included.
func (t *outcome) unaccepted() []finding {
	return slices.DeleteFunc(slices.Clone(t.findings), func(f finding) bool {
		return len(f.notes) > 0 && !slices.ContainsFunc(f.notes, func(name string) bool {
			return !slices.Contains(t.accepted, name)
		})
	})
}

// The exit codes that a finding can give a run, the gravest first. A problem that a person must solve comes before a
// problem that may pass by itself. If a run publishes, a finding whose code is not in publishedCodes gives exit code 4,
// unless it is a remark or accepted.
var (
	unpublishedCodes = []int{exit.Usage, exit.Auth, exit.Storage, exit.Damaged, exit.Unreachable, exit.Contract,
		exit.Partial}
	publishedCodes = []int{exit.Storage, exit.Auth, exit.Damaged, exit.DayAtRisk}
)

// unpublishedCode returns the exit code of a run that publishes nothing, or only settings.
func (t *outcome) unpublishedCode() int {
	if t.stopped {
		return exit.Stopped
	}
	return cmp.Or(gravest(t.findings, unpublishedCodes), exit.Unexpected)
}

// publishedCode returns the exit code of a run that publishes, from its findings and the coverage after the
// publication.
func (t *outcome) publishedCode(o load.Preview) int {
	findings := t.unaccepted()
	isPartial := len(partialDays(o.Coverage)) > 0 || slices.ContainsFunc(o.Notes, isUnacceptedForm) ||
		slices.ContainsFunc(findings, func(f finding) bool { return !f.isRemark })
	switch code := gravest(findings, publishedCodes); {
	case t.stopped:
		return exit.Stopped
	case t.hasNothing():
		return t.unpublishedCode()
	case code != 0:
		return code
	case len(o.NewlyLost) > 0 || len(AtRisk(o.Coverage)) > 0:
		return exit.DayAtRisk
	case isPartial:
		return exit.Partial
	}
	return exit.OK
}

// gravest returns the first code in the list that is the exit code of some finding; 0: there is none.
func gravest(findings []finding, codes []int) int {
	for _, code := range codes {
		if slices.ContainsFunc(findings, func(f finding) bool { return exit.Of(f.err) == code }) {
			return code
		}
	}
	return 0
}

// AtRisk returns the days that will be lost within [RiskDays] days, unless a run proves them.
func AtRisk(coverage []schema.DayCoverage) []schema.DayCoverage {
	var days []schema.DayCoverage
	for _, c := range coverage {
		// If a partial day was read after its end, it lacks only refused rows. Another read would refuse them again.
		over := c.LastReadAt.Valid && !c.LastReadAt.V.Time().Before(c.ReportDate.End())
		lacksRows := c.ControlTotalState == schema.ControlDiffers && c.Doubt.V != schema.Accepted
		unproven := c.State == schema.StateMissing || c.State == schema.StatePartial && (!over || lacksRows) ||
			c.PartialWhy.V == manifest.LessRead && c.Doubt.V != schema.Accepted
		if unproven && c.DaysUntilUnreachable > 0 && c.DaysUntilUnreachable <= RiskDays {
			days = append(days, c)
		}
	}
	return days
}

// sentence returns the message about how a run ended, with its findings. The last parameter is the part of the message
// about the settings. It is empty if the run did not read them.
func (t *outcome) sentence(o load.Preview, published bool, settings string) string {
	var b strings.Builder
	if t.stopped {
		b.WriteString("stopped by a signal: ")
	}
	switch {
	case published && t.hasNothing():
		fmt.Fprintf(&b, "nothing of the report published: none of %s proven; generation %d has the settings alone",
			cli.Count(t.planned, "planned day"), o.Generation)
	case published:
		fmt.Fprintf(&b, "published generation %d: %s of %d planned proven, %d changed",
			o.Generation, cli.Count(t.proven, "day"), t.planned, t.changed)
	default:
		fmt.Fprintf(&b, "nothing published: none of %s proven", cli.Count(t.planned, "planned day"))
	}
	if o.Restatements > 0 {
		fmt.Fprintf(&b, ", %s", cli.Count(o.Restatements, "restatement"))
	}
	if t.fromQuarantine > 0 {
		fmt.Fprintf(&b, ", %s proven from quarantine", cli.Count(t.fromQuarantine, "day"))
	}
	b.WriteString(settings)
	if len(o.NewlyLost) > 0 {
		fmt.Fprintf(&b, "; lost for good: %s", cli.Days(o.NewlyLost))
	}
	for _, c := range AtRisk(o.Coverage) {
		fmt.Fprintf(&b, "; %s is not proven and can be read for %s more",
			c.ReportDate, cli.Count(int(c.DaysUntilUnreachable), "day"))
	}
	for _, f := range t.unaccepted() {
		if f.what == "" {
			b.WriteString("; " + f.String())
		}
	}
	b.WriteString(stateSentence(o))
	b.WriteString(t.noteSentence(o.Notes))
	b.WriteString(t.failureSentence())
	return b.String()
}

// sameReason has the findings with the same reason.
type sameReason struct {
	first finding
	more  int // number of other findings
}

// byReason returns the failures to report, grouped by their reasons.
func (t *outcome) byReason() (groups []sameReason) {
	for _, f := range t.named() {
		i := slices.IndexFunc(groups, func(g sameReason) bool { return reasonOf(g.first.err) == reasonOf(f.err) })
		if i < 0 {
			groups = append(groups, sameReason{first: f})
		} else {
			groups[i].more++
		}
	}
	return groups
}

// failureSentence returns the part of the message about findings that have a subject. Findings with the same reason
// share one entry.
func (t *outcome) failureSentence() string {
	const shown = 2 // all reasons are in the log and in ops.step
	groups := t.byReason()
	var b strings.Builder
	for _, g := range groups[:min(len(groups), shown)] {
		fmt.Fprintf(&b, "; %s", g.first)
		if g.more > 0 {
			fmt.Fprintf(&b, " (and %d more for the same reason)", g.more)
		}
	}
	if more := len(groups) - shown; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// reasonOf returns the text of an error without the item's name, so that equal reasons compare equal.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*extract.ReadError](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*extract.UnprovenError](err); ok {
		return e.Reason
	}
	return err.Error()
}

// failures returns the findings that have a subject and that no person has accepted.
func (t *outcome) failures() []finding {
	return slices.DeleteFunc(t.unaccepted(), func(f finding) bool { return f.what == "" })
}

// named returns the failures to report. Reads that were canceled are omitted, because a signal or another failure is
// their cause. If no signal came and there are only canceled reads, all of them are returned.
func (t *outcome) named() []finding {
	all := t.failures()
	rest := slices.DeleteFunc(slices.Clone(all), func(f finding) bool { return errors.Is(f.err, context.Canceled) })
	if !t.stopped && len(rest) == 0 {
		return all
	}
	return rest
}

// cause returns the error of the first failure with this exit code. If no failure has the code, it returns the error of
// the first failure; nil if there is none.
func (t *outcome) cause(code int) error {
	named := t.named()
	if len(named) == 0 {
		return nil
	}
	i := slices.IndexFunc(named, func(f finding) bool { return exit.Of(f.err) == code })
	return named[max(i, 0)].err
}

func (f finding) String() string {
	text := cli.OneLine(f.err.Error())
	if f.what == "" || strings.HasPrefix(text, f.what) {
		return text
	}
	return f.what + ": " + text
}

// partialDays returns the stored days that are partial, and those whose last read lost most rows or spend and was not
// confirmed. It omits days that a person has accepted, and days that were last read before they ended: the next run
// reads such a day again or reports it as lost.
func partialDays(coverage []schema.DayCoverage) []schema.DayCoverage {
	return slices.DeleteFunc(slices.Clone(coverage), func(c schema.DayCoverage) bool {
		return c.State != schema.StatePartial && c.PartialWhy.V != manifest.LessRead ||
			c.Doubt.V == schema.Accepted || c.PartialWhy.V == manifest.NotOver
	})
}

// isUnacceptedForm reports whether a note describes a form of difference between stored days and the service's own
// statements, and no person has accepted it at its present size.
func isUnacceptedForm(n manifest.Note) bool { return n.IsOfDays() && n.Size > 0 && !n.IsAccepted() }

// stateSentence lists the stored days that are partial or doubtful, and the commands by which a person accepts them.
func stateSentence(o load.Preview) string {
	var b strings.Builder
	if days := partialDays(o.Coverage); len(days) > 0 {
		last := days[len(days)-1]
		var dates []schema.Date
		for _, c := range days {
			dates = append(dates, c.ReportDate)
		}
		fmt.Fprintf(&b, "; partial or doubtful: %s; of %s %s; 'spendsync repair accept %s' accepts it as it is",
			cli.Days(dates), last.ReportDate, last.PartialWhy.V, last.ReportDate)
	}
	for _, n := range o.Notes {
		if isUnacceptedForm(n) {
			fmt.Fprintf(&b, "; %s: %s; 'spendsync repair accept %s' accepts up to %d %%", n.Name, n.Message, n.Name,
				n.Size)
		}
	}
	return b.String()
}

// noteSentence returns the part of the message with the differences that a person has accepted and that still exist.
func (t *outcome) noteSentence(notes []manifest.Note) string {
	names := slices.Clone(t.accepted)
	for _, n := range notes {
		if _, err := schema.ParseDate(n.Name); n.IsAccepted() && (err == nil || n.IsOfDays() && n.Size > 0) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + someOf("accepted difference", names) + ", see 'spendsync status'"
}

// noteName returns the name of a note: its parts, joined by dots, with hyphens for blanks.
func noteName(parts ...string) string {
	return strings.ReplaceAll(strings.Join(parts, "."), " ", "-")
}

// someOf returns the number of different IDs in a list, followed by the first three.
func someOf(what string, ids []string) string {
	const shown = 3
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return cli.Count(0, what)
	}
	text := strings.Join(ids[:min(len(ids), shown)], ", ")
	if more := len(ids) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s (%s)", cli.Count(len(ids), what), text)
}
