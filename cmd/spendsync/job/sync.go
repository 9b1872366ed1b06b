package job

import (
	"context"
	"errors"
	"sync"
	"time"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Sync reads and publishes the planned days and the settings. An error means that the run did not start; any other
// outcome is in the result.
func (j Job) Sync(ctx context.Context) (*Result, error) {
	plan := func(account *manifest.Account, now time.Time) (Plan, error) {
		return PlanDays(j.Account, now, account, j.Plan), nil
	}
	return j.readAndPublish(ctx, "sync", true, plan, &run{})
}

// Backfill reads the days of a range again, even if they are stored, and publishes them. The settings stay unchanged.
func (j Job) Backfill(ctx context.Context, from, to schema.Date) (*Result, error) {
	plan := func(account *manifest.Account, now time.Time) (Plan, error) {
		return planRange(j.Account, now, account, from, to, j.Plan)
	}
	// Refuse an impossible range before the store is opened.
	if _, err := plan(&manifest.Account{}, j.Now()); err != nil {
		return nil, err
	}
	return j.readAndPublish(ctx, "backfill", false, plan, &run{})
}

// makePlan makes a plan from an account's coverage at an instant.
type makePlan func(account *manifest.Account, now time.Time) (Plan, error)

// readAndPublish does a run: each phase returns what the next phase needs.
func (j Job) readAndPublish(ctx context.Context, command string, withSettings bool, plan makePlan, r *run) (*Result,
	error) {
	s, err := j.begin(ctx, command)
	if err != nil {
		return nil, err
	}
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); s.asking.Wait() }() // no goroutine of the run outlives it
	publishing, release := outlasting(ctx, j.StopGrace)
	defer release()
	proving, endProof := outlasting(ctx, j.StopGrace/2) // leaves the rest of the grace period to the publication
	defer endProof()
	r.s = s

	me := async(s, func() identity { return s.askIdentity(proving) })
	if err := s.askClock(ctx, me); err != nil { // before anything is decided
		return r.failed(err), nil
	}
	if s.plan, err = plan(s.store.Account(), s.Now()); err != nil {
		return nil, err
	}
	s.doubtURLs()
	s.labels = sync.OnceValue(func() *labels { return s.askLabels(ctx) })
	list := async(s, func() campaignList { return s.listCampaigns(proving) })
	key := async(s, func() keyProof { return s.readKey(me, list) })
	settings, proven := func(int) *settings { return nil }, &future[provenReport]{done: make(chan struct{})}
	if withSettings {
		settings = beginSettings(ctx, s, key, proven)
	}
	days := s.readDays(ctx, key)
	r.key, r.days = key, days
	err = s.refuse(days)
	if days.stopped && !days.hasAny() {
		endProof() // there is nothing to prove
	}
	var proof *reportProof
	if err == nil {
		proof, err = (&prover{s, key.wait(), days}).prove(proving)
	}
	if err != nil {
		r.sumUp(days)
		return r.failed(err), nil
	}
	proven.value = provenReport{proof.witnesses, days.delivering()}
	close(proven.done)
	settingsRead := settings(len(proof.witnesses))
	r.withdrawEmpty(days, settingsRead)
	r.begins(ctx, days)
	r.sumUp(days)
	if err := r.stageQuarantined(publishing, proof); err != nil {
		return r.failed(err), nil
	}
	row, err := r.publish(ctx, publishing, settingsRead, proof)
	if err != nil {
		return r.failed(err), nil
	}
	return r.result(row), nil
}

// refuse returns an error if the run must end before anything is published: its clock is wrong, or its storage has
// failed.
func (s *session) refuse(days *copiedDays) error {
	if err := s.checkClock(s.Report); err != nil {
		return err
	}
	s.warnOfClock()
	for _, d := range days.days {
		if errors.Is(d.err, durable.ErrStorage) {
			return d.err
		}
	}
	return nil
}
