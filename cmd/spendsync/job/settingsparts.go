package job

import (
	"context"
	"errors"
	"slices"

	"spendsync/extract"
	"spendsync/schema"
	"spendsync/transform"
)

// readCampaign reads one campaign: its settings, its creatives, its sources. The parts are independent: one that fails
// keeps no other back.
func (n *settingsReader) readCampaign(ctx context.Context, c dueCampaign) error {
	var own extract.Entity
	var ownErr error
	if c.own != nil {
		own = *c.own
	} else if own, ownErr = n.s.API.Campaign(ctx, c.ID); ownErr != nil {
		n.fail("campaign", c.ID, "failed", ownErr)
		if errors.Is(ownErr, extract.ErrNotFound) && !n.stored[c.ID] {
			return nil // the list has it and its own reply does not: it may be another account's
		}
	}
	creativesErr := n.readCreatives(ctx, c.ID)
	sources, sourcesErr := n.readSources(ctx, c.ID)
	reply := transform.Reply{Listed: c.Entity, Own: own}
	read, err := campaignKind.decodeReply(n, c.ID, reply)
	_, _ = deliveryKind.decodeReply(n, c.ID, reply) // an error is noted

	n.mu.Lock()
	defer n.mu.Unlock()
	failed := errors.Join(ownErr, err, creativesErr, sourcesErr)
	withheld := len(read.Withheld) > 0 || len(sources.Withheld) > 0 // next time it may be read
	if failed == nil && !withheld && read.row.Status == schema.Some("archived") {
		n.read.campaign(c.ID).isSettled = true
	}
	return failed
}

// readCreatives lists a campaign's creatives.
func (n *settingsReader) readCreatives(ctx context.Context, campaign string) error {
	listing, err := n.s.API.Creatives(ctx, campaign)
	if err != nil {
		n.fail("creatives of", campaign, "failed", err)
		return err
	}
	if !listing.Complete {
		err = errors.New(listing.Why)
		n.fail("creatives of", campaign, "incomplete", err)
	}
	for _, e := range listing.Entities {
		err = errors.Join(err, n.readCreative(e, campaign))
	}
	if err == nil {
		n.mu.Lock()
		n.read.campaign(campaign).allCreatives = true
		n.mu.Unlock()
	}
	return err
}

// readCreative keeps a creative.
func (n *settingsReader) readCreative(e extract.Entity, campaign string) error {
	_, err := creativeKind.decodeReply(n, e.ID, transform.Reply{Own: e, Campaign: campaign})
	if err != nil { // it is there, though unreadable: it must not count as absent
		read := &reading[schema.Creative]{row: schema.Creative{AccountID: n.s.Account, CreativeID: e.ID}}
		read.Unread = slices.DeleteFunc(schema.CreativeHistory.FieldNames(), func(name string) bool {
			return name == "image_url" || name == "icon_url" // the report has them
		})
		creativeKind.record(n, e.ID, read)
	}
	return err
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
	modeKind.record(n, campaign, &reading[schema.SourceMode]{row: read.Mode, Decoded: read.Decoded, isOwn: true})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.campaign(campaign).sources = &readSources{rules: rulesIn(read), kinds: kindsIn(read)}
	return read, nil
}

// readReportCreatives takes over what the report knows of the creatives of the whole reach: the addresses of their
// images, and those that only the report knows.
func (n *settingsReader) readReportCreatives() {
	l := n.s.labels()
	if l.err != nil {
		n.fail("listing", "creatives of the report", "failed", l.err)
		return
	}
	if len(l.left) > 0 {
		n.fail("listing", "creatives of the report", "incomplete", l.left[0])
	}
	n.read.reported = slices.Clone(l.lines)
}
