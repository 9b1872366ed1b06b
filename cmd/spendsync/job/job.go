package job

import (
	"context"
	"log/slog"
	"time"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Job is what one run works on and with. A run changes nothing of it, so that the
// same job can be run again under another RunID.
type Job struct {
	RunID   string
	Account string // its name in the store
	DataDir string // absolute
	Version string // of the binary
	Store   load.Options

	// Report and API ask the service. A repair needs neither.
	Report, API *extract.Client
	Service     *service.Service // what replies are assumed to be like; nil: the embedded assumptions

	Plan              PlanOptions
	Concurrency       int  // days read at the same time
	RequestsPerMinute int  // to the API
	Full              bool // read settled campaigns again, too

	// Own reads the operator's own files; nil: there are none.
	Own ReadOwn

	// SettingsBudget is how long a run may read settings, and with that how long proven
	// numbers wait for them; 0 means 20 minutes.
	SettingsBudget time.Duration
	// StopGrace is how long after a signal complete data may still be published.
	StopGrace time.Duration

	Now      func() time.Time
	Log      *slog.Logger
	Progress func(what string, n int) Bar // nil disables progress

	trial *Trial // limits the run to a part, and receives the result; nil: the run reads everything
}

// Bar shows how far one phase is. Its methods may be called from several goroutines.
type Bar interface {
	Step()      // one day or campaign is done
	Rows(n int) // that were read
	Done()      // the phase has ended, however far it came
}

// Result is how a run ended.
type Result struct {
	Run            schema.Run           // its line in the ledger, with the exit code and the sentence
	Coverage       []schema.DayCoverage // of the account, after the run
	WarehouseBytes int64                // size of the published DuckDB file; 0: there is none
	Failures       int                  // what could not be read
	Quarantined    int                  // days in quarantine, after the run
	UnreadFields   schema.Null[int64]   // of the settings, that were not understood; NULL: none were asked for
	KeyExpires     schema.Null[schema.Instant]
	Cause          error // the failure that decided the exit code; nil if none did
}

// Sync reads and publishes the planned days and the settings. The error means that the run did not start; every other
// outcome is in the result.
func (j Job) Sync(ctx context.Context) (*Result, error) {
	return j.readAndPublish(ctx, "sync", true, func(known *manifest.Account, now time.Time) (Plan, error) {
		return PlanDays(j.Account, now, known, j.Plan), nil
	})
}

// Backfill reads the days of a range again, even if they are stored, and publishes them. The settings stay unchanged.
func (j Job) Backfill(ctx context.Context, from, to schema.Date) (*Result, error) {
	plan := func(known *manifest.Account, now time.Time) (Plan, error) {
		return planRange(j.Account, now, known, from, to, j.Plan)
	}
	// Refuse an impossible range before anything is opened or asked for.
	if _, err := plan(&manifest.Account{}, j.Now()); err != nil {
		return nil, err
	}
	return j.readAndPublish(ctx, "backfill", false, plan)
}

// makePlan makes a plan from an account's coverage at an instant.
type makePlan func(known *manifest.Account, now time.Time) (Plan, error)

// readAndPublish is the story of a run: each phase returns what the next one takes.
func (j Job) readAndPublish(
	ctx context.Context, command string, withSettings bool, plan makePlan,
) (*Result, error) {
	s, err := j.begin(ctx, command)
	if err != nil {
		return nil, err
	}
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); s.asking.Wait() }() // no goroutine of the run outlives it
	publishing, release := outlasting(ctx, j.StopGrace)
	defer release()
	proving, endProof := outlasting(ctx, j.StopGrace/2) // the rest of the grace is the publication's
	defer endProof()
	r := &run{s: s}

	me := s.askIdentity(proving)
	if err := s.askClock(ctx, me); err != nil { // before anything is decided
		return r.failed(err), nil
	}
	if s.plan, err = plan(s.store.Account(), s.Now()); err != nil {
		return nil, err
	}
	s.doubtURLs()
	s.askForLess()
	list := s.listCampaigns(proving)
	key := s.beginKey(me, list)
	settings := waitForSettings(noSettings)
	if withSettings {
		settings = s.beginSettings(ctx, key)
	}
	days := s.readDays(ctx)
	if j.trial != nil {
		j.trial.run, j.trial.key, j.trial.days = r, key, days
	}
	r.sumUp(days)
	if err := r.refuse(); err != nil {
		return r.failed(err), nil
	}
	if days.stopped && r.tally.nothing() {
		endProof() // nothing waits for it
	}
	proof, err := (&prover{s, key(), days}).prove(proving)
	r.sumUp(days)
	if err != nil {
		return r.failed(err), nil
	}
	read := settings(len(proof.witnesses))
	if err = r.withdrawEmpty(days, read.value()); err == nil {
		r.sumUp(days)
		err = r.takeKept(publishing, proof)
	}
	if err != nil {
		return r.failed(err), nil
	}
	row, err := r.publish(ctx, publishing, read, proof)
	if err != nil {
		return r.failed(err), nil
	}
	return r.result(r.takeOwn(ctx, publishing, proof.witnesses, row)), nil
}

// refuse ends a run before anything is published: its clock is wrong, or its storage has
// failed.
func (r *run) refuse() error {
	if err := r.s.checkClock(r.s.Report); err != nil {
		return err
	}
	r.s.warnOfClock()
	return r.storageFailed()
}

// sumUp adds up the days for what the run reports.
func (r *run) sumUp(days *copiedDays) {
	r.daySums = days.sum(r.s.Account, r.s.RunID, r.s.known().Unknown)
	r.sumUpAsked()
	r.reach = reachAfter(r.s.known().Reach, days.days)
	isKnown := len(r.s.known().Days) > 0
	for i := range r.tally.findings {
		r.tally.findings[i].err = OfWrongURL(r.tally.findings[i].err, r.s.Report, isKnown)
	}
}
