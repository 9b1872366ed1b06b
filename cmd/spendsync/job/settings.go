package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/load/settingslog"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsReaders is how many campaigns are read at the same time. The limiter of
// the key decides the speed, not this.
const settingsReaders = 4

// settings is what one run has read of the settings. What could not be read is in
// entities and failures.
type settings struct {
	since, at schema.Instant // when the reading started and ended

	listing   extract.Listing
	listed    map[string]bool // campaigns of the listing, by ID
	campaigns []history.Seen[schema.Campaign]
	delivery  []history.Seen[schema.Delivery]
	creatives []history.Seen[schema.Creative]
	rules     map[string][]sourceRule // by campaign
	modes     []history.Seen[schema.SourceMode]
	allListed map[string]bool // campaigns whose creatives were listed to the end
	// gone are campaigns and creatives that no listing has and for which the service answers 404, with the instant
	// at which each was last seen.
	gone      map[string]schema.Instant
	alone     map[string]bool        // creatives that no listing has, and that were read by their ID
	spent     map[string]schema.Date // campaigns and creatives with spend, and the last such day; set by livesByReport
	rulesRead map[[2]string]bool     // by campaign and kind: whether these rules could be read
	// newSources are the replies about sources that differ from the last kept ones, by campaign, until confirmRules
	// has judged them.
	newSources map[string][]byte
	oddSources map[string]bool // campaigns whose source settings were not understood in full
	bidsRead   map[string]bool // by campaign: whether its bids could be read; absent: it was not read

	leftOut  map[string]map[string]leftOut // by kind and ID of an entity
	nulls    map[string]map[string]bool    // by kind: columns that came as null
	standing []string                      // fields that are unread, whose last known values stand
	words    []string                      // fields with a value that the description does not know
	judged   int                           // those of them that the whole run has shown to be unread

	detailed map[string]bool            // campaigns whose single read was received
	readKeys map[string]map[string]bool // by stream: keys that values were read from

	reported []transform.ReportCreative // creatives that the report names
	money    *accountRead               // nil: it could not be read

	unread      unreadCounter   // the fields that were not understood
	settled     []string        // archived and read, now or before
	readNow     map[string]bool // those of settled that were read in this run
	unclear     map[string]bool // those of readNow that were not understood in full
	skipped     int             // settled campaigns that were not read
	entities    []schema.EntityRead
	undescribed []schema.UnknownField // keys that no column shows
	failures    []failure

	replies *settingslog.Collector // those that are new; nil: none are kept

	left    int      // listed campaigns that the budget did not reach
	overdue []string // those of them that were not read for a day or longer
}

// readAny reports whether the settings are worth a generation of their own. A run that was
// stopped must have read a campaign.
func (s *settings) readAny(stopped bool) bool {
	return s.listing.Complete && !stopped || len(s.campaigns) > 0
}

// settingsRead is the outcome of reading the settings. If err is not nil, nothing of them may
// be published.
type settingsRead struct {
	settings *settings
	err      error
}

// settingsReader reads the settings concurrently into a value.
type settingsReader struct {
	run    *session
	list   *campaignList
	before []string // campaigns that were settled before this run
	budget *budget
	stored storedCampaigns // before this run
	asked  int             // requests for entities that listings lack

	mu   sync.Mutex // guards the fields below
	read *settings
}

func newSettingsReader(r *session) *settingsReader {
	return &settingsReader{
		run: r, before: r.store.Account().SettledFor(r.Version), budget: r.newBudget(),
		read: &settings{
			listed: map[string]bool{}, allListed: map[string]bool{}, rules: map[string][]sourceRule{},
			gone: map[string]schema.Instant{}, alone: map[string]bool{}, newSources: map[string][]byte{},
			oddSources: map[string]bool{},
			rulesRead:  map[[2]string]bool{}, bidsRead: map[string]bool{},
			readNow: map[string]bool{}, unclear: map[string]bool{},
			leftOut:  map[string]map[string]leftOut{"campaign": {}, "creative": {}},
			nulls:    map[string]map[string]bool{"campaign": {}, "creative": {}},
			detailed: map[string]bool{}, readKeys: map[string]map[string]bool{},
			replies: r.store.CollectReplies(),
		},
	}
}

// beginSettings starts to read the settings beside the days, once it is proven whose the key
// is. The function that it returns waits for them.
func (r *session) beginSettings(ctx context.Context, key func() keyProof) (wait waitForSettings) {
	n, done := newSettingsReader(r), make(chan struct{})
	read := &settingsRead{settings: n.read}
	r.asking.Go(func() {
		defer close(done)
		p := key()
		if err := cmp.Or(p.meErr, p.err); err != nil {
			n.fail("account", "me", "failed", err)
		}
		if read.err = p.err; p.err == nil {
			n.stored, n.list = p.stored, p.list
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
			phrase.Count(known, "campaign"))
	}
	if l := n.read.listing; !l.Complete && l.Why != "" {
		n.fail("listing", "campaigns", "incomplete", errors.New(l.Why))
	}
	n.notUnderstood()
	n.noteOverdue()
}

// readAll reads all settings. Failures are recorded.
func (n *settingsReader) readAll(ctx context.Context, key keyProof) {
	var account sync.WaitGroup
	account.Go(func() {
		_ = n.run.traced(ctx, "read account", func(ctx context.Context) error {
			n.read.money = n.readAccount(ctx, key)
			return nil
		})
	})
	_ = n.run.traced(ctx, "read settings", func(ctx context.Context) error { n.readSettings(ctx); return nil })
	account.Wait()
	if n.read.at == 0 {
		n.read.at = schema.InstantOf(n.run.Now())
	}
}

// context returns the columns of settings rows that the replies lack.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.run.Account, RunID: n.run.RunID, Service: n.run.Service}
}

// keep keeps the service's reply about an entity.
func (n *settingsReader) keep(kind, id string, reply []byte) {
	n.read.replies.Add(settingslog.Reply{At: schema.InstantOf(n.run.Now()), Kind: kind, ID: id, Reply: string(reply)})
}

// fail records something that could not be read. The received part of a reply is kept. A read that a signal or the
// budget ended is not a failure: the next run reads it.
func (n *settingsReader) fail(kind, id, state string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	reply := extract.TakeReply(err)
	if reply == nil && kind == extract.KindCampaign && !errors.Is(err, extract.ErrContract) {
		reply = []byte("null") // so a replay does not mistake an older reply for the current one
	}
	n.keep(kind, id, reply)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.entities = append(n.read.entities, n.entity(kind, id, "", state, schema.Some(err.Error())))
	n.read.failures = append(n.read.failures, failure{what: kind + " " + id, err: err})
}

// note records the fields of an entity that could not be read, whose last known values stay: a warning if the service
// itself could not read them, and counted if they were not understood. columns are those that the entity should have.
func (n *settingsReader) note(kind, id string, columns []string, reading transform.Decoded) {
	entity := kind
	if kind == deliveryKind {
		entity = "campaign"
	}
	for _, f := range reading.Unread {
		n.read.entities = append(n.read.entities, n.entity(entity, id, f, "unreadable", reading.Message(f)))
		if !slices.Contains(reading.Withheld, f) {
			n.read.standing = append(n.read.standing, entity+" "+id+" "+f)
		}
	}
	for _, e := range reading.Unnamed {
		n.read.words = append(n.read.words, entity+" "+id+" "+e.Column)
	}
	if left := n.read.leftOut[kind]; left != nil {
		left[id] = leftOutOf(reading)
		for _, column := range reading.Null {
			n.read.nulls[kind][column] = true
		}
	}
	n.read.unread.add(kind, id, columns, reading)
	n.readKeys(entity, reading)
	for _, text := range reading.Texts {
		n.run.Log.Warn("a text of the settings is not as it should be",
			"kind", kind, "id", id, "column", text.Column, "value", text.Value, "why", text.Reason)
	}
}

// readKeys records from which keys of an entity values were read.
func (n *settingsReader) readKeys(stream string, reading transform.Decoded) {
	keys := n.read.readKeys[stream]
	if keys == nil {
		keys = map[string]bool{}
		n.read.readKeys[stream] = keys
	}
	for _, key := range reading.Read {
		keys[key] = true
	}
}

func (n *settingsReader) entity(kind, id, field, state string, message schema.Null[string]) schema.EntityRead {
	return schema.EntityRead{
		AccountID: n.run.Account, EntityType: kind, EntityID: id, Field: field, ReadState: state,
		Message: message, AttemptedAt: schema.InstantOf(n.run.Now()), RunID: n.run.RunID,
	}
}

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
	memory, keyOf := n.run.store.Account().Memory[t.Name], history.KeyTextOf(t)
	for _, e := range n.read.listing.Entities {
		n.read.listed[e.ID] = true
		n.keep(listedCampaign, e.ID, e.Raw)
		if _, settled := slices.BinarySearch(n.before, e.ID); settled && !n.run.Full && transform.Archived(n.run.Service, e) {
			n.read.skipped++
			n.read.settled = append(n.read.settled, e.ID)
			continue
		}
		c := dueCampaign{Entity: e}
		if n.stored[e.ID] {
			c.confirmed = memory.Confirmed(keyOf(&schema.Campaign{AccountID: n.run.Account, CampaignID: e.ID}))
		}
		due = append(due, c)
	}
	slices.SortStableFunc(due, func(a, b dueCampaign) int { return cmp.Compare(a.confirmed, b.confirmed) })
	return due
}

// readCampaign reads one listed campaign: its settings, its creatives, its sources. The
// parts are independent: one that fails keeps no other back.
func (n *settingsReader) readCampaign(ctx context.Context, listed extract.Entity) error {
	detail, err := n.run.API.Campaign(ctx, listed.ID)
	n.keep(extract.KindCampaign, listed.ID, detail.Raw)
	if err != nil {
		n.fail("campaign", listed.ID, "failed", err)
	}
	return n.readParts(ctx, listed, detail, err)
}

// readUnlisted reads a campaign that the listing lacks and that answers by itself.
func (n *settingsReader) readUnlisted(ctx context.Context, a found) error {
	n.keepUnlisted(a)
	return n.readParts(ctx, extract.Entity{ID: a.id}, a.entity, nil)
}

// readParts stores the settings of a campaign, and reads its creatives and its sources.
func (n *settingsReader) readParts(ctx context.Context, listed, detail extract.Entity, detailErr error) error {
	creativesUnderstood, creativesErr := n.readCreatives(ctx, listed.ID)
	sources, sourcesErr := n.readSources(ctx, listed.ID)
	row, reading, err := n.takeCampaign(listed, detail, detailErr)

	n.mu.Lock()
	defer n.mu.Unlock()
	failed := errors.Join(detailErr, err, creativesErr, sourcesErr)
	withheld := len(reading.Withheld) > 0 || len(sources.Withheld) > 0 // next time it may be read
	if failed == nil && !withheld && row.Status == schema.Some("archived") {
		n.read.settled = append(n.read.settled, listed.ID)
		n.read.readNow[listed.ID] = true
		n.read.unclear[listed.ID] = len(reading.Unread) > 0 || !creativesUnderstood || len(sources.Unread) > 0
	}
	return failed
}

// takeCampaign stores a campaign from the listing and the single read.
func (n *settingsReader) takeCampaign(
	listed, detail extract.Entity, detailErr error,
) (row schema.Campaign, reading transform.Decoded, err error) {
	id := cmp.Or(listed.ID, detail.ID)
	row, reading, err = transform.Campaign(listed, detail, n.context())
	if err != nil {
		n.fail("campaign", id, "failed", err)
	}
	delivery, deliveryReading, deliveryErr := transform.Delivery(listed, detail, n.context())
	if deliveryErr != nil {
		n.fail("campaign", id, "failed", deliveryErr)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		n.read.campaigns = append(n.read.campaigns, history.Seen[schema.Campaign]{Row: row, Unread: reading.Unread})
		if detailErr == nil {
			n.read.detailed[id] = true
			n.note("campaign", id, schema.CampaignHistory.TrackedNames(), reading)
		}
	}
	if deliveryErr == nil {
		n.read.delivery = append(n.read.delivery,
			history.Seen[schema.Delivery]{Row: delivery, Unread: deliveryReading.Unread})
		if detailErr == nil {
			n.note(deliveryKind, id, []string{"delivery_status"}, deliveryReading)
		}
	}
	return row, reading, err
}

// readCreatives lists a campaign's creatives. They are understood where every
// field was.
func (n *settingsReader) readCreatives(ctx context.Context, campaign string) (understood bool, err error) {
	listing, err := n.run.API.Creatives(ctx, campaign)
	if err != nil {
		n.fail("creatives of", campaign, "failed", err)
		return false, err
	}
	understood = true
	if !listing.Complete {
		err = errors.New(listing.Why)
		n.fail("creatives of", campaign, "incomplete", err)
	}
	for _, e := range listing.Entities {
		unread, rowErr := n.takeCreative(e, campaign)
		err = errors.Join(err, rowErr)
		understood = understood && !unread
	}
	if err == nil {
		n.mu.Lock()
		n.read.allListed[campaign] = true
		n.mu.Unlock()
	}
	return understood, err
}

// takeCreative stores a creative of a campaign, and reports whether some of it is unread.
func (n *settingsReader) takeCreative(e extract.Entity, campaign string) (unread bool, err error) {
	n.keepCreative(e, campaign)
	row, reading, err := transform.Creative(e, campaign, n.context())
	if err != nil {
		n.fail("creative", e.ID, "failed", err)
		// It is there, though unreadable: it must not count as absent.
		row = schema.Creative{AccountID: n.run.Account, CreativeID: e.ID}
		reading.Unread = schema.CreativeHistory.FieldNames()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.creatives = append(n.read.creatives,
		history.Seen[schema.Creative]{Row: row, Unread: slices.Concat(reading.Unread, imageURLs)})
	if err == nil {
		n.note("creative", e.ID, creativeColumns, reading)
	}
	return len(reading.Unread) > 0, err
}

// keepCreative keeps the service's reply about a creative.
func (n *settingsReader) keepCreative(e extract.Entity, campaign string) {
	n.read.replies.Add(settingslog.Reply{At: schema.InstantOf(n.run.Now()), Kind: extract.KindCreative, Of: campaign,
		ID: e.ID, Reply: string(e.Raw)})
}

// readSources reads a campaign's source settings.
func (n *settingsReader) readSources(ctx context.Context, campaign string) (read transform.SourceRead, err error) {
	e, err := n.run.API.Sources(ctx, campaign)
	if err == nil {
		read, err = transform.Sources(e, campaign, n.context())
	}
	if err != nil {
		n.keep(extract.KindSources, campaign, e.Raw)
		n.fail("source settings of", campaign, "failed", err)
		return read, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.read
	if !s.replies.Has(extract.KindSources, campaign, e.Raw) {
		s.newSources[campaign] = e.Raw
	}
	unread := []string{"bids_last_read_at"}
	if slices.Contains(read.Unread, "source_mode") {
		unread = append(unread, "source_mode")
	}
	s.oddSources[campaign] = len(read.Unread) > len(read.Withheld)
	s.modes = append(s.modes, history.Seen[schema.SourceMode]{Row: read.Mode, Unread: unread})
	s.rules[campaign] = rulesIn(read)
	s.rulesRead[[2]string{campaign, schema.RuleBlocked}] = read.BlockedRead
	s.rulesRead[[2]string{campaign, schema.RuleAllowed}] = read.AllowedRead
	s.rulesRead[[2]string{campaign, schema.RuleBid}] = read.BidsRead
	s.rulesRead[[2]string{campaign, schema.RuleOptimized}] = read.OptimizedRead
	s.bidsRead[campaign] = read.BidsRead
	n.note("source settings", campaign, []string{"source_mode", "blocked", "allowed", "bid_overrides"}, read.Decoded)
	return read, nil
}

// creativeColumns are what the API states of every creative: the report has the addresses of
// its images, its campaign is the one whose list it is in, and another version in review
// has only one that was edited while it ran.
var creativeColumns = slices.DeleteFunc(schema.CreativeHistory.TrackedNames(), func(name string) bool {
	return strings.HasPrefix(name, "pending_")
})

// imageURLs are the columns of a creative that only the report knows.
var imageURLs = schema.Names(schema.CreativeHistory.ColumnsThatAre(schema.Refreshed))

// readReportCreatives asks the report for the creatives of the whole reach: for
// the addresses of their images, and for those that only the report knows.
func (n *settingsReader) readReportCreatives(ctx context.Context) {
	from := n.run.plan.Reach
	err := n.readReportCreativesSince(ctx, from)
	for errors.Is(err, extract.ErrUnreachable) && from < n.run.plan.Reach+maxOutOfReach {
		// The first day has left the reach since the plan was made, or the service reaches
		// less far than it says.
		from++
		err = n.readReportCreativesSince(ctx, from)
	}
	if err != nil {
		n.read.reported = nil
		n.fail("listing", "creatives of the report", "failed", err)
	}
}

func (n *settingsReader) readReportCreativesSince(ctx context.Context, from schema.Date) error {
	n.read.reported = nil
	for page, err := range n.run.Report.ReportCreatives(ctx, from, n.run.plan.Today, n.run.Plan.PageSize) {
		if err != nil {
			return err
		}
		lines, left := transform.ReportCreatives(n.run.Service, page)
		if len(left) > 0 {
			n.fail("listing", "creatives of the report", "incomplete", &left[0].RowError)
		}
		n.read.reported = append(n.read.reported, lines...)
	}
	return nil
}

// atLeast is how long that many requests take under the key's limit: the first
// minute's worth goes at once.
func (n *settingsReader) atLeast(requests int) time.Duration {
	minutes := max(0, requests-1) / n.run.RequestsPerMinute
	return time.Duration(minutes) * time.Minute
}
