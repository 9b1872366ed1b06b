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

// RiskDays is a number of days: if an unproven day leaves the reach within that time, a run ends with [exit.DayAtRisk].
const RiskDays = 3

// finding is one thing that a run reports: its subject, its cause, and its severity. The exit code of a run is the code
// of its gravest finding. The run's sentence lists all findings.
type finding struct {
	what string // "spend 2026-11-20", "control totals"; empty: err names the subject
	err  error
	severity
	// notes are the names of the finding's notes in the manifest, each made of cause, place and form. Once a person
	// accepts all of them, the finding is still shown but no longer makes a run exit with code 4. Only findings whose
	// data is stored have notes.
	notes   []string
	size    int64 // number of entities that the notes are about; 0: the notes have no size
	untried bool  // the read was not tried, because another read failed
}

// severity is how grave a finding is.
type severity int

const (
	failed  severity = iota // data is missing or not proven
	differs                 // the data is stored, and differs from what the service states or promises
	remark                  // does not affect the exit code
)

// outcome counts what a run has read, before anything is published, and holds its findings.
type outcome struct {
	planned, proven, partial, fromQuarantine, changed, unreachable int // numbers of days

	findings []finding
	accepted []string // notes of findings that a person has accepted
	stopped  bool     // by a signal
}

// fail adds a finding about something that could not be read.
func (t *outcome) fail(what string, err error) {
	t.findings = append(t.findings, finding{what: what, err: err})
}

// hasNothing reports whether there is nothing to publish of the report: days were planned, and none was read.
func (t *outcome) hasNothing() bool {
	return t.planned > 0 && t.proven+t.partial+t.fromQuarantine == 0 && t.unreachable == 0
}

// unaccepted returns the findings that no person has accepted.
func (t *outcome) unaccepted() []finding {
	return slices.DeleteFunc(slices.Clone(t.findings), func(f finding) bool {
		stands := func(name string) bool { return slices.Contains(t.accepted, name) }
		return len(f.notes) > 0 && !slices.ContainsFunc(f.notes, func(name string) bool { return !stands(name) })
	})
}

// The exit codes of findings, the gravest first. A problem that needs a person comes before a problem that passes by
// itself. A run that publishes exits with code 4 for findings of any other code.
var (
	unpublishedCodes = []int{exit.Usage, exit.Auth, exit.Storage, exit.Damaged, exit.Unreachable, exit.Contract,
		exit.Partial}
	publishedCodes = []int{exit.Auth, exit.Damaged, exit.DayAtRisk}
)

// unpublishedCode returns the exit code of a run that publishes nothing, or only settings.
func (t *outcome) unpublishedCode() int {
	if t.stopped {
		return exit.Stopped
	}
	return cmp.Or(gravest(t.findings, unpublishedCodes), exit.Unexpected)
}

// publishedCode returns the exit code of a run that publishes, from the state after the publication. The parameter
// reason is the exit code of the error that kept the settings out of the publication.
func (t *outcome) publishedCode(o load.Preview, reason int) int {
	findings := t.unaccepted()
	isPartial := len(partialDays(o.Coverage)) > 0 || slices.ContainsFunc(o.Notes, isUnacceptedForm) ||
		slices.ContainsFunc(findings, func(f finding) bool { return f.severity != remark })
	switch code := gravest(findings, publishedCodes); {
	case t.stopped:
		return exit.Stopped
	case slices.Contains([]int{exit.Storage, exit.Damaged, exit.Locked, exit.Auth}, reason):
		return reason
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

// gravest returns the first code in a list that some finding has; 0: none has.
func gravest(findings []finding, codes []int) int {
	for _, code := range codes {
		if slices.ContainsFunc(findings, func(f finding) bool { return exit.Of(f.err) == code }) {
			return code
		}
	}
	return 0
}

// addViewErrors adds a finding for each view that a publication could not make, once each.
func (t *outcome) addViewErrors(errs []error) {
	for _, err := range errs {
		if !slices.ContainsFunc(t.findings, func(f finding) bool { return f.err.Error() == err.Error() }) {
			t.fail("views", err)
		}
	}
}

// AtRisk returns the days that are not fully known and leave the reach soon.
func AtRisk(coverage []schema.DayCoverage) []schema.DayCoverage {
	var days []schema.DayCoverage
	for _, c := range coverage {
		// A partial day that was read after its end lacks only refused rows, which another read would refuse again.
		over := c.LastReadAt.Valid && !c.LastReadAt.V.Time().Before(c.ReportDate.End())
		lacksRows := c.ControlTotalState == schema.ControlDiffers && c.Doubt.V != schema.Accepted
		unproven := c.State == schema.StateMissing || c.State == schema.StatePartial && (!over || lacksRows)
		if unproven && c.DaysUntilUnreachable > 0 && c.DaysUntilUnreachable <= RiskDays {
			days = append(days, c)
		}
	}
	return days
}

// sentence describes how a run ended, with its findings. settings describes the settings; empty if the run did not get
// that far.
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

// failureSentence describes the findings that have a subject, and groups findings with the same reason.
func (t *outcome) failureSentence() string {
	type group struct {
		first finding
		more  int
	}
	var groups []group
	untried := ""
	for _, f := range t.named() {
		i := slices.IndexFunc(groups, func(g group) bool { return reasonOf(g.first.err) == reasonOf(f.err) })
		switch {
		case i >= 0 && f.untried:
			untried += "; " + f.what
		case i >= 0:
			groups[i].more++
		default:
			groups = append(groups, group{first: f})
		}
	}
	const shown = 2 // the log and ops.step have the other reasons
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
	return b.String() + untried
}

// reasonOf returns the text of an error without the name of the unreadable item.
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

// named returns the failures to report. It omits canceled reads, which a signal or another failure interrupted. If no
// signal came and all failures are canceled reads, it returns all of them.
func (t *outcome) named() []finding {
	all := t.failures()
	rest := slices.DeleteFunc(slices.Clone(all), func(f finding) bool { return errors.Is(f.err, context.Canceled) })
	if !t.stopped && len(rest) == 0 {
		return all
	}
	return rest
}

// cause returns the failure that decided the exit code; if none did, the first failure.
func (t *outcome) cause(code int) error {
	named := t.named()
	for _, f := range named {
		if exit.Of(f.err) == code {
			return f.err
		}
	}
	if len(named) > 0 {
		return named[0].err
	}
	return nil
}

func (f finding) String() string {
	text := cli.OneLine(f.err.Error())
	if f.what == "" || strings.HasPrefix(text, f.what) {
		return text
	}
	return f.what + ": " + text
}

// partialDays returns the stored days that are partial and not accepted. It omits days whose last read was before their
// end: the next run reads them again or reports them as lost.
func partialDays(coverage []schema.DayCoverage) []schema.DayCoverage {
	return slices.DeleteFunc(slices.Clone(coverage), func(c schema.DayCoverage) bool {
		return c.State != schema.StatePartial || c.Doubt.V == schema.Accepted || c.PartialWhy.V == manifest.NotOver
	})
}

// isUnacceptedForm reports whether a note is about days and no person has accepted it at its present size.
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
		fmt.Fprintf(&b, "; partial: %s; of %s %s; 'spendsync repair accept %s' accepts it as it is", cli.Days(dates),
			last.ReportDate, last.PartialWhy.V, last.ReportDate)
	}
	for _, n := range o.Notes {
		if isUnacceptedForm(n) {
			fmt.Fprintf(&b, "; %s: %s; 'spendsync repair accept %s' accepts up to %d %%", n.Name, n.Message, n.Name,
				n.Size)
		}
	}
	return b.String()
}

// noteSentence lists the accepted differences that still exist.
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

// noteName joins the parts of a note's name.
func noteName(parts ...string) string {
	return strings.ReplaceAll(strings.Join(parts, "."), " ", "-")
}

// someOf counts the different IDs in a list, and names the first of them.
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
