package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsReaders is how many campaigns are read at the same time. It does not decide the speed: the rate limit of the
// API key does.
const settingsReaders = 4

// beginSettings starts to read the settings in the background. The reading begins once the account of the API key is
// proven. The result is a function that waits until all settings are read. Its parameter is the number of campaigns
// that are known to be the account's. The caller may call it once the future passed as proven is complete.
func beginSettings(ctx context.Context, r *session, key *future[keyProof], proven *future[provenReport]) (
	wait func(campaigns int) *settings) {
	n := &settingsReader{s: r, settledBefore: r.store.Account().SettledCampaigns(), settings: newSettings(),
		short:  map[string]openEntity{},
		budget: &budget{clock: r.clock, ends: r.clock.elapsed() + r.SettingsBudget, lasts: r.SettingsBudget}}
	done := async(r, func() bool {
		p := key.wait()
		if err := cmp.Or(p.meErr, p.err); err != nil {
			n.fail("account", "me", "failed", err)
		}
		if n.settings.err = p.err; p.err == nil {
			n.list = p.list
			if n.stored = p.stored; r.trial != nil {
				n.stored = nil // a trial requests no campaigns besides the listed ones
			}
			n.readAll(ctx, p, proven)
		}
		return true
	})
	return func(campaigns int) *settings {
		if done.wait(); n.settings.err == nil {
			n.judge(campaigns)
		}
		return n.settings
	}
}

// readAll reads the balance, the limits and all campaigns. It records what could not be read.
func (n *settingsReader) readAll(ctx context.Context, key keyProof, proven *future[provenReport]) {
	var account sync.WaitGroup
	account.Go(func() { n.settings.money = readAccount(ctx, n, key) })
	within, cancel := n.budget.bound(ctx)
	defer cancel()
	if err := n.readSettings(within, proven); err != nil {
		n.fail("listing", "campaigns", "failed", err)
	}
	account.Wait()
	n.settings.at = schema.InstantOf(n.s.Now())
}

// readSettings reads every campaign that may have changed, until the time for the settings is over. If a campaign
// cannot be read, that is recorded, and the others are still read, unless the service refuses the API key.
func (n *settingsReader) readSettings(ctx context.Context, proven *future[provenReport]) (err error) {
	list := n.list.wait()
	n.settings.since, n.settings.listing = schema.InstantOf(n.s.clock.at(list.began)), list.listing
	if list.err != nil {
		return list.err
	}
	if n.confirmed, err = load.StoredReadings(n.s.store); err != nil {
		return err
	}
	missing, err := n.unlistedCampaigns()
	if err != nil {
		return err
	}
	due := n.due()
	var reported sync.WaitGroup
	reported.Go(n.readReportCreatives)
	due = append(due, n.askForCampaigns(ctx, missing)...)
	n.s.Log.Info("reading settings", "campaigns", len(due), "archived_and_settled", n.settings.skipped)
	n.readCampaigns(ctx, due)
	n.readUnlistedCreatives(ctx)
	ruleKind{}.confirm(ctx, n)
	reported.Wait()
	n.readReported(ctx, proven)
	return nil
}

// readCampaigns reads the given campaigns. The campaigns that it does not reach within the time for the settings are
// left to the next run.
func (n *settingsReader) readCampaigns(ctx context.Context, due []dueCampaign) {
	bar := n.s.progress("campaigns", len(due), n.s.API)
	defer bar.Done()
	n.inParallel(ctx, len(due), func(ctx context.Context, i int) error {
		err := context.Canceled
		if ctx.Err() == nil && !n.budget.spent() {
			err = n.readCampaign(ctx, due[i])
			bar.Step()
		}
		if errors.Is(err, context.Canceled) && n.budget.spent() { // other reasons are recorded already
			n.leave(campaignKind.name, due[i].ID, due[i].confirmed)
		}
		return err
	})
}

// inParallel calls a function with each index below count, in at most settingsReaders goroutines at a time. If the
// service refuses the API key itself, inParallel cancels the other calls and returns true: they would fail, too. Other
// errors are ignored.
func (n *settingsReader) inParallel(ctx context.Context, count int, read func(context.Context, int) error) (
	isKeyRefused bool) {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	for i := range count {
		g.Go(func() error {
			if err := read(gctx, i); n.isKeyRefused(gctx, err) {
				return err
			}
			return nil
		})
	}
	return g.Wait() != nil
}

// isKeyRefused reports whether the service refuses the API key itself. If a request was refused, it asks for the key's
// account: if that is refused, too, the key is the cause.
func (n *settingsReader) isKeyRefused(ctx context.Context, err error) bool {
	if errors.Is(err, extract.ErrAuth) {
		_, err = n.s.API.Me(ctx)
	}
	return errors.Is(err, extract.ErrAuth)
}

// readCampaign reads all parts of one campaign. If one part fails, the others are still read.
func (n *settingsReader) readCampaign(ctx context.Context, c dueCampaign) error {
	var failed error
	for i, p := range campaignParts {
		err := n.readPart(ctx, p, c)
		if i == 0 && errors.Is(err, extract.ErrNotFound) && !n.stored[c.ID] {
			return nil // a new campaign that is listed but not found by its ID may be another account's
		}
		failed = errors.Join(failed, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if failed != nil {
		return failed
	}
	read := readingsOf(n.settings, schema.CampaignHistory)[c.ID]
	mode := readingsOf(n.settings, schema.SourceModeHistory)[c.ID]
	withheld := len(read.Withheld)+len(mode.Withheld) > 0 // whether the next run must ask again for some fields
	n.settings.campaign(c.ID).isSettled = !withheld && read.row.Status == schema.Some("archived")
	return nil
}

// readPart requests one part of a campaign, such as its creatives, and decodes the entities in the reply.
func (n *settingsReader) readPart(ctx context.Context, p campaignPart, c dueCampaign) error {
	listing, err := p.ask(ctx, n.s.API, c)
	n.look(p.name, c.ID)
	switch {
	case err != nil:
		n.fail(p.name, c.ID, "failed", err)
		if errors.Is(err, extract.ErrNotFound) && !n.stored[c.ID] {
			return err
		}
	case !listing.Complete:
		err = errors.New(listing.Why)
		n.fail(p.name, c.ID, "incomplete", err)
	}
	for _, e := range listing.Entities {
		err = errors.Join(err, p.read(n, transform.Reply{Listed: c.Entity, Own: e, Campaign: c.ID}))
	}
	if err == nil && p.whole != "" {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.settings.campaign(c.ID).whole[p.whole] = true
	}
	return err
}

// readReportCreatives adds the report's list of creatives to the settings. Only this list has the addresses of the
// images. It may have creatives that the advertiser API does not show.
func (n *settingsReader) readReportCreatives() {
	l := n.s.labels()
	if l.err != nil {
		n.fail("listing", "creatives of the report", "failed", l.err)
		return
	}
	if len(l.left) > 0 {
		n.fail("listing", "creatives of the report", "incomplete", l.left[0])
	}
	n.settings.reported = slices.Clone(l.lines)
}

// dueCampaign is a campaign that a run is going to read.
type dueCampaign struct {
	extract.Entity                 // its entry in the key's list; only the ID if it is not listed
	own            *extract.Entity // its own reply; nil: not yet requested
	confirmed      schema.Instant  // when the campaign was last confirmed; 0: never
}

// due returns the listed campaigns that this run reads. It skips archived campaigns that were already read in full,
// unless this is a full run. The campaign whose last confirmation is oldest comes first. A trial reads only the first
// campaign of each status.
func (n *settingsReader) due() (due []dueCampaign) {
	for _, e := range n.settings.listing.Entities {
		c := n.settings.campaign(e.ID)
		c.isListed = true
		_, settled := slices.BinarySearch(n.settledBefore, e.ID)
		if settled && !n.s.Full && transform.Archived(n.s.Service, e) {
			n.settings.skipped++
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

// mostTried is how many campaigns a trial reads at most.
const mostTried = 8

// leave counts a campaign or creative as left to the next run. The last parameter is the time when it was last read, or
// 0 if it was never read.
func (n *settingsReader) leave(kind, id string, confirmed schema.Instant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settings.left[kind]++
	since, first := confirmed.Time(), n.s.store.Account().Since
	if confirmed == 0 { // never read: count from the account's first run
		since = (first + schema.ReachDays).Start()
	}
	if first != 0 && n.s.Now().Sub(since) >= overdueAfter {
		n.settings.overdue[kind] = append(n.settings.overdue[kind], id)
	}
}

// judge adds the findings about the lists of entities and about campaigns that were not reached. It runs after the days
// are read, because they show how many campaigns the account has.
func (n *settingsReader) judge(campaigns int) {
	l := &n.settings.listing
	if l.Complete && len(l.Entities) == 0 && campaigns > 0 {
		l.Complete = false
		l.Why = fmt.Sprintf("the listing of campaigns is empty, and %s are known; none of them counts as deleted",
			cli.Count(campaigns, "campaign"))
	}
	if !l.Complete && l.Why != "" {
		n.fail("listing", "campaigns", "incomplete", errors.New(l.Why))
	}
	for _, kind := range slices.Sorted(maps.Keys(n.settings.unlisted)) {
		ids := n.settings.unlisted[kind]
		note := noteName("settings", kind, "unlisted")
		n.settings.findings = append(n.settings.findings, finding{what: "listing " + kind + "s",
			notes: []string{note}, size: int64(len(ids)), err: fmt.Errorf("the listing lacks %s, which the service "+
				"has: asked for one by one, it answers, and its history goes on. The listing may lack new ones, too; "+
				"'spendsync repair accept %s' accepts up to %d", someOf(kind, ids), note, len(ids))})
	}
	for _, kind := range slices.Sorted(maps.Keys(n.settings.overdue)) {
		overdue := n.settings.overdue[kind]
		n.settings.findings = append(n.settings.findings, finding{what: "settings", err: fmt.Errorf(
			"%s not read for a day or longer, for example %s: a run does not reach all of them, it reads settings for "+
				"at most %s and requests at most %s one by one", cli.Count(len(overdue), kind), slices.Min(overdue),
			n.budget.lasts, cli.Count(n.s.RequestsPerMinute, creativeKind.name))})
	}
}
