package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsReaders is how many campaigns are read at the same time. The limiter of
// the key decides the speed, not this.
const settingsReaders = 4

// snapshot is what one run saw of the settings.
type snapshot struct {
	s     *syncer
	api   *extract.Client
	since schema.Instant
	at    schema.Instant
	full  bool // read archived campaigns again, too

	before     []string      // campaigns that were settled before this run
	slow       chan struct{} // closed when the reading is known to take long
	publishing bool          // all is read and laid over the history
	unreported bool          // the report could not be published while this was read
	money      *accountRead

	listing extract.Listing
	listed  map[string]bool
	stubs   map[string]bool // campaigns of the report
	known   map[string]bool // campaigns whose source settings were read before
	lines   []transform.ReportCreative

	mu        sync.Mutex // guards what the campaigns tell
	campaigns []history.Seen[schema.Campaign]
	delivery  []history.Seen[schema.Delivery]
	creatives []history.Seen[schema.Creative]
	rules     []history.Seen[schema.SourceRule]
	modes     []history.Seen[schema.SourceMode]
	whole     map[string]bool // campaigns whose creatives were listed to the end
	read      map[[2]string]bool
	bids      map[string]bool
	settled   []string
	skipped   int
	entities  []schema.EntityRead
	failures  []failure
}

// sentence tells what was read of the settings; nothing before they are.
func (n *snapshot) sentence() string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("; settings of %s read, %s", phrase.Count(len(n.campaigns), "campaign"), phrase.Count(int(n.s.versions), "new version"))
}

// context is what rows of the settings hold that the replies do not say.
func (n *snapshot) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.s.app.cfg.Account, RunID: n.s.runID}
}

// fail notes something that could not be read.
func (n *snapshot) fail(kind, id, state string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entities = append(n.entities, n.entity(kind, id, "", state, schema.Some(err.Error())))
	n.failures = append(n.failures, failure{kind + " " + id, err})
}

// unread notes fields that the service itself could not read: a warning, for the
// last known values stand.
func (n *snapshot) unread(kind, id string, fields []string) {
	for _, f := range fields {
		n.entities = append(n.entities, n.entity(kind, id, f, "unreadable", schema.Null[string]{}))
	}
}

func (n *snapshot) entity(kind, id, field, state string, message schema.Null[string]) schema.EntityRead {
	return schema.EntityRead{
		AccountID: n.s.app.cfg.Account, EntityType: kind, EntityID: id, Field: field, ReadState: state,
		Message: message, AttemptedAt: schema.InstantOf(n.s.app.now()), RunID: n.s.runID,
	}
}

// readSettings reads the listing and then every campaign that may have changed.
// What fails is noted; the others go on, unless the key is refused.
func (n *snapshot) readSettings(ctx context.Context) {
	s := n.s
	n.since = schema.InstantOf(s.app.now())
	var err error
	if n.listing, err = n.api.Campaigns(ctx); err != nil {
		n.fail("listing", "campaigns", "failed", err)
		return
	}
	if !n.listing.Complete {
		n.fail("listing", "campaigns", "incomplete", errors.New(n.listing.Why))
	}
	var due []extract.Entity
	for _, e := range n.listing.Entities {
		n.listed[e.ID] = true
		if _, settled := slices.BinarySearch(n.before, e.ID); settled && !n.full && transform.Archived(e) {
			n.skipped++
			n.settled = append(n.settled, e.ID)
			continue
		}
		due = append(due, e)
	}
	s.app.log.Info("reading settings", "campaigns", len(due), "archived_and_settled", n.skipped,
		"requests", 3*len(due), "requests_saved", 3*n.skipped, "at_least", n.atLeast(3*len(due)).String())
	if n.atLeast(3*len(due)) > 0 {
		close(n.slow)
	}
	bar := s.app.screen.progress("campaigns", len(due))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	for _, e := range due {
		g.Go(func() error {
			if gctx.Err() != nil {
				return nil
			}
			err := n.readCampaign(gctx, e)
			bar.step()
			if errors.Is(err, extract.ErrAuth) {
				return err // the key is refused: so it will be for the others
			}
			return nil
		})
	}
	_ = g.Wait() // noted where it happened
	bar.done()
	n.readReportCreatives(ctx)
	n.at = schema.InstantOf(s.app.now())
}

// readCampaign reads one campaign whole: its settings, its creatives, its
// sources. The parts are independent: one that fails keeps no other back.
func (n *snapshot) readCampaign(ctx context.Context, listed extract.Entity) error {
	c := n.context()
	detail, detailErr := n.api.Campaign(ctx, listed.ID)
	if detailErr != nil {
		n.fail("campaign", listed.ID, "failed", detailErr)
	}
	row, unread, err := transform.Campaign(listed, detail, c)
	if err != nil {
		n.fail("campaign", listed.ID, "failed", err)
		detailErr = err
	}
	delivery, deliveryUnread, deliveryErr := transform.Delivery(listed, detail, c)
	if deliveryErr != nil {
		n.fail("campaign", listed.ID, "failed", deliveryErr)
	}
	creativesErr := n.readCreatives(ctx, listed.ID)
	sources, sourcesErr := n.readSources(ctx, listed.ID)

	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		n.campaigns = append(n.campaigns, history.Seen[schema.Campaign]{Row: row, Unread: unread})
		if detailErr == nil {
			n.unread("campaign", listed.ID, unread)
		}
	}
	if deliveryErr == nil {
		n.delivery = append(n.delivery, history.Seen[schema.Delivery]{Row: delivery, Unread: deliveryUnread})
		if detailErr == nil {
			n.unread("campaign", listed.ID, deliveryUnread)
		}
	}
	whole := detailErr == nil && creativesErr == nil && sourcesErr == nil && len(unread) == 0 &&
		sources.BlockedRead && sources.AllowedRead && sources.BidsRead
	if whole && row.Status == schema.Some("archived") {
		n.settled = append(n.settled, listed.ID)
	}
	return errors.Join(detailErr, creativesErr, sourcesErr)
}

// readCreatives lists a campaign's creatives.
func (n *snapshot) readCreatives(ctx context.Context, campaign string) error {
	listing, err := n.api.Creatives(ctx, campaign)
	if err != nil {
		n.fail("creatives of", campaign, "failed", err)
		return err
	}
	if !listing.Complete {
		err = errors.New(listing.Why)
		n.fail("creatives of", campaign, "incomplete", err)
	}
	for _, e := range listing.Entities {
		row, unread, rowErr := transform.Creative(e, campaign, n.context())
		if rowErr != nil {
			n.fail("creative", e.ID, "failed", rowErr)
			err = errors.Join(err, rowErr)
			// It is there, though unreadable: it must not count as absent.
			row, unread = schema.Creative{AccountID: n.context().Account, CreativeID: e.ID}, schema.CreativeHistory.TrackedNames()
		}
		n.mu.Lock()
		n.creatives = append(n.creatives, history.Seen[schema.Creative]{Row: row, Unread: slices.Concat(unread, urls)})
		if rowErr == nil {
			n.unread("creative", e.ID, unread)
		}
		n.mu.Unlock()
	}
	if err == nil {
		n.mu.Lock()
		n.whole[campaign] = true
		n.mu.Unlock()
	}
	return err
}

// urls are the columns of a creative that only the report knows.
var urls = []string{"image_url", "icon_url"}

// readSources reads a campaign's source settings.
func (n *snapshot) readSources(ctx context.Context, campaign string) (read transform.SourceRead, err error) {
	e, err := n.api.Sources(ctx, campaign)
	if err == nil {
		read, err = transform.Sources(e, campaign, n.context())
	}
	if err != nil {
		n.fail("source settings of", campaign, "failed", err)
		return read, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.modes = append(n.modes, history.Seen[schema.SourceMode]{Row: read.Mode, Unread: append(read.ModeUnread, "bids_last_read_at")})
	for _, r := range read.Rules {
		n.rules = append(n.rules, history.Seen[schema.SourceRule]{Row: r})
	}
	n.read[[2]string{campaign, schema.RuleBlocked}] = read.BlockedRead
	n.read[[2]string{campaign, schema.RuleAllowed}] = read.AllowedRead
	n.read[[2]string{campaign, schema.RuleBid}] = read.BidsRead
	n.bids[campaign] = read.BidsRead
	n.unread("source settings", campaign, read.ModeUnread)
	for rule, ok := range map[string]bool{"blocked": read.BlockedRead, "allowed": read.AllowedRead, "bid_overrides": read.BidsRead} {
		if !ok {
			n.unread("source settings", campaign, []string{rule})
		}
	}
	return read, nil
}

// readReportCreatives asks the report for the creatives of the whole reach: for
// the addresses of their images, and for those that only the report knows.
func (n *snapshot) readReportCreatives(ctx context.Context) {
	from := n.s.plan.Reach
	err := n.readReportCreativesSince(ctx, from)
	for errors.Is(err, extract.ErrUnreachable) && from < n.s.plan.Reach+2 {
		// The first day has left the reach since the plan was made.
		from++
		err = n.readReportCreativesSince(ctx, from)
	}
	if err != nil {
		n.lines = nil
		n.fail("listing", "creatives of the report", "failed", err)
	}
}

func (n *snapshot) readReportCreativesSince(ctx context.Context, from schema.Date) error {
	n.lines = nil
	for page, err := range n.s.report.ReportCreatives(ctx, from, n.s.plan.Today, n.s.app.cfg.PageSize) {
		if err != nil {
			return err
		}
		lines, left := transform.ReportCreatives(page)
		if len(left) > 0 {
			n.fail("listing", "creatives of the report", "incomplete", &left[0].RowError)
		}
		n.lines = append(n.lines, lines...)
	}
	return nil
}

// stage lays what was seen over the stored history.
func (n *snapshot) stage(staged *load.Staged) error {
	store := n.s.store
	gone := func(is bool) history.Absence {
		if is {
			return history.Gone
		}
		return history.Unknown
	}
	complete := n.listing.Complete
	byCreative := map[string]transform.ReportCreative{}
	var campaignStubs []schema.Campaign
	var creativeStubs []schema.Creative
	account := n.context().Account
	for _, l := range n.lines {
		byCreative[l.CreativeID] = l
		if l.CampaignID != "" && !n.stubs[l.CampaignID] {
			n.stubs[l.CampaignID] = true
			campaignStubs = append(campaignStubs, schema.Campaign{AccountID: account, CampaignID: l.CampaignID})
		}
		if l.CreativeID != "" {
			creativeStubs = append(creativeStubs, schema.Creative{AccountID: account, CreativeID: l.CreativeID, CampaignID: schema.Some(l.CampaignID), ImageURL: l.ImageURL, IconURL: l.IconURL})
		}
	}
	for i := range n.creatives {
		c := &n.creatives[i]
		if l, ok := byCreative[c.Row.CreativeID]; ok {
			// A report that has no address now takes none away.
			c.Row.ImageURL, c.Row.IconURL = l.ImageURL, l.IconURL
			c.Unread = slices.DeleteFunc(c.Unread, func(name string) bool {
				return (name == "image_url" && l.ImageURL.Valid) || (name == "icon_url" && l.IconURL.Valid)
			})
		}
	}
	err := errors.Join(
		advance(n, staged, schema.CampaignHistory, nil, history.Observation[schema.Campaign]{
			Seen: n.campaigns, Stubs: campaignStubs, Patience: 2,
			Absence: func(r *schema.Campaign) history.Absence { return gone(complete && !n.listed[r.CampaignID]) },
		}),
		advance(n, staged, schema.DeliveryHistory, nil, history.Observation[schema.Delivery]{
			Seen: n.delivery, Patience: 2,
			Absence: func(r *schema.Delivery) history.Absence { return gone(complete && !n.listed[r.CampaignID]) },
		}),
		advance(n, staged, schema.CreativeHistory, append([]string{"campaign_id"}, urls...), history.Observation[schema.Creative]{
			Seen: n.creatives, Stubs: dropSeen(creativeStubs, n.creatives), Patience: 2,
			Absence: func(r *schema.Creative) history.Absence { return gone(r.CampaignID.Valid && n.whole[r.CampaignID.V]) },
		}),
		advance(n, staged, schema.SourceRuleHistory, nil, history.Observation[schema.SourceRule]{
			Seen: n.rules, Patience: 1,
			Absence: func(r *schema.SourceRule) history.Absence { return gone(n.read[[2]string{r.CampaignID, r.Rule}]) },
		}),
		advance(n, staged, schema.SourceModeHistory, []string{"bids_last_read_at"}, history.Observation[schema.SourceMode]{
			Seen: n.modes, Patience: 2,
			Absence: func(r *schema.SourceMode) history.Absence { return gone(complete && !n.listed[r.CampaignID]) },
		}),
	)
	if err != nil {
		return err
	}
	staged.PutBidsRead(n.bidsRead(store.BidsRead()))
	return nil
}

// dropSeen leaves out stubs of creatives that were read.
func dropSeen(stubs []schema.Creative, seen []history.Seen[schema.Creative]) []schema.Creative {
	read := map[string]bool{}
	for _, s := range seen {
		read[s.Row.CreativeID] = true
	}
	return slices.DeleteFunc(stubs, func(c schema.Creative) bool { return read[c.CreativeID] })
}

// advance lays an observation over one table's history and stages the result.
func advance[R any, P history.Versioned[R]](n *snapshot, staged *load.Staged, t schema.TableOf[R], untracked []string, o history.Observation[R]) error {
	h, err := load.StoredHistory(n.s.store, t)
	if err != nil {
		return err
	}
	if modes, ok := any(h.Rows).([]schema.SourceMode); ok {
		for _, m := range modes {
			n.known[m.CampaignID] = true
		}
	}
	o.Since, o.At, o.RunID = n.since, n.at, n.s.runID
	if t.Name == schema.CreativeHistory.Name {
		o.Refreshed = t.ColumnsNamed(urls...)
	}
	next, st, err := history.Advance[R, P](t, t.Tracked(untracked...), h, o)
	if err != nil {
		return err
	}
	n.s.app.log.Debug("settings laid over their history", "table", t.Name, "first_seen", st.FirstSeen, "stubs", st.Stubs, "versions", st.Versions,
		"deleted", st.Deleted, "restored", st.Restored, "filled", st.Filled, "confirmed", st.Confirmed, "unread", st.Unread, "missing", st.Missing)
	n.s.versions += st.FirstSeen + st.Stubs + st.Versions + st.Deleted + st.Restored
	if creatives, ok := any(next.Rows).([]schema.Creative); ok {
		st.Changed = n.describeStubs(creatives) || st.Changed
	}
	if !st.Changed {
		return load.PutMemory[R, P](staged, t, next)
	}
	return load.PutHistory[R, P](staged, t, next)
}

// describeStubs gives creatives that only the report knows the texts that it has,
// and says whether some are new. They are no reading of the creative, so they make no
// version either.
func (n *snapshot) describeStubs(rows []schema.Creative) (changed bool) {
	lines := map[string]*transform.ReportCreative{}
	for i := range n.lines {
		lines[n.lines[i].CreativeID] = &n.lines[i]
	}
	for i := range rows {
		r := &rows[i]
		l := lines[r.CreativeID]
		if l == nil || r.ReadState != schema.ReadStub {
			continue
		}
		for to, from := range map[*schema.Null[string]]schema.Null[string]{
			&r.Title: l.Title, &r.Message: l.Message, &r.Status: l.Status, &r.ImageURL: l.ImageURL, &r.IconURL: l.IconURL,
		} {
			if from.Valid && *to != from {
				*to, changed = from, true
			}
		}
	}
	return changed
}

// bidsRead moves on when each campaign's bids could last be read.
func (n *snapshot) bidsRead(was history.Memory) history.Memory {
	next := history.Memory{ConfirmedAt: n.at, Excepted: map[string]schema.Instant{}}
	for _, m := range n.modes {
		if id := m.Row.CampaignID; !n.bids[id] {
			next.Excepted[id] = n.lastBids(was, id)
		}
	}
	// Those that were not read in this run keep the time that they had.
	for id := range n.known {
		if _, asked := n.bids[id]; !asked {
			next.Excepted[id] = n.lastBids(was, id)
		}
	}
	return next
}

// lastBids is when a campaign's bids were last read; 0 is never.
func (n *snapshot) lastBids(was history.Memory, id string) schema.Instant {
	if !n.known[id] {
		return 0
	}
	return was.Confirmed(id)
}
