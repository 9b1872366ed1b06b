package job

import (
	"strings"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
)

// run holds the results of a run, to be published and reported.
type run struct {
	s            *session
	daySums                        // of the days that were read
	reach        int               // [manifest.Account.Reach] after this run
	proofs       []string          // evidence of the identity of the account
	settings     *settings         // nil until they are read
	settingsPart load.StagedChange // of the settings that are published
	settingsErr  error             // why no settings are published; nil: they are, or none were asked for
	newVersions  int64             // of settings
	preview      load.Preview      // of the generation
	first        schema.Date       // of a young account; 0: it is not known
}

// row is the run's line in the ledger.
func (r *run) row(code int, text string, published bool) schema.Run {
	st := addStats(r.s.Report.Stats(), r.s.API.Stats())
	row := endOf(r.s.Job, r.s.command, r.s.start, code, text)
	row.Published = published
	row.DaysPlanned, row.DaysProven = int64(r.tally.planned), int64(r.tally.proven)
	row.DaysChanged, row.RowsRead = int64(r.tally.changed), r.rows
	row.RowsInserted, row.RowsUpdated, row.RowsDeleted = r.diff.Inserted, r.diff.Updated, r.diff.Deleted
	row.Requests, row.Retries, row.BytesRead = st.Requests, st.Retries, st.Bytes
	row.ThrottledMs = st.Throttled.Milliseconds()
	row.SettingsVersions = r.newVersions
	if published && len(r.proofs) > 0 {
		row.IdentityProof = schema.Some(strings.Join(r.proofs, "; "))
	}
	if s := r.settings; s != nil {
		row.CampaignsRead, row.CampaignsSkipped = int64(s.campaignsRead()), int64(s.skipped)
	}
	return row
}

func addStats(a, b extract.Stats) extract.Stats {
	return extract.Stats{
		Requests: a.Requests + b.Requests, Retries: a.Retries + b.Retries, Bytes: a.Bytes + b.Bytes,
		Throttled: a.Throttled + b.Throttled,
	}
}

// since returns the first day that the run could have read: earlier days count as lost only if the account already
// knows them. A service may reach less far than it states.
func (r *run) since() schema.Date { return max(r.s.plan.Reach, r.unreachable+1) }
