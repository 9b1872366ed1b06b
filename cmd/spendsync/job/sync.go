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

// Sync reads the planned days and the settings, and publishes them. An error means that the run did not start. The
// result states how a started run ended.
func (j Job) Sync(ctx context.Context) (*Result, error) {
	plan := func(account *manifest.Account, now time.Time) (Plan, error) {
		return PlanDays(j.Account, now, account, j.Plan), nil
	}
	return j.readAndPublish(ctx, "sync", true, plan, &run{})
}

// Backfill reads all days of a range, even if they are stored, and publishes them. It does not read the settings.
func (j Job) Backfill(ctx context.Context, from, to schema.Date) (*Result, error) {
	plan := func(account *manifest.Account, now time.Time) (Plan, error) {
		return planRange(j.Account, now, account, from, to, j.Plan)
	}
	// An impossible range is refused without opening the store.
	if _, err := plan(&manifest.Account{}, j.Now()); err != nil {
		return nil, err
	}
	return j.readAndPublish(ctx, "backfill", false, plan, &run{})
}

// readAndPublish is the common part of a sync, a backfill and a trial: it reads, proves and publishes. The function
// plan decides which days to read. The results are written to r.
func (j Job) readAndPublish(ctx context.Context, command string, withSettings bool,
	plan func(account *manifest.Account, now time.Time) (Plan, error), r *run) (*Result, error) {
	s, err := j.begin(ctx, command)
	if err != nil {
		return nil, err
	}
	defer s.end()
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); s.asking.Wait() }() // all goroutines of the run end before it returns
	publishing, release := outlasting(ctx, j.StopGrace)
	defer release()
	proving, endProof := outlasting(ctx, j.StopGrace/2) // half of the grace period is left for the publication
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

// refuse returns an error if the run must end without publishing, because the machine's clock is wrong or the disk
// failed.
func (s *session) refuse(days *copiedDays) error {
	if err := s.checkClock(s.Report); err != nil {
		return err
	}
	for _, d := range days.days {
		if errors.Is(d.err, durable.ErrStorage) {
			return d.err
		}
	}
	return nil
}
