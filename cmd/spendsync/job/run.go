package job

import (
	"strings"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
)

// run collects what a sync or backfill has read, until it is published and reported.
type run struct {
	s     *session
	key   *future[keyProof] // nil until the days are read
	days  *copiedDays       // nil until the days are read
	tally outcome

	// About the days:
	steps       []schema.Step
	unknown     []schema.UnknownField // in the report
	refused     []schema.RefusedRow
	stagedDays  []schema.Date          // days with staged rows
	waiting     map[schema.Date]string // see [copiedDay]
	parts       []load.StagedChange    // the staged days
	unreachable schema.Date            // the latest day that the service refused as too old; 0: none
	quarantined int                    // number of days in quarantine because their replies do not prove them
	withheld    int                    // number of days in quarantine because they may be another account's
	diff        history.Diff
	rows        int64
	reach       int         // [manifest.Account.Reach] after this run
	first       schema.Date // first day of an account that is younger than the report's 32 days; 0: not known

	proofs       []string          // sentences about what proves the account's identity
	undecided    []schema.Date     // old days that may still be proven by their replies in quarantine
	settings     *settings         // nil until the settings are read
	settingsPart load.StagedChange // the staged settings
	settingsErr  error             // why no settings are published; nil if they are published, or were not read
	newVersions  int64             // of settings
	preview      load.Preview      // of the generation to publish
}

// sumUp copies the results of the single days into the run, and adds findings for the days that failed.
func (r *run) sumUp(c *copiedDays) {
	r.tally.planned, r.tally.stopped = len(c.planned), c.stopped
	r.waiting, r.reach = map[schema.Date]string{}, reachAfter(r.s.storedAccount().Reach, c.days)
	for _, d := range c.days {
		r.steps = append(r.steps, d.step)
		r.waiting[d.Day] = d.waiting
		if d.isQuarantined {
			r.quarantined++
		}
		if d.isWithheld {
			r.withheld++
		}
		switch what := "spend " + d.step.Unit; {
		case d.precedesAccount:
		case d.isUnreachable():
			r.tally.unreachable++
			r.unreachable = max(r.unreachable, d.Day)
		case d.isStaged:
			r.add(d)
		case c.withheld != nil && d.err == c.withheld: // reported once, below
		case d.mayStayOpen():
			r.tally.findings = append(r.tally.findings, finding{what: what, err: d.err, isRemark: true})
		default:
			r.tally.fail(what, d.err)
		}
	}
	if c.withheld != nil {
		r.tally.planned = max(r.tally.planned, 1)
		r.tally.fail("report", c.withheld)
	}
	r.tally.findings = append(r.tally.findings, c.findings...)
	hasData := len(r.s.storedAccount().Days) > 0
	for i := range r.tally.findings {
		r.tally.findings[i].err = OfWrongURL(r.tally.findings[i].err, r.s.Report, hasData)
	}
	for _, g := range r.tally.byReason() {
		r.s.Log.Warn("a part of the report is not proven; what was published of it stands", "first", g.first.what,
			"count", 1+g.more, "error", g.first.err)
	}
}

// add adds a staged day.
func (r *run) add(d *copiedDay) {
	r.stagedDays, r.parts = append(r.stagedDays, d.Day), append(r.parts, d.put.StagedChange)
	if d.put.Changed {
		r.tally.changed++
	}
	if d.read.incomplete() != nil {
		r.tally.partial++
	} else {
		r.tally.proven++
	}
	r.refused = append(r.refused, d.read.Aside...)
	r.rows += d.read.sums.Rows
	r.diff.Add(d.put.Diff)
	for _, u := range d.read.Unknown {
		r.unknown = append(r.unknown, schema.UnknownField{AccountID: r.s.Account, Stream: "spend_report", Path: u.Path,
			SampleType: u.Type})
	}
}

// addQuarantined adds days that are now proven by their replies in quarantine. The service no longer has these days.
func (r *run) addQuarantined(days []quarantinedDay) {
	at := schema.InstantOf(r.s.Now())
	for _, d := range days {
		r.tally.fromQuarantine++
		r.stagedDays, r.parts = append(r.stagedDays, d.Date), append(r.parts, d.StagedChange)
		r.diff.Add(d.Diff)
		r.steps = append(r.steps, schema.Step{AccountID: r.s.Account, Stream: "spend_report", Unit: d.Date.String(),
			Reason: "withheld until its account was proven", Outcome: "stored", StartedAt: at, FinishedAt: at,
			Pages: int64(len(d.Pages)), Rows: d.rows, RunID: r.s.RunID})
	}
}

// row returns the run's line in the ledger.
func (r *run) row(code int, text string, published bool) schema.Run {
	report, api := r.s.Report.Stats(), r.s.API.Stats()
	row := endOf(r.s.Job, r.s.command, r.s.start, code, text)
	row.Published = published
	row.DaysPlanned, row.DaysProven = int64(r.tally.planned), int64(r.tally.proven)
	row.DaysChanged, row.RowsRead = int64(r.tally.changed), r.rows
	row.RowsInserted, row.RowsUpdated, row.RowsDeleted = r.diff.Inserted, r.diff.Updated, r.diff.Deleted
	row.Requests, row.Retries = report.Requests+api.Requests, report.Retries+api.Retries
	row.BytesRead, row.ThrottledMs = report.Bytes+api.Bytes, (report.Throttled + api.Throttled).Milliseconds()
	row.SettingsVersions = r.newVersions
	if published && len(r.proofs) > 0 {
		row.IdentityProof = schema.Some(strings.Join(r.proofs, "; "))
	}
	if s := r.settings; s != nil {
		row.CampaignsRead, row.CampaignsSkipped = int64(s.campaignsRead()), int64(s.skipped)
	}
	return row
}

// since returns the first day that this run could have read. It is later than the plan's first day if the service
// refused days as too old. Days before it count as lost only if the coverage of the account includes them.
func (r *run) since() schema.Date { return max(r.s.plan.Reach, r.unreachable+1) }
