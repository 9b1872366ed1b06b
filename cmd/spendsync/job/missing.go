package job

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

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
	campaign   string // of a creative
	confirmed  schema.Instant
	isPartial  bool // whether some of its columns have never been read
	isArchived bool
	lists      inLists
	listed     extract.Entity // its entry in a list of this run; set only if lists == inShort
}

// inLists states which lists of the service have contained an entity.
type inLists int

const (
	formerly inLists = iota // lists of earlier runs
	never                   // no list; only the report names the entity
	inShort                 // a list of this run, with a short entry (see [transform.IsShort])
)

// openEntities returns the stored entities of a table that are not deleted, by ID, and the IDs of all stored entities,
// deleted or not. Both omit entities that only the report names, because a list has never contained them.
func openEntities[R any, P placed[R]](
	s *load.Store, k *kind[R, P], readings history.Readings, status func(*R) schema.Null[string],
) (open map[string]openEntity, known map[string]bool, err error) {
	h, err := load.StoredHistory[R, P](s, k.table)
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
		id, at := k.idOf(row), P(row).Place()
		if known[id] = true; f.IsDeleted {
			continue
		}
		open[id] = openEntity{campaign: at.CampaignID, isPartial: f.ReadState != schema.ReadOK,
			isArchived: status(row) == schema.Some("archived"),
			confirmed:  max(f.LastConfirmedAt, readings.Confirmed(at))}
	}
	return open, known, nil
}

// askForMissing requests entities one by one. A list lacks these entities, or has only some of their fields. The
// entities whose last confirmation is oldest come first. One run requests only as many as the rate limit allows in a
// minute, and a trial at most mostTried; the others are left to the next run. askForMissing passes each reply to the
// function answered, and records which entities the service does not have.
func (n *settingsReader) askForMissing(
	ctx context.Context, what string, missing map[string]openEntity,
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
	isKeyRefused := n.inParallel(ctx, asked, func(ctx context.Context, i int) error {
		entities[i], errs[i] = read(ctx, ids[i])
		return errs[i]
	})
	for i, id := range ids {
		e := missing[id]
		if i >= asked || errors.Is(errs[i], context.Canceled) && n.budget.spent() {
			n.leave(what, id, e.confirmed)
			continue
		}
		switch err := errs[i]; {
		case err == nil:
			answered(entities[i], id)
			if e.lists != inShort && !transform.Archived(n.s.Service, entities[i]) {
				n.settings.unlisted[what] = append(n.settings.unlisted[what], id)
			}
		case e.lists == never && !isKeyRefused &&
			(errors.Is(err, extract.ErrNotFound) || hasStatus(err, 403, 404, 410)):
			n.look(what, id)
			n.line(what, id, readAbsent, err)
			n.s.Log.Warn("the report has a "+what+" that the service does not show", "id", id, "error", err)
		case e.lists == formerly && errors.Is(err, extract.ErrNotFound):
			n.settings.notThere[id] = true
			n.look(what, id)
			for _, p := range campaignParts {
				n.look(p.name, id)
			}
		default:
			n.fail(what, id, "failed", err)
		}
	}
}

// askForCampaigns requests campaigns that the key's list lacks, and returns those that the service has.
func (n *settingsReader) askForCampaigns(ctx context.Context, missing map[string]openEntity) (due []dueCampaign) {
	n.askForMissing(ctx, campaignKind.name, missing, n.s.API.Campaign,
		func(e extract.Entity, id string) {
			n.settings.campaign(id)
			due = append(due, dueCampaign{extract.Entity{ID: id}, &e, schema.InstantOf(n.s.Now())})
		})
	return due
}

// reportedAlone returns the account's campaigns or creatives that only the report names. It waits until it is proven
// which campaigns of the report belong to the account. The last argument is a function that returns the ID of the
// entity in a line of the report, or "" if the entity is already known. An entity that an earlier run has asked for in
// vain is omitted. There are two exceptions: a full run omits none, and a campaign with new spend on a young day is not
// omitted.
func (n *settingsReader) reportedAlone(ctx context.Context, proven *future[provenReport], what string,
	of func(transform.ReportCreative) string) map[string]openEntity {
	if !n.settings.listing.Complete || n.s.trial != nil || n.s.labels().err != nil {
		return nil
	}
	missing, absent := map[string]openEntity{}, map[string]bool{}
	for _, l := range n.settings.reported {
		if id := of(l); extract.IsID(id) {
			missing[id] = openEntity{campaign: l.CampaignID, lists: never}
		}
	}
	for _, u := range n.s.store.Account().Unread {
		if u.EntityType != what || u.ReadState != readAbsent {
			continue
		}
		absent[u.EntityID] = true
		if _, is := missing[u.EntityID]; !is {
			n.look(u.EntityType, u.EntityID) // deletes the entity's line, because the report no longer names the entity
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
	missing, _, err = openEntities(n.s.store, &campaignKind, n.confirmed,
		func(c *schema.Campaign) schema.Null[string] { return c.Status })
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
	missing, known, err := openEntities(n.s.store, &creativeKind, n.confirmed,
		func(c *schema.Creative) schema.Null[string] { return c.Status })
	if err != nil {
		n.fail("listing", "creatives", "failed", err)
		return
	}
	n.readShortCreatives(ctx, missing)
	maps.DeleteFunc(missing, func(id string, e openEntity) bool {
		c := n.settings.campaigns[e.campaign]
		return e.isArchived && !n.s.Full || readingsOf(n.settings, schema.CreativeHistory)[id] != nil || c == nil ||
			!c.whole[schema.PartCreative]
	})
	n.askForCreatives(ctx, missing)
	n.knownCreatives = known
}

// readShortCreatives requests the creatives whose entries in the lists of their campaigns are short. Creatives that no
// run has requested come first. A creative that is stored as archived and was read in full is not requested.
func (n *settingsReader) readShortCreatives(ctx context.Context, stored map[string]openEntity) {
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
			if was.isArchived && !n.s.Full {
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

// askForCreatives requests creatives one by one, and reads their settings. A list of the campaign lacks these
// creatives, or has only some of their fields.
func (n *settingsReader) askForCreatives(ctx context.Context, missing map[string]openEntity) {
	n.askForMissing(ctx, creativeKind.name, missing, n.s.API.Creative,
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
