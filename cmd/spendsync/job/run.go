package job

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
)

// run is the state of one run of a job.
type run struct {
	Job
	command string
	start   time.Time
	store   *load.Store
	staged  *load.Staged
	plan    Plan
	clock   *clock // Now of the job

	me          *keyAnswer     // of whom the key acts for
	campaigns   *campaignList  // of the account; nil: nobody has asked for it
	asking      sync.WaitGroup // for those two, which end with the run
	totals      *controlTotals
	bar         Bar
	inFlight    *semaphore.Weighted   // rows that days hold
	daySums                           // of the days that were read
	preview     load.Preview          // of the generation
	proofs      []string              // of whose account this is
	waiting     []schema.Date         // out of reach, with replies in quarantine that may be the account's
	settings    *settings             // nil until they are read
	settingsErr error                 // why no settings are published; nil: they are, or none were asked for
	newVersions int64                 // of settings
	undescribed []schema.UnknownField // in the settings
}

// row is the run's line in the ledger.
func (r *run) row(code int, text string, published bool) schema.Run {
	st := addStats(r.Report.Stats(), r.API.Stats())
	row := endOf(r.Job, r.command, r.start, code, text)
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
		row.CampaignsRead, row.CampaignsSkipped = int64(len(s.campaigns)), int64(s.skipped)
	}
	return row
}

func addStats(a, b extract.Stats) extract.Stats {
	return extract.Stats{
		Requests: a.Requests + b.Requests, Retries: a.Retries + b.Retries, Bytes: a.Bytes + b.Bytes,
		Throttled: a.Throttled + b.Throttled,
	}
}

// progress starts to show a phase.
func (r *run) progress(what string, n int) Bar {
	if r.Progress == nil {
		return noBar{}
	}
	return r.Progress(what, n)
}

// noBar shows nothing.
type noBar struct{}

func (noBar) Step()    {}
func (noBar) Rows(int) {}
func (noBar) Done()    {}

// traced does one stage of a run.
func (r *run) traced(ctx context.Context, stage string, do func(context.Context) error) error {
	ctx, end := r.stage(ctx, stage)
	err := do(ctx)
	end(err)
	return err
}

// stage starts one stage of a run.
func (r *run) stage(ctx context.Context, stage string, attrs ...slog.Attr) (context.Context, EndStage) {
	if r.Trace == nil {
		return ctx, func(error, ...slog.Attr) {}
	}
	return r.Trace(ctx, stage, attrs...)
}

// publishing returns the context under which a run publishes. A signal stops the reading at once; complete data may
// still be published during a grace period, counted from the signal. After that, publication is cancelled: its files
// are in the staging area, where no reader sees them. A commit that has started is never cancelled.
func (j Job) publishing(ctx context.Context) (context.Context, context.CancelFunc) {
	pctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(j.StopGrace):
			cancel()
		case <-pctx.Done():
		}
	})
	return pctx, func() { stop(); cancel() }
}

// since returns the first day that the run could have read: earlier days count as lost only if the account already
// knows them. A service may reach less far than it says.
func (r *run) since() schema.Date { return max(r.plan.Reach, r.unreachable+1) }
