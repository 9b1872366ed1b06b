package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
)

// prover proves that the report and the key belong to the stored account.
type prover struct {
	s    *session
	key  keyProof
	days *copiedDays
}

// namedReply is the campaigns of one reply: of a day, or of the key's list of campaigns.
type namedReply struct {
	day       *copiedDay // nil: the reply is the list of campaigns
	campaigns []string
}

// accept adds all campaigns of each reply that contains a witness, until no further reply contains one. It returns the
// remaining replies.
func (w witnesses) accept(replies []namedReply) (left []namedReply) {
	left = slices.Clone(replies)
	for before := -1; before != len(left); {
		before = len(left)
		left = slices.DeleteFunc(left, func(r namedReply) bool {
			if w.hasNone(r.campaigns) {
				return false
			}
			w.add(r.campaigns)
			return true
		})
	}
	return left
}

// reportProof is the result of [prover.prove].
type reportProof struct {
	witnesses witnesses
	proofs    []string     // describe what proves the account
	withheld  []*copiedDay // days that must not be published
	err       error        // why days are withheld
	// listErr is why no settings may be published: the list of campaigns may belong to another account.
	listErr error
	// canWait reports whether days without a witness may still turn out to belong to the account, because some of its
	// campaigns could not be read.
	canWait bool
}

// provenReport is what is known about the campaigns of the report once it is proven whose they are.
type provenReport struct {
	ours       witnesses
	delivering witnesses // see [copiedDays.delivering]; may have campaigns of another account
}

// prove decides which of the days belong to the account. A day belongs to the account if one of its campaigns is
// stored, or is in the key's list, or is in another day that belongs to the account. The list belongs to the account by
// the same rule. If nothing is stored, the key must name its account and its campaigns once more after the reading, and
// only campaigns that are in both lists count. Days that are not proven are withheld: their replies go into quarantine.
//
// The error ends the run: [exit.ErrOtherReport] if no day belongs to the account, and [exit.ErrOtherAccount] if the key
// acts on another account.
func (r *prover) prove(ctx context.Context) (*reportProof, error) {
	if err := r.key.err; errors.Is(err, exit.ErrOtherAccount) || errors.Is(err, exit.ErrUsage) {
		return nil, errors.Join(err, r.quarantineAll(err))
	}
	p, listed := &reportProof{witnesses: witnesses{}}, r.key.listed()
	p.witnesses.add(slices.Collect(maps.Keys(r.key.stored)))
	days, silent := r.replies(p.witnesses)
	var again error
	if isFirst := len(p.witnesses) == 0; isFirst || r.isNewName() || r.s.Full {
		var both []string
		if both, again = r.askAgain(ctx, listed); errors.Is(again, exit.ErrOtherAccount) {
			return nil, errors.Join(again, r.quarantineAll(again))
		}
		if isFirst || r.s.Full && r.key.who.account != "" {
			p.witnesses.add(both)
		}
	}
	left := days
	if len(listed) > 0 {
		left = append([]namedReply{{campaigns: listed}}, days...)
	}
	left = p.witnesses.accept(left)
	if len(left) > 0 && left[0].day == nil {
		left = left[1:]
		p.listErr = cmp.Or(again, fmt.Errorf("%w, it seems: none of the %s that it lists is known, and the account "+
			"has %s; if all of them are the account's, 'spendsync sync --full' takes them in", exit.ErrOtherAccount,
			cli.Count(len(listed), "campaign"), someOf("campaign", p.campaigns())))
		r.logForeign("the API key's list of campaigns", listed)
	}
	if err := r.judge(p, days, left, silent, again); err != nil {
		return nil, err
	}
	r.addProofs(p, days, left, again)
	return p, nil
}

// replies returns the changed days with their campaigns, and separately the changed days without any campaign, which
// are judged together with the days that have campaigns. Unchanged days are omitted, because they publish nothing. A
// changed day that keeps a stored row belongs to the account, so its campaigns are added to stored.
func (r *prover) replies(stored witnesses) (days, silent []namedReply) {
	for _, d := range r.days.days {
		switch {
		case !d.isStaged || !d.put.Changed:
		case len(d.campaigns) > 0:
			days = append(days, namedReply{d, d.campaigns})
			if d.stored != nil && d.put.Diff.Deleted < d.stored.Sums.Rows {
				stored.add(d.campaigns)
			}
		default:
			silent = append(silent, namedReply{day: d})
		}
	}
	return days, silent
}

// warnOfTwin logs a warning if the store already has the advertiser account under another name.
func (r *prover) warnOfTwin(advertiser string) {
	switch names, err := r.s.store.NamesOf(advertiser); {
	case err != nil:
		r.s.Log.Warn("whether the store has the advertiser account under another name is not known", "error", err)
	case len(names) > 0:
		r.s.Log.Warn("the store has this advertiser account under another name already, and sums over all accounts "+
			"count it twice; set SPENDSYNC_ACCOUNT to that name, or give this one a folder of its own",
			"advertiser", advertiser, "account", r.s.Account, "also", names)
	}
}

// isNewName reports whether the service names the key's account for the first time.
func (r *prover) isNewName() bool { return r.key.who.account != "" && r.s.storedAccount().Pinned == "" }

// askAgain requests the key's account and its campaigns once more, and returns the campaigns that are in both lists. A
// list that is not proven complete may mix two accounts, and counts only if both lists are equal.
//
// No reply about a campaign names its account. So a first load is still deceived by a gateway that switches the key to
// another account and back, twice and for exactly these requests.
func (r *prover) askAgain(ctx context.Context, listed []string) (both []string, err error) {
	problem := r.key.problem()
	if len(listed) == 0 {
		return nil, problem
	}
	again, err := r.s.API.Campaigns(ctx)
	if err != nil {
		return nil, fmt.Errorf("the campaigns of the API key, asked a second time: %w", err)
	}
	for _, e := range again.Entities {
		if slices.Contains(listed, e.ID) {
			both = append(both, e.ID)
		}
	}
	if problem != nil && (len(both) < len(listed) || len(both) < len(again.Entities)) {
		return nil, problem
	}
	if r.key.who.account == "" {
		return both, nil
	}
	return both, r.s.confirmKey(ctx, r.key)
}

// judge withholds the changed days in left, which nothing proves to belong to the account. It returns an error if the
// report belongs to another account.
func (r *prover) judge(p *reportProof, days, left, silent []namedReply, again error) error {
	problem := cmp.Or(again, r.key.problem(), p.listErr)
	if count := len(campaignsIn(left)); problem == nil && count > 0 && len(r.key.listed())+len(r.key.stored) == 0 {
		problem = exit.Advise(&extract.UnprovenError{What: "the campaigns of the API key", Reason: "the list is " +
			"empty, and the report has rows of " + cli.Count(count, "campaign")}, "run it again; if the list stays "+
			"empty, check that SPENDSYNC_API_KEY and SPENDSYNC_REPORT_USER are of one account")
	}
	p.canWait = problem != nil
	if len(left) == 0 {
		return nil
	}
	r.logForeign("the report", campaignsIn(left))
	count := cli.Count(len(campaignsIn(left)), "campaign")
	switch {
	case len(left) < len(days):
		p.err = exit.As(fmt.Errorf("the report of %s has %s that nothing proves to be the account's, which has %s: it "+
			"may have been switched to another account while it was read", cli.Count(len(left), "day"), count,
			someOf("campaign", p.campaigns())), extract.ErrContract)
	case problem != nil:
		p.err = fmt.Errorf("whose report it is cannot be proven yet: %w", problem)
		if len(r.key.stored) == 0 {
			p.listErr = p.err // nothing connects the list with the report, so the list is not proven either
		}
	default:
		return errors.Join(fmt.Errorf("%w: the report speaks of %s, and the account that the API key acts on has %s: "+
			"the report's user and the API key belong to two accounts", exit.ErrOtherReport, count,
			someOf("campaign", p.campaigns())), r.quarantineAll(exit.ErrOtherReport))
	}
	for _, l := range append(left, silent...) {
		p.withheld = append(p.withheld, l.day)
	}
	return r.withhold(p)
}

// addProofs describes what proves the account, and pins the account's name if the key's list of campaigns is proven,
// too.
func (r *prover) addProofs(p *reportProof, days, left []namedReply, again error) {
	listed := r.key.listed()
	isKey := r.key.problem() == nil && p.listErr == nil && again == nil
	if name := r.key.who.account; isKey && name != "" {
		r.s.pinned = name
		p.proofs = append(p.proofs, "/v1/me names account "+name)
		if r.isNewName() {
			r.warnOfTwin(name)
		}
	}
	byKey := slices.IndexFunc(listed, func(id string) bool { _, is := r.key.stored[id]; return is })
	if isKey && byKey >= 0 {
		p.proofs = append(p.proofs, "the key lists the stored campaign "+listed[byKey])
	}
	if len(days) > len(left) {
		ids := slices.DeleteFunc(campaignsIn(days), func(id string) bool { return !p.witnesses[id] })
		p.proofs = append(p.proofs, "the report has campaign "+ids[0]+" of the account")
	}
	if len(p.proofs) > 0 {
		r.s.Log.Info("the account is proven", "by", p.proofs)
	}
}

// logForeign logs the campaigns of a reply that is not proven to belong to the account. Only the log may name them:
// nothing of another account goes into the store or into a stored message.
func (r *prover) logForeign(what string, ids []string) {
	r.s.Log.Warn(what+" is not proven to be the account's", "has", someOf("campaign", ids))
}

// campaignsIn returns the campaigns of some replies, sorted.
func campaignsIn(replies []namedReply) []string {
	all := witnesses{}
	for _, r := range replies {
		all.add(r.campaigns)
	}
	return slices.Sorted(maps.Keys(all))
}

func (p *reportProof) campaigns() []string { return slices.Collect(maps.Keys(p.witnesses)) }

// withhold removes the days that are not proven from the run, and puts their replies into quarantine.
func (r *prover) withhold(p *reportProof) error {
	for _, d := range p.withheld {
		if err := r.quarantineDay(d, p.err); err != nil {
			return err
		}
		d.isStaged, d.err = false, p.err
		d.step.Outcome, d.step.Message = "failed", schema.Some(p.err.Error())
	}
	r.days.withheld = p.err
	return nil
}

// quarantineAll puts the replies of all staged days into quarantine, for a run that publishes nothing.
func (r *prover) quarantineAll(cause error) error {
	for _, d := range r.days.days {
		if !d.isStaged {
			continue
		}
		if err := r.quarantineDay(d, cause); err != nil {
			return err
		}
	}
	return nil
}

// quarantineDay puts the replies of a day into quarantine because the account of the day is not proven.
func (r *prover) quarantineDay(d *copiedDay, cause error) error {
	var err error
	d.isWithheld, err = d.replies.Quarantine(quarantine.Day{ReadAt: d.read.at, Reason: cause.Error(),
		PageSize: r.s.Plan.PageSize, ControlTotal: d.read.ControlTotal, Withheld: true, Campaigns: d.campaigns,
		Pieces: d.read.ReadOutcome.Pieces}, nil)
	return err
}

// ours returns the report's creatives of the account's campaigns.
func (w witnesses) ours(lines []transform.ReportCreative) []transform.ReportCreative {
	all := len(lines)
	lines = slices.DeleteFunc(lines, func(l transform.ReportCreative) bool {
		return l.CampaignID != "" && !w[l.CampaignID]
	})
	if len(lines) < all { // lines without a campaign may belong to another account, too
		lines = slices.DeleteFunc(lines, func(l transform.ReportCreative) bool { return l.CampaignID == "" })
	}
	return lines
}

// stageQuarantined stages days that can no longer be read, from their replies in quarantine. Withheld days are staged
// as soon as they are proven to belong to the account. Days that were not proven are tried again in the first run of
// each day, because this version or new lines of the service file may understand the replies. Replies that are older
// than the stored day are discarded.
func (r *run) stageQuarantined(ctx context.Context, p *reportProof) error {
	days, err := r.s.store.Quarantine().Days()
	if err != nil {
		return err
	}
	storedDays := r.s.store.Account().Days
	days = slices.DeleteFunc(days, func(q quarantine.Day) bool {
		isNow := q.Withheld || storedDays[r.s.plan.Today] == nil
		if q.Date >= r.since() || slices.Contains(r.stagedDays, q.Date) || !isNow {
			return true
		}
		isOlder := isStoredLater(storedDays[q.Date], q)
		if isOlder {
			r.stagedDays = append(r.stagedDays, q.Date)
		}
		return isOlder
	})
	if len(days) == 0 {
		return nil
	}
	taken, left, err := quarantineReader{r.s.Job, r.s.store, r.s.area, p.witnesses,
		func() map[string]string { return r.s.labels().names }}.prove(ctx, days)
	r.addQuarantined(taken)
	if p.canWait {
		r.undecided = left
	}
	return err
}
