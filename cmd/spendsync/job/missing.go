package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/cli"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// An entity is deleted only if the service answers not_found for its ID. Its absence from a list only makes a run ask
// for it. An archived entity never changes, so only a full run asks for archived entities that a list lacks.

// openEntity describes an entity that is not deleted, from the stored versions and from the lists of this run.
type openEntity struct {
	campaign  string // of a creative
	confirmed schema.Instant
	isStub    bool           // only the report names the entity
	isPartial bool           // some of its columns have never been read
	listed    extract.Entity // its entry in a list, which is short (see [transform.IsShort]); zero: no list has it
}

// openEntities returns the stored entities of a table that are not deleted, by ID, and the IDs of all stored entities,
// deleted or not. Both omit entities that only the report names, because a list has never contained them.
func openEntities[R any, P history.Versioned[R]](
	s *load.Store, t schema.TableOf[R], readings history.Readings, place func(*R) (id string, at schema.Place),
) (open map[string]openEntity, known map[string]bool, err error) {
	h, err := load.StoredHistory[R, P](s, t)
	if err != nil {
		return nil, nil, err
	}
	open, known = map[string]openEntity{}, map[string]bool{}
	for i := range h.Rows {
		row := &h.Rows[i]
		f := P(row).FramePtr()
		if !f.IsCurrent || f.ReadState == schema.ReadStub {
			continue
		}
		id, at := place(row)
		if known[id] = true; f.IsDeleted {
			continue
		}
		open[id] = openEntity{campaign: at.CampaignID, isPartial: f.ReadState != schema.ReadOK,
			confirmed: max(f.LastConfirmedAt, readings.Confirmed(at))}
	}
	return open, known, nil
}

// askForMissing requests, one by one, entities that a list lacks or shows in part. The entities whose last confirmation
// is oldest come first. One run requests only as many as the rate limit allows in a minute, and a trial at most
// mostTried. askForMissing passes each reply to the function answered, and records which entities the service does not
// have.
func (n *settingsReader) askForMissing(
	ctx context.Context, list, what string, missing map[string]openEntity,
	read func(context.Context, string) (extract.Entity, error), answered func(extract.Entity, string),
) {
	ids := slices.SortedFunc(maps.Keys(missing), func(a, b string) int {
		return cmp.Or(cmp.Compare(missing[a].confirmed, missing[b].confirmed), cmp.Compare(a, b))
	})
	asked := min(len(ids), n.s.RequestsPerMinute)
	if n.s.trial != nil {
		asked = min(asked, mostTried)
	}
	entities, errs := make([]extract.Entity, asked), make([]error, asked)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	for i, id := range ids[:asked] {
		g.Go(func() error {
			entities[i], errs[i] = read(gctx, id)
			if n.isKeyRefused(gctx, errs[i]) {
				return errs[i] // the key is refused: all other requests would fail, too
			}
			return nil
		})
	}
	isKeyRefused := g.Wait() != nil // the errors are in errs
	for i, id := range ids[:asked] {
		isListed := missing[id].listed.Raw != nil
		switch err := errs[i]; {
		case err == nil:
			answered(entities[i], id)
			if !isListed && !transform.Archived(n.s.Service, entities[i]) {
				n.settings.unlisted[what] = append(n.settings.unlisted[what], id)
			}
		case missing[id].isStub && !isKeyRefused && isAbsent(err):
			n.look(what, id)
			n.line(what, id, readAbsent, err)
			n.s.Log.Warn("the report has a "+what+" that the service does not show", "id", id, "error", err)
		case errors.Is(err, extract.ErrNotFound) && !isListed:
			n.settings.notThere[id] = true
			n.look(what, id)
			for _, p := range campaignParts {
				n.look(p.name, id)
			}
		case ctx.Err() == nil:
			n.fail(what, id, "failed", err)
		case isListed && n.budget.spent():
			n.leave(what, id, missing[id].confirmed)
		}
	}
	left := ids[asked:]
	switch {
	case len(left) == 0:
	case missing[left[0]].isStub:
		n.settings.left[what] += len(left)
	case missing[left[0]].listed.Raw != nil:
		for _, id := range left {
			n.leave(what, id, missing[id].confirmed)
		}
	default:
		n.fail("listing", list, "incomplete", fmt.Errorf(
			"the listing lacks %s more, which this run did not ask for one by one: it may send %d such requests; "+
				"the next runs ask, and until then none of them counts as deleted",
			cli.Count(len(left), what), n.s.RequestsPerMinute))
	}
}

// isAbsent reports whether an error means that the account has no such entity, or that the key may not read it.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*extract.ReadError](err)
	return ok && (errors.Is(e, extract.ErrNotFound) || slices.Contains([]int{403, 404, 410}, e.Status))
}

// askForCampaigns requests campaigns that the key's list lacks, and returns those that the service has.
func (n *settingsReader) askForCampaigns(ctx context.Context, missing map[string]openEntity) (due []dueCampaign) {
	n.askForMissing(ctx, "campaigns", campaignKind.name, missing, n.s.API.Campaign,
		func(e extract.Entity, id string) {
			n.settings.campaign(id)
			due = append(due, dueCampaign{extract.Entity{ID: id}, &e, schema.InstantOf(n.s.Now())})
		})
	return due
}

// reportedAlone returns the account's campaigns or creatives that only the report names. It waits until it is proven
// which campaigns of the report belong to the account. For a line of the report, the function of returns the ID of the
// entity, or "" if the entity is already known. If an earlier run has asked for an entity in vain, it is omitted,
// unless this is a full run or, for a campaign, a young day has new spend of it.
func (n *settingsReader) reportedAlone(ctx context.Context, proven *future[provenReport], what string,
	of func(transform.ReportCreative) string) map[string]openEntity {
	if !n.settings.listing.Complete || n.s.trial != nil || n.s.labels().err != nil {
		return nil
	}
	missing, absent := map[string]openEntity{}, map[string]bool{}
	for _, l := range n.settings.reported {
		if id := of(l); extract.IsID(id) {
			missing[id] = openEntity{campaign: l.CampaignID, isStub: true}
		}
	}
	for _, u := range n.s.store.Account().Unread {
		if u.EntityType != what || u.ReadState != readAbsent {
			continue
		}
		if absent[u.EntityID] = true; !missing[u.EntityID].isStub {
			n.look(u.EntityType, u.EntityID) // the report no longer names the entity
		}
	}
	if len(missing) == 0 {
		return nil
	}
	select {
	case <-proven.done:
	case <-ctx.Done():
		return nil
	}
	maps.DeleteFunc(missing, func(id string, e openEntity) bool {
		return !proven.value.ours[e.campaign] || absent[id] && !proven.value.delivering[id] && !n.s.Full
	})
	return missing
}

// unlistedCampaigns returns the stored campaigns that the complete list of campaigns lacks. It omits deleted campaigns
// and, unless this is a full run, archived campaigns that were already read in full.
func (n *settingsReader) unlistedCampaigns() (missing map[string]openEntity, err error) {
	if !n.settings.listing.Complete {
		return nil, nil
	}
	missing, _, err = openEntities(n.s.store, schema.CampaignHistory, n.confirmed,
		func(c *schema.Campaign) (string, schema.Place) { return c.CampaignID, c.Place() })
	for _, e := range n.settings.listing.Entities {
		delete(missing, e.ID)
	}
	for _, id := range n.settledBefore {
		if _, is := missing[id]; is && !n.s.Full {
			delete(missing, id)
			n.settings.campaign(id).isSettled = true
		}
	}
	return missing, err
}

// readUnlistedCreatives requests the stored creatives that are missing from the complete list of their campaign's
// creatives.
func (n *settingsReader) readUnlistedCreatives(ctx context.Context) {
	archived := map[string]bool{}
	missing, known, err := openEntities(n.s.store, schema.CreativeHistory, n.confirmed,
		func(c *schema.Creative) (string, schema.Place) {
			archived[c.CreativeID] = c.Status == schema.Some("archived") && !n.s.Full
			return c.CreativeID, c.Place()
		})
	if err != nil {
		n.fail("listing", "creatives", "failed", err)
		return
	}
	n.readShortCreatives(ctx, missing, archived)
	maps.DeleteFunc(missing, func(id string, e openEntity) bool {
		c := n.settings.campaigns[e.campaign]
		return archived[id] || readingsOf(n.settings, schema.CreativeHistory)[id] != nil || c == nil ||
			!c.whole[schema.PartCreative]
	})
	n.askForCreatives(ctx, missing)
	n.knownCreatives = known
}

// readShortCreatives requests the creatives whose entries in the lists of their campaigns are short. Creatives that no
// run has requested come first. A creative that is stored as archived and was read in full is not requested.
func (n *settingsReader) readShortCreatives(ctx context.Context, stored map[string]openEntity,
	archived map[string]bool) {
	requested := map[string]schema.Instant{} // when the creatives with unread fields were last requested
	for _, u := range n.s.store.Account().Unread {
		if u.EntityType == creativeKind.name {
			requested[u.EntityID] = max(requested[u.EntityID], u.LastSeenAt)
		}
	}
	for id, e := range n.short {
		e.confirmed = requested[id]
		if was, isStored := stored[id]; isStored && !was.isPartial {
			e.confirmed = max(e.confirmed, was.confirmed)
			if archived[id] {
				delete(n.short, id)
				continue
			}
		}
		n.short[id] = e
	}
	n.askForCreatives(ctx, n.short)
	for id, e := range n.short {
		if !readingsOf(n.settings, schema.CreativeHistory)[id].isOwn {
			n.settings.campaign(e.campaign).isSettled = false // the next run must list the creative again
		}
	}
}

// askForCreatives requests creatives that the lists of their campaigns lack or show in part, and reads their settings.
func (n *settingsReader) askForCreatives(ctx context.Context, missing map[string]openEntity) {
	n.askForMissing(ctx, "creatives", creativeKind.name, missing, n.s.API.Creative,
		func(e extract.Entity, id string) { // readCreative records its errors
			_ = readCreative(n, transform.Reply{Listed: missing[id].listed, Own: e, Campaign: missing[id].campaign})
		})
}

// readReported requests the campaigns and creatives that only the report names, and reads their settings.
func (n *settingsReader) readReported(ctx context.Context, proven *future[provenReport]) {
	campaigns := n.askForCampaigns(ctx, n.reportedAlone(ctx, proven, campaignKind.name,
		func(l transform.ReportCreative) string {
			if n.stored[l.CampaignID] || n.settings.campaigns[l.CampaignID] != nil {
				return ""
			}
			return l.CampaignID
		}))
	n.readCampaigns(ctx, campaigns)
	for _, c := range campaigns { // new campaigns: all of their rules are new, too
		n.settings.rulesDiffer = append(n.settings.rulesDiffer, c.ID)
	}
	read, known := readingsOf(n.settings, schema.CreativeHistory), n.knownCreatives
	if known == nil {
		return // the stored creatives could not be read
	}
	n.askForCreatives(ctx, n.reportedAlone(ctx, proven, creativeKind.name,
		func(l transform.ReportCreative) string {
			c := n.settings.campaigns[l.CampaignID]
			if known[l.CreativeID] || read[l.CreativeID] != nil || c == nil || !c.whole[schema.PartCreative] {
				return ""
			}
			return l.CreativeID
		}))
}
