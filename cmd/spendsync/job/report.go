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

// prover decides whether the report and the API key belong to the account whose data is stored.
type prover struct {
	s    *session
	key  keyProof
	days *copiedDays
}

// namedReply has the IDs of the campaigns in one reply: the report of a day, or the API key's list of campaigns.
type namedReply struct {
	day       *copiedDay // nil for the list of campaigns
	campaigns []string
}

// accept extends the set of campaigns that are known to be the account's. If a reply contains one of them, accept adds
// all campaigns of that reply, and repeats this until no other reply qualifies. It returns the replies that never
// qualified.
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

// reportProof is the result of [prover.prove]: which campaigns and days belong to the account.
type reportProof struct {
	witnesses witnesses
	proofs    []string // describe what proves the account
	// listErr is why the settings are not published: the API key's list of campaigns may belong to another account.
	listErr error
	// canWait means that the withheld days may still turn out to be the account's, because the key's list of campaigns
	// is not complete or not proven.
	canWait bool
}

// provenReport has the campaigns that the settings need from the report. It is complete once prover.prove has ended.
type provenReport struct {
	ours       witnesses
	delivering witnesses // campaigns with new spend on young days, of any account; see [copiedDays.delivering]
}

// prove decides which of the days belong to the account. A day belongs to the account if one of its campaigns is
// stored, or is in the key's list, or is in another day that belongs to the account. The list belongs to the account by
// the same rule. If nothing is stored, prove asks the service a second time for the key's account and campaigns, and
// only campaigns that are in both lists count. All other days are withheld: they are not stored, and their replies go
// into quarantine.
//
// The error ends the run: [exit.ErrOtherReport] if no day belongs to the account, and [exit.ErrOtherAccount] if the key
// belongs to another account.
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

// replies returns two lists of changed days: the days with their campaigns, and the days without any campaign, which
// nothing can prove on their own. Unchanged days are omitted, because they publish nothing. If a changed day still has
// one of its stored rows, it belongs to the account: its campaigns are added to the set of stored campaigns.
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

// warnOfTwin logs a warning if the store also has this advertiser account under another name, because sums over all
// accounts would count it twice.
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

// isNewName reports whether the service names the key's account, and no earlier run has stored that name.
func (r *prover) isNewName() bool { return r.key.who.account != "" && r.s.storedAccount().Pinned == "" }

// askAgain requests the key's account and its campaigns a second time, and returns the campaigns that are in both
// lists. If a list is not proven complete, it may mix two accounts: then both lists must be equal.
//
// No reply about a campaign names its account. So a gateway can still deceive the first load, if it switches the key to
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

// judge withholds the changed days in the list named left: nothing proves that they belong to the account. If no
// changed day is proven and nothing else explains that, the report belongs to another account, and judge returns an
// error.
func (r *prover) judge(p *reportProof, days, left, silent []namedReply, again error) (err error) {
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
		err = exit.As(fmt.Errorf("the report of %s has %s that nothing proves to be the account's, which has %s: it "+
			"may have been switched to another account while it was read", cli.Count(len(left), "day"), count,
			someOf("campaign", p.campaigns())), extract.ErrContract)
	case problem != nil:
		err = fmt.Errorf("whose report it is cannot be proven yet: %w", problem)
		if len(r.key.stored) == 0 {
			p.listErr = err // nothing connects the key's list with the report, so the list is not proven either
		}
	default:
		return errors.Join(fmt.Errorf("%w: the report speaks of %s, and the account that the API key acts on has %s: "+
			"the report's user and the API key belong to two accounts", exit.ErrOtherReport, count,
			someOf("campaign", p.campaigns())), r.quarantineAll(exit.ErrOtherReport))
	}
	return r.withhold(append(left, silent...), err)
}

// addProofs adds sentences about what proves the account. If the key's list of campaigns is proven, too, it records the
// account's name, so that later runs refuse a key of another account.
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
}

// logForeign logs the campaigns of a reply that may belong to another account. Their IDs may appear only in the log,
// and not in the store or in a stored message.
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

// withhold removes unproven days from the run, and puts their replies into quarantine: they may belong to another
// account.
func (r *prover) withhold(unproven []namedReply, why error) error {
	for _, u := range unproven {
		if err := r.quarantineDay(u.day, why); err != nil {
			return err
		}
		u.day.isStaged, u.day.err = false, why
		u.day.step.Outcome, u.day.step.Message = "failed", schema.Some(why.Error())
	}
	r.days.withheld = why
	return nil
}

// quarantineAll puts the replies of all staged days into quarantine. The run then publishes nothing.
func (r *prover) quarantineAll(cause error) error {
	var errs []error
	for _, d := range r.days.days {
		if d.isStaged {
			errs = append(errs, r.quarantineDay(d, cause))
		}
	}
	return errors.Join(errs...)
}

// quarantineDay puts the replies of a day into quarantine because the day may belong to another account.
func (r *prover) quarantineDay(d *copiedDay, cause error) error {
	var err error
	d.isWithheld, err = d.replies.Quarantine(quarantine.Day{ReadAt: d.read.at, Reason: cause.Error(),
		PageSize: r.s.Plan.PageSize, ControlTotal: d.read.ControlTotal, Withheld: true, Campaigns: d.campaigns,
		Pieces: d.read.ReadOutcome.Pieces}, nil)
	return err
}

// ours returns the lines of the report's list of creatives whose campaigns are known to be the account's.
func (w witnesses) ours(lines []transform.ReportCreative) []transform.ReportCreative {
	all := len(lines)
	lines = slices.DeleteFunc(lines, func(l transform.ReportCreative) bool {
		return l.CampaignID != "" && !w[l.CampaignID]
	})
	if len(lines) < all { // some lines are of another account, so lines without a campaign may be, too
		lines = slices.DeleteFunc(lines, func(l transform.ReportCreative) bool { return l.CampaignID == "" })
	}
	return lines
}

// stageQuarantined stages days that the service no longer has, from their replies in quarantine. There are two kinds of
// such days. A withheld day is staged as soon as its campaigns are known to be the account's. A day whose replies did
// not prove it is tried again in the first run of each day, because a newer version, or new lines of the service file,
// may understand the replies. If the stored day was read later, the replies are discarded.
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
