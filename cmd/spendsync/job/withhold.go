package job

import (
	"context"
	"fmt"
	"slices"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

// withhold takes the days that are not proven out of the run, and keeps their replies.
func (r *prover) withhold(p *reportProof) error {
	for _, d := range p.withheld {
		drop := r.keepDay
		if !d.put.Changed { // its replies are those that are stored
			drop = func(d *copiedDay, _ error) error { return r.s.staged.Drop(d.Day) }
		}
		if err := drop(d, p.err); err != nil {
			return err
		}
		d.isStaged, d.err = false, p.err
		d.step.Outcome, d.step.Message = "failed", schema.Some(p.err.Error())
	}
	r.days.withheld = p.err
	return nil
}

// keepReplies keeps the replies of all days of a run that publishes nothing.
func (r *prover) keepReplies(cause error) error {
	for _, d := range r.days.days {
		if !d.isStaged {
			continue
		}
		if err := r.keepDay(d, cause); err != nil {
			return err
		}
	}
	return nil
}

// keepDay keeps the replies of a day whose account is not proven.
func (r *prover) keepDay(d *copiedDay, cause error) error {
	var err error
	d.isWithheld, err = r.s.staged.Withhold(quarantine.Day{Date: d.Day, ReadAt: d.read.at, Reason: cause.Error(),
		PageSize: r.s.Plan.PageSize, ControlTotal: d.read.ControlTotal, Withheld: true, Campaigns: d.campaigns,
		Alike: d.read.likes, Reads: d.read.parts()})
	return err
}

// ours returns the creatives that the report names of the account's campaigns.
func (w witnesses) ours(lines []transform.ReportCreative) []transform.ReportCreative {
	all := len(lines)
	lines = slices.DeleteFunc(lines, func(l transform.ReportCreative) bool {
		return l.CampaignID != "" && !w[l.CampaignID]
	})
	if len(lines) < all { // those without a campaign may be another account's, too
		lines = slices.DeleteFunc(lines, func(l transform.ReportCreative) bool { return l.CampaignID == "" })
	}
	return lines
}

// nearlyAll is the share of a day's stored keys that must be gone for them to have
// vanished, and manyDays how many such days make a suspicion.
var nearlyAll = struct{ share, of int64 }{9, 10}

const manyDays = 3

// refuseVanished ends a run if several finished days have lost nearly all stored keys.
func (r *prover) refuseVanished() error {
	finished, vanished := 0, []schema.Date{}
	for _, d := range r.days.days {
		if !d.isStaged || !d.put.Changed || d.known == nil || d.known.Sums.Rows == 0 || !d.known.WasOver(d.Day) ||
			!slices.Equal(d.known.Without, idsIn(d.read.lacks)) { // an ID that came back is in each key
			continue
		}
		finished++
		if d.read.sums.Rows > 0 && d.put.Diff.Deleted*nearlyAll.of >= d.known.Sums.Rows*nearlyAll.share {
			vanished = append(vanished, d.Day)
		}
	}
	n := len(vanished)
	if r.s.command == "backfill" || n < manyDays || 2*n < finished {
		return nil
	}
	slices.Sort(vanished)
	return fmt.Errorf("%w, it seems: nearly all rows that are stored of %s (%s) are gone from it at once, "+
		"and others are in their place; if the service really changed them, 'spendsync sync --from --to' takes them "+
		"in; if the stored ones are another account's, 'spendsync repair reset' moves them aside",
		exit.ErrOtherReport, phrase.Count(n, "finished day"), phrase.Days(vanished))
}

// takeKept stages the days whose replies earlier runs kept and that can no longer be read: those that were withheld, as
// soon as their account is proven, and in the first run of each day those that did not prove their day, for this
// version or the operator's lines may understand them. It removes replies that were read before the stored day.
func (r *run) takeKept(ctx context.Context, p *reportProof) error {
	days, err := r.s.store.Quarantine().Days()
	if err != nil {
		return err
	}
	known := r.s.store.Account().Days
	days = slices.DeleteFunc(days, func(q quarantine.Day) bool {
		isNow := q.Withheld || known[r.s.plan.Today] == nil
		if q.Date >= r.since() || slices.Contains(r.daySums.stored, q.Date) || !isNow {
			return true
		}
		isOlder := isStoredLater(known[q.Date], q)
		if isOlder {
			r.daySums.stored = append(r.daySums.stored, q.Date)
		}
		return isOlder
	})
	if len(days) == 0 {
		return nil
	}
	taken, left, err := kept{r.s.Job, r.s.store, r.s.staged, p.witnesses}.take(ctx, days)
	r.daySums.addTaken(taken, r.s.Account, r.s.RunID, schema.InstantOf(r.s.Now()))
	if p.canWait {
		r.waiting = left
	}
	return err
}
