package job

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// readCampaign reads one listed campaign: its settings, its creatives, its sources. The
// parts are independent: one that fails keeps no other back.
func (n *settingsReader) readCampaign(ctx context.Context, listed extract.Entity) error {
	detail, err := n.s.API.Campaign(ctx, listed.ID)
	if err != nil {
		n.fail("campaign", listed.ID, "failed", err)
	}
	if errors.Is(err, extract.ErrNotFound) && !n.stored[listed.ID] {
		return nil // listed to one key and unknown to another: it may be another account's
	}
	return n.readParts(ctx, listed, detail, err)
}

// readUnlisted reads a campaign that the listing lacks and that answers by itself.
func (n *settingsReader) readUnlisted(ctx context.Context, a found) error {
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
		c := entityOf(n.read.campaigns, listed.ID)
		c.isSettled, c.isRead = true, true
		c.isUnclear = len(reading.Unread) > 0 || !creativesUnderstood || len(sources.Unread) > 0
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
	c := entityOf(n.read.campaigns, id)
	c.isSingle = detailErr == nil
	if err == nil {
		c.campaign = &history.Seen[schema.Campaign]{Row: row, Unread: reading.Unread}
	}
	if err == nil && c.isSingle {
		c.left = leftOutOf(reading)
		n.note("campaign", id, schema.CampaignHistory.TrackedNames(), reading)
	}
	if deliveryErr == nil {
		c.delivery = &history.Seen[schema.Delivery]{Row: delivery, Unread: deliveryReading.Unread}
	}
	if deliveryErr == nil && c.isSingle {
		n.note(deliveryKind, id, []string{"delivery_status"}, deliveryReading)
	}
	return row, reading, err
}

// readCreatives lists a campaign's creatives. They are understood where every
// field was.
func (n *settingsReader) readCreatives(ctx context.Context, campaign string) (understood bool, err error) {
	listing, err := n.s.API.Creatives(ctx, campaign)
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
		unread, rowErr := n.takeCreative(n.wholeCreative(ctx, e, campaign), campaign)
		err = errors.Join(err, rowErr)
		understood = understood && !unread
	}
	if err == nil {
		n.mu.Lock()
		entityOf(n.read.campaigns, campaign).allCreatives = true
		n.mu.Unlock()
	}
	return understood, err
}

// mostInVain limits the single reads of creatives that bring no more than their list did; drafts, which may be
// incomplete, have a limit of their own. Beyond it the run reads no further creative by itself.
const mostInVain = 3

// creativeContent are the columns that a creative has unless it is a draft.
var creativeContent = []string{"title", "message", "link", "icon_id"}

// readCreative is a creative as the service returned it, with its transformed row.
type readCreative struct {
	extract.Entity
	row     schema.Creative
	reading transform.Decoded
	err     error // it is not readable
}

func (n *settingsReader) readCreative(e extract.Entity, campaign string) readCreative {
	row, reading, err := transform.Creative(e, campaign, n.context())
	return readCreative{e, row, reading, err}
}

// lacks counts the fields that a creative has and this reply does not.
func (c *readCreative) lacks() (fields int) {
	if c.err != nil {
		return math.MaxInt
	}
	for _, column := range c.reading.Unread {
		if !c.reading.Message(column).Valid { // it is not there, rather than not understood
			fields++
		}
	}
	for _, column := range creativeContent {
		if slices.Contains(c.reading.Missing, column) {
			fields++
		}
	}
	return fields
}

// wholeCreative returns a listed creative. If the list lacks fields that a creative has, it reads the creative alone,
// and returns that reply if it has more of them.
func (n *settingsReader) wholeCreative(ctx context.Context, e extract.Entity, campaign string) readCreative {
	listed := n.readCreative(e, campaign)
	missing, inVain := listed.lacks(), &n.inVain
	if listed.row.Status == schema.Some("draft") {
		inVain = &n.draftsInVain
	}
	if missing == 0 || n.budget.spent() || inVain.Load() >= mostInVain {
		return listed
	}
	entity, err := n.s.API.Creative(ctx, e.ID)
	if err != nil {
		n.fail("creative", e.ID, "failed", err)
	} else if alone := n.readCreative(entity, campaign); alone.lacks() < missing {
		return alone
	}
	inVain.Add(1)
	return listed
}

// takeCreative stores a creative of a campaign, and reports whether some of it is unread.
func (n *settingsReader) takeCreative(c readCreative, campaign string) (unread bool, err error) {
	n.mu.Lock()
	e := entityOf(n.read.creatives, c.ID)
	if c.err == nil && e.creative != nil {
		c.err = errors.New("two lists of creatives have it")
	}
	n.mu.Unlock()
	if c.err != nil {
		n.fail("creative", c.ID, "failed", c.err)
		// It is there, though unreadable: it must not count as absent.
		c.row = schema.Creative{AccountID: n.s.Account, CreativeID: c.ID}
		c.reading.Unread = schema.CreativeHistory.FieldNames()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	e.creative = &history.Seen[schema.Creative]{Row: c.row, Unread: slices.Concat(c.reading.Unread, imageURLs)}
	if c.err == nil {
		e.left = leftOutOf(c.reading)
		n.note("creative", c.ID, creativeColumns, c.reading)
	}
	return len(c.reading.Unread) > 0, c.err
}

// readSources reads a campaign's source settings.
func (n *settingsReader) readSources(ctx context.Context, campaign string) (read transform.SourceRead, err error) {
	e, err := n.s.API.Sources(ctx, campaign)
	if err == nil {
		read, err = transform.Sources(e, campaign, n.context())
	}
	if err != nil {
		n.fail("source settings of", campaign, "failed", err)
		return read, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	sources := &readSources{rules: rulesIn(read), isOdd: len(read.Unread) > len(read.Withheld), kinds: map[string]bool{
		schema.RuleBlocked: read.BlockedRead, schema.RuleAllowed: read.AllowedRead,
		schema.RuleBid: read.BidsRead, schema.RuleOptimized: read.OptimizedRead,
	}}
	unread := []string{"bids_last_read_at"}
	if slices.Contains(read.Unread, "source_mode") {
		unread = append(unread, "source_mode")
	}
	sources.mode = history.Seen[schema.SourceMode]{Row: read.Mode, Unread: unread}
	entityOf(n.read.campaigns, campaign).sources = sources
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
// the addresses of their images, and for those that only the report knows. Like a day, a list that moves while it is
// paged is read again. A report that is known to give no creative_id has no such list.
func (n *settingsReader) readReportCreatives(ctx context.Context) {
	if slices.Contains(n.s.store.Account().Ask.Unknown(), "creative_id") {
		return
	}
	from, reads := n.s.plan.Reach, 1
	for {
		err := n.readReportCreativesSince(ctx, from)
		_, isUnproven := errors.AsType[*extract.UnprovenError](err)
		switch {
		case err == nil:
			return
		case errors.Is(err, extract.ErrUnreachable) && from < n.s.plan.Reach+maxOutOfReach:
			// The first day is no longer within reach: time has passed since the plan was made, or the reach is
			// shorter than the service states.
			from++
		case isUnproven && reads < maxReads:
			reads++
		default:
			n.read.reported = nil
			n.fail("listing", "creatives of the report", "failed", err)
			return
		}
	}
}

func (n *settingsReader) readReportCreativesSince(ctx context.Context, from schema.Date) error {
	n.read.reported = nil
	for page, err := range n.s.Report.ReportCreatives(ctx, from, n.s.plan.Today, n.s.Plan.PageSize) {
		if err != nil {
			return err
		}
		lines, left := transform.ReportCreatives(n.s.Service, page)
		if len(left) > 0 {
			n.fail("listing", "creatives of the report", "incomplete", &left[0].RowError)
		}
		n.read.reported = append(n.read.reported, lines...)
	}
	return nil
}
