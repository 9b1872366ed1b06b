package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// readSettings reads the listing and then every campaign that may have changed, as far as the budget reaches. Failures
// are recorded; the other campaigns are still read, unless the key is refused.
func (n *settingsReader) readSettings(ctx context.Context) {
	ctx, cancel := n.budget.bound(ctx)
	defer cancel()
	select {
	case <-n.list.done:
	case <-ctx.Done():
		if n.budget.spent() {
			n.fail("listing", "campaigns", "failed", fmt.Errorf("no reply within %s", n.budget.lasts))
		}
		return
	}
	n.read.since, n.read.listing = schema.InstantOf(n.s.clock.at(n.list.began)), n.list.listing
	if err := n.list.err; err != nil {
		n.fail("listing", "campaigns", "failed", err)
		return
	}
	var err error
	if n.confirmed, err = load.StoredReadings(n.s.store); err != nil {
		n.fail("listing", "campaigns", "failed", err)
		return
	}
	missing, err := n.unlistedCampaigns()
	if err != nil {
		n.fail("listing", "campaigns", "failed", err)
		return
	}
	due := n.due()
	var reported sync.WaitGroup
	reported.Go(func() { n.readReportCreatives() })
	n.askForMissing(ctx, "campaigns", campaignKind.name, missing, n.s.API.Campaign,
		func(e extract.Entity, id string) {
			n.read.campaign(id)
			due = append(due, dueCampaign{extract.Entity{ID: id}, &e, schema.InstantOf(n.s.Now())})
		})
	requests := 3 * len(due)
	n.s.Log.Info("reading settings", "campaigns", len(due), "archived_and_settled", n.read.skipped,
		"requests", requests, "requests_saved", 3*n.read.skipped, "at_least", n.atLeast(requests).String())
	bar := n.s.progress("campaigns", len(due))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	for _, c := range due {
		if gctx.Err() != nil || n.budget.spent() {
			n.leave(c)
			continue
		}
		g.Go(func() error {
			err := n.readCampaign(gctx, c)
			bar.Step()
			if errors.Is(err, extract.ErrAuth) {
				return err // the key is refused: so it will be for the others
			}
			if errors.Is(err, context.Canceled) {
				n.leave(c)
			}
			return nil
		})
	}
	_ = g.Wait() // noted where it happened
	bar.Done()
	n.readUnlistedCreatives(ctx)
	ruleKind{}.confirm(ctx, n)
	reported.Wait()
	n.read.at = schema.InstantOf(n.s.Now())
}

// dueCampaign is a campaign to read.
type dueCampaign struct {
	extract.Entity                 // from the list; only the ID if the list lacks it
	own            *extract.Entity // its own reply; nil: it is still to be asked for
	confirmed      schema.Instant  // when it was last read in full, or 0
}

// due returns the listed campaigns that may have changed, which is all but the settled ones.
// Those confirmed longest ago come first.
func (n *settingsReader) due() (due []dueCampaign) {
	for _, e := range n.read.listing.Entities {
		c := n.read.campaign(e.ID)
		c.isListed = true
		_, settled := slices.BinarySearch(n.before, e.ID)
		if settled && !n.s.Full && transform.Archived(n.s.Service, e) {
			n.read.skipped++
			c.isSettled = true
			continue
		}
		d := dueCampaign{Entity: e}
		if n.stored[e.ID] {
			d.confirmed = n.confirmed.Confirmed((&schema.Campaign{CampaignID: e.ID}).Place())
		}
		due = append(due, d)
	}
	slices.SortStableFunc(due, func(a, b dueCampaign) int { return cmp.Compare(a.confirmed, b.confirmed) })
	return n.ofEachStatus(due)
}

// atLeast returns the least time that the requests take under the key's limit. The first minute's worth is sent at
// once.
func (n *settingsReader) atLeast(requests int) time.Duration {
	minutes := max(0, requests-1) / n.s.RequestsPerMinute
	return time.Duration(minutes) * time.Minute
}

// mostTried is how many campaigns a trial reads at most.
const mostTried = 8

// ofEachStatus returns the first campaign of each status; without a trial, all of them.
func (n *settingsReader) ofEachStatus(due []dueCampaign) []dueCampaign {
	if n.s.trial == nil {
		return due
	}
	seen := map[string]bool{}
	due = slices.DeleteFunc(due, func(c dueCampaign) bool {
		status := transform.ListedStatus(n.s.Service, c.Entity)
		was := seen[status]
		seen[status] = true
		return was
	})
	return due[:min(len(due), mostTried)]
}

// leave leaves a campaign to the next run if the budget is used up. Other reasons why it was
// not read are noted where they happened.
func (n *settingsReader) leave(c dueCampaign) {
	if !n.budget.spent() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.left++
	since, first := c.confirmed.Time(), n.s.store.Account().Since
	if c.confirmed == 0 { // it cannot have been read before the account's first run
		since = (first + schema.ReachDays).Start()
	}
	if first != 0 && n.s.Now().Sub(since) >= overdueAfter {
		n.read.overdue = append(n.read.overdue, c.ID)
	}
}

// noteOverdue notes campaigns that were not read for a day or longer.
func (n *settingsReader) noteOverdue() {
	if len(n.read.overdue) == 0 {
		return
	}
	slices.Sort(n.read.overdue)
	n.read.findings = append(n.read.findings, finding{what: "settings", err: fmt.Errorf(
		"%s not read for a day or longer, for example %s: the budget of %s does not reach all of them",
		cli.Count(len(n.read.overdue), "campaign"), n.read.overdue[0], n.budget.lasts)})
}

// settingsRead is the outcome of reading the settings. If err is not nil, nothing of them may
// be published.
type settingsRead struct {
	settings *settings
	err      error
}

// value returns the settings that were read; nil: none were.
func (r *settingsRead) value() *settings {
	if r == nil || r.err != nil {
		return nil
	}
	return r.settings
}

// beginSettings starts to read the settings at the same time as the days, once it is proven which account the key
// belongs to. The returned function waits for them.
func beginSettings(ctx context.Context, r *session, key func() keyProof) (wait waitForSettings) {
	n, done := newSettingsReader(r), make(chan struct{})
	read := &settingsRead{settings: n.read}
	r.asking.Go(func() {
		defer close(done)
		p := key()
		if err := cmp.Or(p.meErr, p.err); err != nil {
			n.fail("account", "me", "failed", err)
		}
		if read.err = p.err; p.err == nil {
			n.list = p.list
			if n.stored = p.stored; r.trial != nil {
				n.stored = nil // a trial asks for no campaign that the list lacks
			}
			n.readAll(ctx, p)
		}
	})
	return func(known int) *settingsRead {
		<-done
		if read.err == nil {
			n.judge(known)
		}
		return read
	}
}

// waitForSettings waits for the settings. known is how many campaigns the account has by then.
type waitForSettings func(known int) *settingsRead

// noSettings is the outcome of a run that reads no settings.
func noSettings(int) *settingsRead { return nil }

// judge adds the conclusions that also need the days.
func (n *settingsReader) judge(known int) {
	if l := &n.read.listing; l.Complete && len(l.Entities) == 0 && known > 0 {
		l.Complete = false
		l.Why = fmt.Sprintf("the listing of campaigns is empty, and %s are known; none of them counts as deleted",
			cli.Count(known, "campaign"))
	}
	if l := n.read.listing; !l.Complete && l.Why != "" {
		n.fail("listing", "campaigns", "incomplete", errors.New(l.Why))
	}
	n.noteOverdue()
}

// readAll reads all settings. Failures are recorded.
func (n *settingsReader) readAll(ctx context.Context, key keyProof) {
	var account sync.WaitGroup
	account.Go(func() { n.read.money = readAccount(ctx, n, key) })
	n.readSettings(ctx)
	account.Wait()
	if n.read.at == 0 {
		n.read.at = schema.InstantOf(n.s.Now())
	}
}
