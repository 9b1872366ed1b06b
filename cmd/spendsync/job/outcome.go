package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// RiskDays is how close to the end of the reach an unproven day calls a person.
const RiskDays = 3

// failure is one item that a run could not read.
type failure struct {
	what      string // "spend 2026-11-20", "control totals"
	err       error
	untried   bool     // it was not read because of the error of something else
	notes     []string // of the differences that it is; empty: something is missing or not proven
	columns   []string // of the settings, that cannot be read
	standsOld bool     // earlier values stay, and may be old
}

// tally counts what a run has read, before anything is published.
type tally struct {
	partial                               int // days stored without some of their rows
	planned, proven, changed, unreachable int
	taken                                 int               // days that replies in quarantine have proven
	added                                 int               // days that were not stored before
	matched                               int               // days that agree with the service's own total
	differs                               string            // which do not, and are stored; empty: none
	miscounted                            int               // days for which the service states another number of rows
	doubtful                              int               // of these, that may lack rows by it
	miscount                              string            // the last of them
	lacks, newlyLacks                     []string          // columns that the report does not give
	givenAgain                            []string          // columns that it did not give before
	unread                                int64             // rows that are stored without some of their measures
	unreadDays                            int               // days that have some
	oddIDs                                []transform.OddID // the first of each form that no run has seen
	failures                              []failure
	differences                           map[string]manifest.Note // differences whose data is stored, by name
	unreadAnew                            []schema.Date            // days that were over and lose known measures
	standing                              []string                 // differences that end no run with exit 4
	stopped                               bool                     // by a signal
}

// addMiscounted notes a day that is stored though the service states another number of its rows. A
// smaller one leaves no doubt if the service's own sum is that of the rows: it counts something
// else.
func (t *tally) addMiscounted(day schema.Date, read *dayRead) {
	t.miscounted++
	t.miscount = fmt.Sprintf("%s: %s came, and it states %d", day, phrase.Count(int(read.sums.Rows), "row"),
		read.count.V)
	if read.control != schema.ControlMatched || read.count.V > read.sums.Rows {
		t.doubtful++
		t.seeDifference("report.row-count."+manifest.Gap(read.sums.Rows, read.count.V), "the service's own number "+
			"of rows (total_rows) differs, as on "+t.miscount+"; the rows are stored as they came")
	}
}

// fail notes something that could not be read.
func (t *tally) fail(what string, err error) {
	t.failures = append(t.failures, failure{what: what, err: err})
}

// nothing reports whether there is nothing to publish: days were planned and none was read.
func (t tally) nothing() bool {
	return t.planned > 0 && t.proven+t.partial+t.taken == 0 && t.unreachable == 0
}

// unpublishedCode decides the exit code of a run that publishes nothing, or nothing but
// settings. What needs a person comes before what time heals.
func (t tally) unpublishedCode() int {
	if t.stopped {
		return exit.Stopped
	}
	codes := map[int]bool{}
	for _, f := range t.failures {
		codes[exit.Of(f.err)] = true
	}
	for _, c := range []int{exit.Usage, exit.Auth, exit.Storage, exit.Damaged, exit.Unreachable, exit.Contract,
		exit.Partial} {
		if codes[c] {
			return c
		}
	}
	return exit.Unexpected
}

// publishedCode decides the exit code of a run that publishes, from what will be
// known afterwards.
func (t tally) publishedCode(o load.Preview) int {
	if t.nothing() {
		return t.unpublishedCode()
	}
	risk := AtRisk(o.Coverage)
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
	case len(t.failures) > 0 || len(t.newlyLacks) > 0 || len(t.oddIDs) > 0 || len(t.unreadAnew) > 0,
		t.isLoudBelow(""):
		return exit.Partial
	}
	return exit.OK
}

// addViewErrors adds the views that a publication could not make, once each.
func (t *tally) addViewErrors(errs []error) {
	for _, err := range errs {
		if !slices.ContainsFunc(t.failures, func(f failure) bool { return f.err.Error() == err.Error() }) {
			t.fail("views", err)
		}
	}
}

// settingsCode decides the exit code of a run whose settings could not be
// published at all, for the given reason, while its report was.
func (t tally) settingsCode(o load.Preview, reason int) int {
	switch reason {
	case exit.Storage, exit.Damaged, exit.Locked, exit.Auth:
		return reason
	}
	return t.publishedCode(o)
}

// AtRisk are the days that are not known in full and leave the reach soon.
func AtRisk(coverage []schema.DayCoverage) []schema.DayCoverage {
	var days []schema.DayCoverage
	for _, c := range coverage {
		// A partial day that was read after its end lacks only refused rows. Its replies are kept, and reading them
		// again changes nothing.
		over := c.LastReadAt.Valid && !c.LastReadAt.V.Time().Before(c.ReportDate.End())
		unproven := c.State == schema.StateMissing || c.State == schema.StatePartial && !over
		if unproven && c.DaysUntilUnreachable > 0 && c.DaysUntilUnreachable <= RiskDays {
			days = append(days, c)
		}
	}
	return days
}

// sentence describes the end of a run and names its failures. settings is the result of the settings, if the run got
// so far.
func (t tally) sentence(o load.Preview, published bool, settings string) string {
	var b strings.Builder
	if t.stopped {
		b.WriteString("stopped by a signal: ")
	}
	switch {
	case published && t.nothing():
		fmt.Fprintf(&b, "nothing of the report published: none of %s proven; generation %d has the settings alone",
			phrase.Count(t.planned, "planned day"), o.Generation)
	case published:
		fmt.Fprintf(&b, "published generation %d: %s of %d planned proven, %d changed",
			o.Generation, phrase.Count(t.proven, "day"), t.planned, t.changed)
	default:
		fmt.Fprintf(&b, "nothing published: none of %s proven", phrase.Count(t.planned, "planned day"))
	}
	if o.Restatements > 0 {
		fmt.Fprintf(&b, ", %s", phrase.Count(o.Restatements, "restatement"))
	}
	if t.taken > 0 {
		fmt.Fprintf(&b, ", %s proven from quarantine", phrase.Count(t.taken, "day"))
	}
	b.WriteString(settings)
	if len(o.NewlyLost) > 0 {
		fmt.Fprintf(&b, "; lost for good: %s", phrase.Days(o.NewlyLost))
	}
	for _, c := range AtRisk(o.Coverage) {
		fmt.Fprintf(&b, "; %s is not proven and can be read for %s more",
			c.ReportDate, phrase.Count(int(c.DaysUntilUnreachable), "day"))
	}
	if t.isLoudBelow("report.day-total.") {
		b.WriteString("; " + t.differs)
	}
	if t.miscounted > 0 && (t.doubtful == 0 || t.isLoudBelow("report.row-count.")) {
		fmt.Fprintf(&b, "; the service's own number of rows (total_rows) differs on %s, such as %s; the rows are "+
			"stored as they came", phrase.Count(t.miscounted, "day"), t.miscount)
	}
	switch lacks := strings.Join(t.lacks, ", "); {
	case len(t.newlyLacks) > 0:
		fmt.Fprintf(&b, "; the report gives no %s; stored as unknown (NULL), and asked for again once a day", lacks)
		if len(idsIn(t.lacks)) > 0 {
			b.WriteString("; '' stands for the IDs; finished days that have them keep them")
		}
	case lacks != "":
		fmt.Fprintf(&b, "; the report still gives no %s", lacks)
	}
	if len(t.givenAgain) > 0 {
		fmt.Fprintf(&b, "; the report gives %s again", strings.Join(t.givenAgain, ", "))
	}
	if t.isLoudBelow("report.unread.") || len(t.unreadAnew) > 0 {
		fmt.Fprintf(&b, "; %s on %s have measures that cannot be read; these are stored as unknown (NULL), the rest "+
			"of each row as it came; see ops.refused_row",
			phrase.Count(int(t.unread), "row"), phrase.Count(t.unreadDays, "day"))
	}
	for _, name := range slices.Sorted(maps.Keys(t.differences)) {
		if (strings.HasPrefix(name, endingNote) || name == fractionNote) && t.isLoud(name) {
			b.WriteString("; " + t.differences[name].Message)
		}
	}
	b.WriteString(oddIDSentence(t.oddIDs))
	if len(t.unreadAnew) > 0 {
		fmt.Fprintf(&b, "; of %s known measures are unknown now", phrase.Days(t.unreadAnew))
	}
	b.WriteString(t.noteSentence())
	b.WriteString(t.failureSentence())
	return b.String()
}

// failureSentence names the failures, those for the same reason together.
func (t tally) failureSentence() string {
	type group struct {
		first failure
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
	const shown = 2 // the others are in the log and in ops.step
	var b strings.Builder
	for i, g := range groups {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more", len(groups)-i)
			break
		}
		fmt.Fprintf(&b, "; %s", g.first)
		if g.more > 0 {
			fmt.Fprintf(&b, " (and %d more for the same reason)", g.more)
		}
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

// named are the failures to be reported: what a signal broke off, or another failure
// such as refused credentials, is not one.
func (t tally) named() []failure {
	canceled := func(f failure) bool { return errors.Is(f.err, context.Canceled) }
	rest := slices.DeleteFunc(slices.Clone(t.failures), canceled)
	if !t.stopped && len(rest) == 0 {
		return t.failures
	}
	return rest
}

// cause returns the failure that decided the exit code, or else the first one.
func (t tally) cause(code int) error {
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

func (f failure) String() string {
	text := phrase.OneLine(f.err.Error())
	if errors.Is(f.err, extract.ErrContract) && strings.Contains(text, "page_size") {
		text += " (SPENDSYNC_PAGE_SIZE sets it)"
	}
	if strings.HasPrefix(text, f.what) {
		return text
	}
	return f.what + ": " + text
}

// settingsSentence describes the settings that were read; it is empty before they are.
func (r *run) settingsSentence() string {
	if r.settings == nil {
		return ""
	}
	text := fmt.Sprintf("; settings of %s read, %s", phrase.Count(r.settings.campaignsRead(), "campaign"),
		phrase.Count(int(r.newVersions), "new version"))
	if r.settings.left > 0 {
		text += fmt.Sprintf(", %s left to the next run", phrase.Count(r.settings.left, "campaign"))
	}
	return text + r.settings.unread.sentence()
}

// failed records a run that published nothing, with the reason.
func (r *run) failed(cause error) *Result {
	code := exit.Of(cause)
	if r.tally.nothing() {
		code = r.tally.unpublishedCode()
	}
	text := r.tally.sentence(load.Preview{}, false, "")
	if !r.tally.nothing() {
		text = "nothing published: " + phrase.OneLine(cause.Error())
	}
	text += r.quarantineSentence()
	if code == exit.Stopped && !r.tally.nothing() {
		text = "stopped by a signal before anything was published: " + phrase.Interrupted(cause)
	}
	row := r.row(code, text, false)
	if m := r.s.store.Manifest(); m != nil {
		row.Generation = m.Generation
	}
	if err := r.s.store.AppendRun(row, r.steps); err != nil {
		r.s.Log.Warn("the failed run could not be written to the ledger", "error", err)
	}
	res := r.result(row)
	if !r.tally.nothing() {
		res.Cause = cause
	}
	return res
}

// result is how the run ended. Lost days count as reported once a run has come here with
// the exit code for them.
func (r *run) result(row schema.Run) *Result {
	if row.ExitCode == exit.DayAtRisk {
		if err := r.s.store.RecordLost(row, r.preview.NewlyLost); err != nil {
			r.s.Log.Warn("the report of lost days could not be written to the ledger; the next run repeats it",
				"error", err)
		}
	}
	r.s.warnOfTheService()
	quarantined := r.tidyQuarantine(row.Published)
	res := &Result{
		Quarantined: quarantined,
		Run:         row, Coverage: r.s.store.Account().Coverage(r.s.Account, r.s.Now()),
		Failures: len(r.tally.failures), KeyExpires: r.s.keyExpires(), Cause: r.tally.cause(int(row.ExitCode)),
	}
	if r.settings != nil {
		res.UnreadFields = schema.Some(int64(r.settings.unread.fields()))
	}
	if m := r.s.store.Manifest(); m != nil {
		res.WarehouseBytes = m.Warehouse.Bytes
	}
	return res
}

// endOf is what the line of every run in the ledger has.
func endOf(j Job, command string, start time.Time, code int, text string) schema.Run {
	return schema.Run{
		AccountID: j.Account, Command: command, RunID: j.RunID, Version: j.Version,
		StartedAt: schema.InstantOf(start), FinishedAt: schema.InstantOf(j.Now()),
		ExitCode: int64(code), Outcome: exit.About(code).Means, Message: schema.Some(text),
	}
}
