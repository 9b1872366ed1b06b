package adsim

import (
	"slices"
	"time"
)

// What follows is what is there at one instant: what came by itself, and what was
// asked of it.

// campaigns lists all campaigns, newest first, hidden ones among them.
func (st *state) campaigns() []*campaign {
	list := st.account.listing(st.anchor, st.today).list
	if st.changes == nil || len(st.changes.made) == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, c := range st.changes.made {
		at, _ := slices.BinarySearchFunc(list, c, newestFirst)
		list = slices.Insert(list, at, c)
	}
	return list
}

// campaign finds a campaign by its ID, hidden or not.
func (st *state) campaign(id string) *campaign {
	if c := st.account.listing(st.anchor, st.today).byID[id]; c != nil {
		return c
	}
	return st.changes.campaign(id).base
}

// creatives lists the creatives of a campaign, newest first, hidden ones among them.
func (st *state) creatives(c *campaign) []*creative {
	var list []*creative
	for _, cr := range c.newest {
		if cr.created <= st.today {
			list = append(list, cr)
		}
	}
	for _, cr := range st.changes.campaign(c.id).made {
		at, _ := slices.BinarySearchFunc(list, cr, newestCreativeFirst)
		list = slices.Insert(list, at, cr)
	}
	return list
}

// creative finds a creative of a campaign by its ID, hidden or not.
func (st *state) creative(c *campaign, id string) *creative {
	if cr := c.creative(id); cr != nil && cr.created <= st.today {
		return cr
	}
	if cr := st.changes.creative(id).base; cr != nil && cr.campaign == c {
		return cr
	}
	return nil
}

// campaignNow is a campaign as it is at one instant.
type campaignNow struct {
	name, status, delivery string
	bid, limit, targetCPA  int64 // 0: not set
	start, end             time.Time
	audience               audience
}

func (st *state) campaignNow(c *campaign) campaignNow {
	asked := st.changes.campaign(c.id)
	now := campaignNow{
		name:      or(asked.name, c.name),
		status:    or(asked.status, c.status(st.today)),
		bid:       or(asked.bid, c.bid(st.today)),
		targetCPA: or(asked.targetCPA, c.targetCPA),
		start:     or(asked.start, c.starts.start(st.account.zone)),
		audience:  or(asked.audience, c.audience),
	}
	if asked.limit != nil {
		now.limit = *asked.limit
	} else {
		now.limit = st.dailyLimit(c)
	}
	if asked.end != nil {
		now.end = *asked.end
	} else if c.ends {
		now.end = c.over.start(st.account.zone)
	}
	if now.delivery = or(asked.delivery, ""); now.delivery == "" {
		now.delivery = st.deliveryStatus(c, &now)
	}
	return now
}

// deliveryStatus is what becomes of the campaign at this moment.
func (st *state) deliveryStatus(c *campaign, now *campaignNow) string {
	switch {
	case now.status != "active":
		return now.status
	case st.now.Before(now.start):
		return "scheduled"
	case !now.end.IsZero() && !st.now.Before(now.end):
		return "paused"
	}
	running, refused := 0, 0
	for _, cr := range st.creatives(c) {
		if st.changes.creative(cr.id).hidden == Hide {
			continue
		}
		switch st.creativeStatus(cr) {
		case "active":
			running++
		case "rejected":
			refused++
		}
	}
	switch {
	case running == 0 && refused > 0:
		return "all_creatives_rejected"
	case running == 0:
		return "waiting_for_creatives"
	case st.balanceAt(st.now) == "depleted":
		return "waiting_for_funds"
	case st.changes != nil && st.changes.history[c.id] != nil:
		if st.limitReached(c) {
			return "daily_limit_reached"
		}
		return "active"
	case chance(c.key, aboutDay, uint64(st.today))%6 == 0 && arrivedShare(st.today, st.asOf, st.account.zone) > 50_000:
		return "daily_limit_reached"
	}
	return "active"
}

// sourcesNow is the source settings of a campaign at one instant: the list of its
// mode, and the bids, by source.
type sourcesNow struct {
	allowList        bool
	allowed, blocked []int32
	bids             []sourceBid
}

type sourceBid struct {
	source int32
	bid    int64
}

func (n *sourcesNow) mode() string {
	if n.allowList {
		return allowList
	}
	return blockList
}

// The two modes of source targeting.
const (
	allowList = "allow_list"
	blockList = "block_list"
)

func (st *state) sourcesNow(c *campaign) sourcesNow {
	asked := st.changes.campaign(c.id)
	now := sourcesNow{allowList: or(asked.allowList, c.allowList)}
	if now.allowList {
		now.allowed = st.allowedNow(c)
	} else {
		now.blocked = st.blockedNow(c)
	}
	bid := c.bid(st.today)
	for _, src := range c.overridden(st.account.sources) {
		if _, changed := asked.bids[src]; !changed {
			now.bids = append(now.bids, sourceBid{src, c.overrideBid(bid, c.sourceHash(src))})
		}
	}
	for src, b := range asked.bids {
		if b > 0 {
			now.bids = append(now.bids, sourceBid{src, b})
		}
	}
	slices.SortFunc(now.bids, func(x, y sourceBid) int { return int(x.source - y.source) })
	return now
}

// allowedNow is the allow list; another mode may be on.
func (st *state) allowedNow(c *campaign) []int32 {
	return withChanges(c.allowed.src, st.changes.campaign(c.id).allowed)
}

// blockedNow is the block list; another mode may be on.
func (st *state) blockedNow(c *campaign) []int32 {
	return withChanges(c.blocked(st.account.sources, st.today), st.changes.campaign(c.id).blocked)
}

// withChanges is a list of sources with some put on it and some taken off.
func withChanges(list []int32, asked map[int32]bool) []int32 {
	if len(asked) == 0 {
		return list
	}
	var out []int32
	for _, src := range list {
		if _, changed := asked[src]; !changed {
			out = append(out, src)
		}
	}
	for src, on := range asked {
		if on {
			out = append(out, src)
		}
	}
	slices.Sort(out)
	return out
}

// creativeNow is a creative as it is at one instant.
type creativeNow struct {
	title, message, link, imageID, iconID string
	button1, button2, status              string
	reasons                               []string // of a rejected one
	comment                               string
}

func (st *state) creativeNow(cr *creative) creativeNow {
	asked := st.changes.creative(cr.id)
	now := creativeNow{
		title:   or(asked.title, cr.title),
		message: or(asked.message, cr.message),
		link:    or(asked.link, cr.link),
		imageID: or(asked.imageID, cr.imageID),
		iconID:  or(asked.iconID, cr.iconID),
		button1: or(asked.button1, cr.button1),
		button2: or(asked.button2, cr.button2),
		status:  st.creativeStatus(cr),
	}
	if now.status == "rejected" {
		now.reasons = or(asked.rejectionReasons, []string{"misleading_claim", "low_quality_image"})
		now.comment = or(asked.rejectionComment, "Please don't promise \"guaranteed\" results;\nsee the "+
			"policy, section 4.")
	}
	return now
}

func (st *state) creativeStatus(cr *creative) string {
	return or(st.changes.creative(cr.id).status, cr.status(st.today))
}

// deliveryStatuses are the description's, and one for a campaign that delivers.
var deliveryStatuses = []string{"active", "waiting_for_funds", "waiting_for_creatives", "all_creatives_rejected",
	"scheduled",
	"daily_limit_reached", "paused", "archived", "rejected"}
