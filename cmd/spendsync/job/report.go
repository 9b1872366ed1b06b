package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/schema"
	"spendsync/transform"
)

// campaignsOf returns the campaigns of rows in key order. A row without a campaign is not evidence of an account.
func campaignsOf(rows *schema.SpendRows) (ids []string) {
	last := ""
	for _, row := range rows.All() {
		if row.CampaignID != last {
			last = row.CampaignID
			ids = append(ids, strings.Clone(last))
		}
	}
	return ids
}

// prover proves whose numbers a run has read.
type prover struct {
	s    *session
	key  keyProof
	days *copiedDays
}

// prove proves whose numbers these are. Another account's end the run; those that cannot be
// proven now are not published.
func (r *prover) prove(ctx context.Context) (*reportProof, error) {
	key := r.key
	if errors.Is(key.err, exit.ErrOtherAccount) || errors.Is(key.err, exit.ErrUsage) {
		return nil, errors.Join(key.err, r.keepReplies(key.err))
	}
	p, err := r.proveReport(ctx)
	if err != nil {
		return nil, err
	}
	if len(p.withheld) > 0 {
		if err := r.withhold(p); err != nil {
			return nil, err
		}
	}
	if err := r.refuseVanished(); err != nil {
		return nil, err
	}
	if key.err == nil {
		if r.s.staged.PinAccount(key.who.account); key.who.account == "" && r.s.pinned() == "" {
			r.s.staged.PinAccount(acceptedUnpinned)
		}
		p.proofs = append(p.proofs, key.by)
	}
	if p.by != "" {
		p.proofs = append(p.proofs, p.by)
	}
	r.s.Log.Info("the account is proven", "by", p.proofs)
	return p, nil
}

// reply is the campaigns of one reply: of a day's, or of the key's list of campaigns.
type reply struct {
	day       *copiedDay // nil: the list
	campaigns []string
}

// witnesses are campaigns that are proven to be the account's. Campaign IDs are the service's
// own, and one reply is of one account: if one of its campaigns is a witness, all of them are.
type witnesses map[string]bool

// accept adds the campaigns of every reply that has a witness, and returns the other replies.
func (w witnesses) accept(replies []reply) (left []reply) {
	left = slices.Clone(replies)
	for before := -1; before != len(left); {
		before = len(left)
		left = slices.DeleteFunc(left, func(r reply) bool {
			if w.hasNone(r.campaigns) {
				return false
			}
			w.add(r.campaigns)
			return true
		})
	}
	return left
}

func (w witnesses) hasNone(campaigns []string) bool {
	return !slices.ContainsFunc(campaigns, func(id string) bool { return w[id] })
}

// keepOnly removes the campaigns that a list lacks.
func (w witnesses) keepOnly(listed []string) {
	maps.DeleteFunc(w, func(id string, _ bool) bool { return !slices.Contains(listed, id) })
}

func (w witnesses) add(campaigns []string) {
	for _, id := range campaigns {
		w[id] = true
	}
}

// reportProof is whose the report and the key's list of campaigns are that a run has read.
type reportProof struct {
	witnesses witnesses
	proofs    []string     // of the account: of the key and of the report
	by        string       // what proves the report; empty: nothing of it is proven, or needs a proof
	left      []reply      // that nothing proves
	withheld  []*copiedDay // that must not be published
	err       error        // why they are withheld
	// listErr is why no settings may be published: the list of campaigns may be another account's.
	listErr error
	// canWait reports whether days without a witness may turn out to be the account's, because
	// not all of its campaigns could be asked for.
	canWait bool
}

// askedAlone is how many campaigns a run asks for one by one to prove whose they are.
const askedAlone = 5

// proveReport proves every day by itself, for the report may be switched to another account in
// the middle of a run, and so may the key. A day and the list of campaigns are proven by a
// campaign that the settings of a proven key have described, or by another reply that has such
// a campaign, too. If it is known what proved the first stored rows, all that is stored of the
// report proves as well. Otherwise its rows, and the stubs made of them, prove nothing: days that
// are as stored need a proof like others, and of the described campaigns only those count that the
// list of a proven key still has. If nothing is stored that proves, the key does. A day that names no
// campaign goes with the others.
//
// The error ends the run: [exit.ErrOtherReport] if no day is the account's, and
// [exit.ErrOtherAccount] if the key acts on another account by now.
func (r *prover) proveReport(ctx context.Context) (*reportProof, error) {
	key, copied := r.key, r.days
	storedProves, err := r.s.firstRowsProven()
	if err != nil {
		return nil, err
	}
	var days, silent []reply
	same := 0
	for _, d := range copied.days {
		switch {
		case !d.isStaged:
		case d.put.Changed && len(d.campaigns) > 0:
			days = append(days, reply{d, d.campaigns})
		case d.put.Changed || d.read.sums.Rows == 0:
			silent = append(silent, reply{day: d})
		case !storedProves:
			if d.campaigns, err = r.storedCampaigns(d.Day); err != nil {
				return nil, err
			}
			days = append(days, reply{d, d.campaigns})
		case d.known.WasOver(d.Day):
			same++
		}
	}
	p := &reportProof{witnesses: key.described(), left: days}
	listed := key.listed()
	if !storedProves {
		p.witnesses.keepOnly(listed)
	}
	if len(listed) > 0 {
		p.left = append([]reply{{campaigns: listed}}, days...)
	}
	p.left = p.witnesses.accept(p.left)
	if storedProves {
		p.acceptStored(key.stored)
	}
	isFirst := !storedProves || len(p.witnesses) == 0
	if err := r.askTheKey(ctx, p, isFirst); err != nil {
		return nil, err
	}
	if len(p.left) > 0 && p.left[0].day == nil {
		p.listErr = cmp.Or(p.err, fmt.Errorf("the API key lists %s, and the account has %s: the key may have been "+
			"switched to another account; if all of them are the account's, 'spendsync sync --full' takes them in",
			someOf("campaign", listed), p.someKnown()))
		p.left = p.left[1:]
	}
	problem := cmp.Or(p.err, key.problem(), p.listErr)
	p.canWait = problem != nil
	if p.by == "" && len(days) > len(p.left) {
		p.by = p.campaignOf(days, key, listed)
	} else if p.by == "" && len(days) == 0 && same > 0 {
		p.by = fmt.Sprintf("%s of the report as stored", phrase.Count(same, "finished day"))
	}
	switch {
	case len(p.left) == 0:
		p.err = nil
		return p, nil
	case len(days) > len(p.left):
		p.err = fmt.Errorf("the report of %s speaks of %s, and the account has %s: it may have been switched to "+
			"another account while it was read", phrase.Count(len(p.left), "day"), p.someLeft(), p.someKnown())
	case problem != nil && (isFirst || !r.hasNone(ctx, p.left)):
		p.err = fmt.Errorf("whose report it is cannot be proven yet: %w", problem)
	default:
		return nil, fmt.Errorf("%w: the report speaks of %s, and the account that the API key acts on has %s: "+
			"the report's user and the API key belong to two accounts", exit.ErrOtherReport, p.someLeft(),
			p.someKnown())
	}
	for _, l := range append(p.left, silent...) {
		p.withheld = append(p.withheld, l.day)
	}
	return p, nil
}

// storedCampaigns returns the campaigns in the stored rows of a day.
func (r *prover) storedCampaigns(day schema.Date) (ids []string, err error) {
	all := witnesses{}
	for rows, err := range r.s.store.StoredDay(day) {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if id := rows[i].CampaignID; id != "" && !all[id] {
				all[strings.Clone(id)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// acceptStored accepts what the stored report proves, once it is known what proved its first rows.
func (p *reportProof) acceptStored(stored storedCampaigns) {
	p.witnesses.add(slices.Collect(maps.Keys(stored)))
	for _, l := range p.left {
		if d := l.day; d != nil && d.known != nil && d.put.Diff.Deleted < d.known.Sums.Rows {
			p.witnesses.add(l.campaigns)
		}
	}
	p.left = p.witnesses.accept(p.left)
}

// askTheKey proves replies by the key if nothing is stored that does: it must read a campaign of
// each, twice, and act on its account before, between and after that. If the operator has the
// settings read in full, it proves the list of campaigns in this way, too.
//
// No reply about a campaign names its account: a gateway that switches the key to another account and back, twice and
// for exactly the reads between these questions, still deceives a first load.
func (r *prover) askTheKey(ctx context.Context, p *reportProof, isFirst bool) error {
	if r.key.err != nil || len(p.left) == 0 || !isFirst && !(r.s.Full && p.left[0].day == nil) {
		return nil
	}
	if p.err = r.s.confirmKey(ctx, r.key); errors.Is(p.err, exit.ErrOtherAccount) {
		return p.err
	} else if p.err != nil {
		return nil
	}
	var ours witnesses
	for range 2 {
		read := r.askForEach(ctx, p, isFirst)
		if ours == nil {
			ours = read
		}
		ours.keepOnly(slices.Collect(maps.Keys(read)))
		if len(ours) == 0 {
			p.by = ""
			return nil
		}
		if err := r.s.confirmKey(ctx, r.key); errors.Is(err, exit.ErrOtherAccount) {
			return err
		} else if err != nil {
			p.by, p.err = "", err
			return nil
		}
	}
	p.witnesses.add(slices.Collect(maps.Keys(ours)))
	p.left = p.witnesses.accept(p.left)
	return nil
}

// askForEach asks for a campaign of each reply that is left. If the key reads one, the campaigns of that reply are
// among those that it returns.
func (r *prover) askForEach(ctx context.Context, p *reportProof, isFirst bool) witnesses {
	asked, ours := 0, witnesses{}
	for left := p.left; len(left) > 0; {
		one := witnesses{}
		one.add(left[0].campaigns)
		hasList := left[0].day == nil
		rest := one.accept(left[1:])
		if isFirst || hasList {
			by, err := r.askForOne(ctx, left[0].campaigns, hasList, &asked)
			if err == nil && by == "" && !hasList {
				err = cmp.Or(r.key.problem(), r.incomparable(left[0].campaigns, r.key.listed()))
			}
			if errors.Is(err, extract.ErrContract) && r.s.acceptsUnpinned() {
				by, err = "accepted by the operator: the campaigns of the API are not understood", nil
			}
			p.err = cmp.Or(p.err, err)
			if by != "" {
				ours.add(slices.Collect(maps.Keys(one)))
				if !hasList {
					p.by = by
				}
			}
		}
		left = rest
	}
	return ours
}

// incomparable returns an error if the IDs of a report have another form than all that the key lists: a service that
// names campaigns differently in its two interfaces proves nothing about the account.
func (r *prover) incomparable(reported, listed []string) error {
	hasForm := func(id string) bool { return r.s.Service.HasForm("campaign_id", id) }
	other := func(id string) bool { return !hasForm(id) }
	if len(listed) == 0 || slices.ContainsFunc(reported, hasForm) && slices.ContainsFunc(listed, hasForm) ||
		slices.ContainsFunc(reported, other) && slices.ContainsFunc(listed, other) {
		return nil
	}
	return fmt.Errorf("the API key lists IDs of another form (%s) than the report has (%s), so it is unknown which is "+
		"which: %w", someOf("campaign", listed), someOf("campaign", reported), extract.ErrContract)
}

// askForOne asks for some campaigns until the key reads one. It returns what that proves; empty:
// the account has none of them. If single reads fail, the key's list proves that it has them, read
// once more.
func (r *prover) askForOne(ctx context.Context, campaigns []string, areListed bool, asked *int) (by string, err error) {
	for _, id := range slices.Sorted(slices.Values(campaigns)) {
		if !areListed && *asked == askedAlone {
			return "", err
		}
		*asked++
		_, failed := r.s.API.Campaign(ctx, id)
		switch {
		case areListed && failed != nil && !errors.Is(failed, extract.ErrNotFound):
			again, err := r.s.API.Campaigns(ctx)
			isThere := slices.ContainsFunc(again.Entities, func(e extract.Entity) bool { return e.ID == id })
			if err == nil && !isThere {
				err = fmt.Errorf("campaign %s is in the list of campaigns once, and not the second time", id)
			}
			if err != nil {
				return "", fmt.Errorf("the campaigns of the API key: %w", err)
			}
			return "the key lists campaign " + id + " twice", nil
		case failed == nil:
			return "the key reads campaign " + id + " of the report", nil
		case areListed:
			return "", fmt.Errorf("the API key lists campaign %s, and the service answers 404 for it: %w", id,
				extract.ErrContract)
		case errors.Is(failed, extract.ErrNotFound): // another account's
		case errors.Is(failed, extract.ErrContract) && r.key.list.listing.Complete: // no ID that the API knows
		default:
			err = fmt.Errorf("the campaigns of the API key: %w", failed)
		}
	}
	return "", err
}

// hasNone reports whether the service answers 404 for the first campaigns of some days: then they are
// another account's, whatever the list of campaigns has.
func (r *prover) hasNone(ctx context.Context, days []reply) bool {
	if r.key.err != nil {
		return false
	}
	all := campaignsIn(days)
	for _, id := range all[:min(len(all), askedAlone)] {
		if _, err := r.s.API.Campaign(ctx, id); !errors.Is(err, extract.ErrNotFound) {
			return false
		}
	}
	return true
}

// confirmKey asks once more which account the key belongs to, if the service states it at all.
func (r *session) confirmKey(ctx context.Context, key keyProof) error {
	if key.who.account == "" {
		return nil
	}
	me, err := r.API.Me(ctx)
	if err != nil {
		return fmt.Errorf("whom the API key acts for, asked a second time: %w", err)
	}
	account, err := transform.AccountRef(r.Service, me)
	if err != nil {
		return fmt.Errorf("%w, asked a second time: %w", errUnnamed, err)
	}
	return CheckPinned(r.Account, key.who.account, account)
}

// campaignOf names a campaign of the proven days that the settings have.
func (p *reportProof) campaignOf(days []reply, key keyProof, listed []string) string {
	for _, id := range campaignsIn(days) {
		if key.stored[id] || p.listErr == nil && slices.Contains(listed, id) {
			return "the report has campaign " + id + " of the settings"
		}
	}
	return "the report has what is stored of it"
}

// campaignsIn returns the campaigns of some replies, in order.
func campaignsIn(replies []reply) []string {
	all := witnesses{}
	for _, r := range replies {
		all.add(r.campaigns)
	}
	return slices.Sorted(maps.Keys(all))
}

func (p *reportProof) someLeft() string { return someOf("campaign", campaignsIn(p.left)) }

func (p *reportProof) someKnown() string {
	return someOf("campaign", slices.Collect(maps.Keys(p.witnesses)))
}

// someOf names the first of some IDs, and how many different ones there are.
func someOf(what string, ids []string) string {
	const shown = 3
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	text := strings.Join(ids[:min(len(ids), shown)], ", ")
	if len(ids) > shown {
		text += ", ..."
	}
	return fmt.Sprintf("%s (%s)", phrase.Count(len(ids), what), text)
}
