package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// daySums are the totals over the days of a run: for its report, and for the ledger in addition to its own line.
type daySums struct {
	tally   outcome
	lacks   []string          // columns that the report does not give
	oddIDs  []transform.OddID // the first of each form that no run has seen
	steps   []schema.Step
	unknown []schema.UnknownField // in the report
	refused []schema.RefusedRow
	spent   map[schema.Date][]string // campaigns and creatives with spend, by days that changed
	stored  []schema.Date            // that are staged, all or in part
	parts   []load.Part              // what they bring
	differ  []difference             // of those whose sum is not the service's own
	// unreachable is the latest day that the service refused as too far in the past; 0: none.
	unreachable schema.Date
	quarantined int // days whose replies are in quarantine, because they do not prove them
	withheld    int // days whose replies are in quarantine, because their account is not proven
	diff        history.Diff
	rows        int64
}

// sum adds up the days. known are the unknown fields of the report that earlier runs met.
func (c *copiedDays) sum(account, runID string, known []schema.UnknownField) daySums {
	s := daySums{spent: map[schema.Date][]string{}}
	s.tally.planned, s.tally.stopped = len(c.planned), c.stopped
	for _, d := range c.days {
		s.steps = append(s.steps, d.step)
		if d.isKept {
			s.quarantined++
		}
		if d.isWithheld {
			s.withheld++
		}
		switch {
		case d.isUnreachable():
			s.tally.unreachable++
			s.unreachable = max(s.unreachable, d.Day)
		case !d.isStaged && c.withheld != nil && d.err == c.withheld: // named once
		case !d.isStaged:
			s.tally.fail("spend "+d.step.Unit, d.err)
		default:
			s.add(d, account, runID, known)
		}
	}
	s.tally.foundOddIDs(s.oddIDs)
	slices.SortFunc(s.differ, func(a, b difference) int { return cmp.Compare(a.day, b.day) })
	for _, d := range s.differ {
		sev, then := differs, "; it may count something else, such as fees or other sources"
		if d.isFarAbove() {
			sev, then = doubtful, "; it is so far above the rows that some may be missing"
		}
		s.tally.onDay(sev, "the service's own total differs", d.String(), then+"; the rows are stored as they came",
			"report.day-total."+d.form())
	}
	if c.totals != nil && c.totals.failed != nil {
		s.tally.fail("control totals", c.totals.failed)
	}
	if c.withheld != nil {
		s.tally.planned = max(s.tally.planned, 1)
		s.tally.fail("report", c.withheld)
	}
	if c.untried != nil {
		s.tally.findings = append(s.tally.findings, *c.untried)
	}
	return s
}

// addTaken adds days that the replies in quarantine have proven.
func (s *daySums) addTaken(taken []takenDay, account, runID string, at schema.Instant) {
	for _, t := range taken {
		s.tally.taken++
		s.stored = append(s.stored, t.Date)
		s.parts = append(s.parts, t.Part)
		s.addDiff(t.Diff)
		s.steps = append(s.steps, schema.Step{
			AccountID: account, Stream: "spend_report", Unit: t.Date.String(),
			Reason: "withheld until its account was proven", Outcome: "stored",
			StartedAt: at, FinishedAt: at, Pages: int64(len(t.Pages)), Rows: t.rows, RunID: runID,
		})
	}
}

func (s *daySums) addDiff(d history.Diff) {
	s.diff.Inserted += d.Inserted
	s.diff.Updated += d.Updated
	s.diff.Deleted += d.Deleted
}

// add adds a staged day.
func (s *daySums) add(d *copiedDay, account, runID string, known []schema.UnknownField) {
	read := d.read
	s.stored, s.parts = append(s.stored, d.Day), append(s.parts, d.put.Part)
	if d.put.Changed {
		s.tally.changed++
		s.spent[d.Day] = d.spent
	}
	if read.Control == schema.ControlDiffers {
		s.differ = append(s.differ, difference{d.Day, read.sums, read.ControlTotal})
	}
	if err := read.incomplete(); err != nil {
		s.tally.partial++
		s.tally.fail("spend "+d.step.Unit, err)
	} else {
		s.tally.proven++
	}
	if read.RowsTotalState == schema.RowsDiffer && !read.at.Time().Before(d.Day.End()) {
		s.tally.foundMiscounted(d.Day, read)
	}
	s.refused = append(s.refused, read.aside...)
	s.lacks = joined(s.lacks, read.lacks)
	s.tally.foundUnread(d)
	s.rows += read.sums.Rows
	s.addDiff(d.put.Diff)
	field := func(path, sample string) schema.UnknownField {
		return schema.UnknownField{AccountID: account, Stream: "spend_report", Path: path, SampleType: sample,
			FirstSeenAt: read.at, RunID: runID}
	}
	for _, u := range read.unknown {
		s.unknown = append(s.unknown, field(u.Path, u.Type))
	}
	for _, odd := range d.oddIDs {
		u := field(oddIDPath(odd), typeOf(odd.Value))
		reported := func(k schema.UnknownField) bool { return k.Stream == u.Stream && k.Path == u.Path }
		if !slices.ContainsFunc(known, reported) && !slices.ContainsFunc(s.unknown, reported) {
			s.oddIDs = append(s.oddIDs, odd)
			s.unknown = append(s.unknown, u)
		}
	}
}

// A run ends with exit 4 if something differs from what the service states or promises. Some services differ at every
// run, and nobody can change that: after three runs such a difference becomes a standing note, which is shown and ends
// no run any more. Anything missing or unproven has no note. See [manifest.Note].

// foundMiscounted adds a day that is stored though the service states another number of its rows. A smaller one leaves
// no doubt if the service's own sum is that of the rows: it counts something else.
func (t *outcome) foundMiscounted(day schema.Date, read *dayRead) {
	s, notes := differs, []string{"report.row-count." + sideOf(read.sums.Rows, read.RowsTotal.V)}
	if read.Control == schema.ControlMatched && read.RowsTotal.V <= read.sums.Rows {
		s, notes = remark, nil
	}
	such := fmt.Sprintf("%s: %s came, and it states %d", day, phrase.Count(int(read.sums.Rows), "row"),
		read.RowsTotal.V)
	t.onDay(s, "the service's own number of rows (total_rows) differs", such, "; the rows are stored as they came",
		notes...)
}

// foundUnread adds the rows of a staged day that are stored without some of their measures. If the day was over and had
// these measures before, they are lost: that has no note.
func (t *outcome) foundUnread(d *copiedDay) {
	read, forms := d.read, []string{}
	for _, form := range read.UnreadForms {
		if form == transform.Fractional {
			t.onDay(differs, "conversions have a fraction in some rows", d.Day.String(), ": they are stored in "+
				"conversions_fractional, conversions is unknown (NULL) there, and conversions_expected of spend has "+
				"both",
				"report.fraction.conversions")
			continue
		}
		forms = append(forms, unreadNote+form)
	}
	if len(forms) > 0 {
		such := fmt.Sprintf("%s: %s (%s)", d.Day, phrase.Count(int(read.Unread), "row"),
			strings.ReplaceAll(strings.Join(forms, ", "), unreadNote, ""))
		t.onDay(differs, "measures cannot be read", such, "; these are stored as unknown (NULL), the rest of each row "+
			"as it came; see ops.refused_row", forms...)
	}
	if d.known != nil && d.known.WasOver(d.Day) && read.Unread > d.known.Unread {
		t.onDay(differs, "known measures are unknown now", d.Day.String(), "")
	}
}

// unreadNote is the prefix of the names of notes about measures that cannot be read.
const unreadNote = "report.unread."

// oddIDPath is where ops.unknown_field remembers that IDs of an odd form were reported.
func oddIDPath(odd transform.OddID) string { return "data[]." + odd.Column + ": " + odd.Form }

// typeOf returns the JSON type of an ID.
func typeOf(value string) string {
	if strings.HasPrefix(value, `"`) {
		return "string"
	}
	return "number"
}

// foundOddIDs adds the forms of IDs that this run saw first.
func (t *outcome) foundOddIDs(ids []transform.OddID) {
	if len(ids) == 0 {
		return
	}
	const shown = 3
	var b strings.Builder
	b.WriteString("IDs of a new form, stored without the blanks around them and reported once:")
	for i, odd := range ids[:min(len(ids), shown)] {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s %s (%s)", odd.Column, odd.Value, odd.Form)
	}
	if more := len(ids) - shown; more > 0 {
		fmt.Fprintf(&b, ", and %d more", more)
	}
	t.found(differs, nil, "%s", b.String())
}
