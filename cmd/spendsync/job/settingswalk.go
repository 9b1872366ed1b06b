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

	"spendsync/extract"
	"spendsync/load/history"
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
	n.read.since, n.read.listing = n.list.since, n.list.listing
	if err := n.list.err; err != nil {
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
	reported.Go(func() { n.readReportCreatives(ctx) })
	unlisted := n.askForCampaigns(ctx, missing)
	requests := 3 * (len(due) + len(unlisted))
	n.run.Log.Info("reading settings", "campaigns", len(due)+len(unlisted), "archived_and_settled", n.read.skipped,
		"requests", requests, "requests_saved", 3*n.read.skipped, "at_least", n.atLeast(requests).String())
	bar := n.run.progress("campaigns", len(due)+len(unlisted))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	read := func(c dueCampaign, parts func(context.Context) error) {
		if gctx.Err() != nil || n.budget.spent() {
			n.leave(c)
			return
		}
		g.Go(func() error {
			err := parts(gctx)
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
	for _, c := range due {
		read(c, func(ctx context.Context) error { return n.readCampaign(ctx, c.Entity) })
	}
	for _, a := range unlisted {
		read(dueCampaign{a.entity, schema.InstantOf(n.run.Now())}, func(ctx context.Context) error {
			return n.readUnlisted(ctx, a)
		})
	}
	_ = g.Wait() // noted where it happened
	bar.Done()
	n.readUnlistedCreatives(ctx)
	n.confirmRules(ctx)
	reported.Wait()
	n.read.at = schema.InstantOf(n.run.Now())
}

// dueCampaign is a campaign to read, with the instant of its last confirmed read, or 0.
type dueCampaign struct {
	extract.Entity
	confirmed schema.Instant
}

// due returns the listed campaigns that may have changed, which is all but the settled ones.
// Those confirmed longest ago come first.
func (n *settingsReader) due() (due []dueCampaign) {
	t := schema.CampaignHistory
	memory, keyOf := n.run.store.Account().Confirmations[t.Name], history.KeyTextOf(t)
	for _, e := range n.read.listing.Entities {
		c := entityOf(n.read.campaigns, e.ID)
		c.isListed = true
		_, settled := slices.BinarySearch(n.before, e.ID)
		if settled && !n.run.Full && transform.Archived(n.run.Service, e) {
			n.read.skipped++
			c.isSettled = true
			continue
		}
		d := dueCampaign{Entity: e}
		if n.stored[e.ID] {
			d.confirmed = memory.Confirmed(keyOf(&schema.Campaign{AccountID: n.run.Account, CampaignID: e.ID}))
		}
		due = append(due, d)
	}
	slices.SortStableFunc(due, func(a, b dueCampaign) int { return cmp.Compare(a.confirmed, b.confirmed) })
	return n.ofEachStatus(due)
}

// atLeast returns the least time that the requests take under the key's limit. The first minute's worth is sent at
// once.
func (n *settingsReader) atLeast(requests int) time.Duration {
	minutes := max(0, requests-1) / n.run.RequestsPerMinute
	return time.Duration(minutes) * time.Minute
}
