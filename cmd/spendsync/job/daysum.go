package job

import (
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
)

// daySums are the totals over the days of a run: for its report, and for the ledger in addition to its own line.
type daySums struct {
	tally   outcome
	steps   []schema.Step
	unknown []schema.UnknownField // in the report
	refused []schema.RefusedRow
	stored  []schema.Date // that are staged, all or in part
	// waitingReads are the keys and the spend of proven reads that have less than half of what is stored; empty: the
	// day's has none.
	waitingReads map[schema.Date]string
	parts        []load.StagedChange // what they bring
	// unreachable is the latest day that the service refused as too far in the past; 0: none.
	unreachable schema.Date
	quarantined int // days whose replies are in quarantine, because they do not prove them
	diff        history.Diff
	rows        int64
}

// sum adds up the days.
func (c *copiedDays) sum(account, runID string) daySums {
	s := daySums{waitingReads: map[schema.Date]string{}}
	s.tally.planned, s.tally.stopped = len(c.planned), c.stopped
	for _, d := range c.days {
		s.addDay(c, d, account, runID)
	}
	if c.totals != nil && c.totals.failed != nil {
		s.tally.fail("control totals", c.totals.failed)
	}
	for _, f := range []*finding{c.silent, c.young} {
		if f != nil {
			s.tally.findings = append(s.tally.findings, *f)
		}
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

// addDay adds a day, however it was left.
func (s *daySums) addDay(c *copiedDays, d *copiedDay, account, runID string) {
	s.steps = append(s.steps, d.step)
	s.waitingReads[d.Day] = d.waiting
	if d.isKept {
		s.quarantined++
	}
	switch {
	case d.isBefore:
	case d.isUnreachable():
		s.tally.unreachable++
		s.unreachable = max(s.unreachable, d.Day)
	case !d.isStaged && c.withheld != nil && d.err == c.withheld: // named once
	case !d.isStaged && d.mayStayOpen():
		s.tally.findings = append(s.tally.findings, finding{what: "spend " + d.step.Unit, err: d.err,
			severity: remark})
	case !d.isStaged:
		s.tally.fail("spend "+d.step.Unit, d.err)
	default:
		s.add(d, account, runID)
	}
}

func (s *daySums) addDiff(d history.Diff) {
	s.diff.Inserted += d.Inserted
	s.diff.Updated += d.Updated
	s.diff.Deleted += d.Deleted
}

// add adds a staged day.
func (s *daySums) add(d *copiedDay, account, runID string) {
	read := d.read
	s.stored, s.parts = append(s.stored, d.Day), append(s.parts, d.put.StagedChange)
	if d.put.Changed {
		s.tally.changed++
	}
	if err := read.incomplete(); err != nil {
		s.tally.partial++
	} else {
		s.tally.proven++
	}
	s.refused = append(s.refused, read.Aside...)
	s.rows += read.sums.Rows
	s.addDiff(d.put.Diff)
	field := func(path, sample string) schema.UnknownField {
		return schema.UnknownField{AccountID: account, Stream: "spend_report", Path: path, SampleType: sample}
	}
	for _, u := range read.Unknown {
		s.unknown = append(s.unknown, field(u.Path, u.Type))
	}
}
