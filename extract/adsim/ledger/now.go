package ledger

import (
	"slices"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// The methods below apply the changes to the generated account, as of the State's instant.

// Campaigns lists all campaigns, newest first, hidden ones included.
func (st *State) Campaigns() []*market.Campaign {
	list := st.Account.Listing(st.Anchor, st.Today).List
	if st.Changes == nil || len(st.Changes.Made) == 0 {
		return list
	}
	list = slices.Clone(list)
	for _, c := range st.Changes.Made {
		at, _ := slices.BinarySearchFunc(list, c, market.NewestFirst)
		list = slices.Insert(list, at, c)
	}
	return list
}

// Campaign finds a campaign by its ID, hidden or not.
func (st *State) Campaign(id string) *market.Campaign {
	if c := st.Account.Listing(st.Anchor, st.Today).ByID[id]; c != nil {
		return c
	}
	return st.Changes.Campaign(id).Base
}

// Creatives lists the creatives of a campaign, newest first, hidden ones included.
func (st *State) Creatives(c *market.Campaign) []*market.Creative {
	var list []*market.Creative
	for _, cr := range c.Newest {
		if cr.Created <= st.Today {
			list = append(list, cr)
		}
	}
	for _, cr := range st.Changes.Campaign(c.ID).Made {
		at, _ := slices.BinarySearchFunc(list, cr, market.NewestCreativeFirst)
		list = slices.Insert(list, at, cr)
	}
	return list
}

// Creative finds a creative of a campaign by its ID, hidden or not.
func (st *State) Creative(c *market.Campaign, id string) *market.Creative {
	if cr := c.Creative(id); cr != nil && cr.Created <= st.Today {
		return cr
	}
	if cr := st.Changes.Creative(id).Base; cr != nil && cr.Campaign == c {
		return cr
	}
	return nil
}

// CampaignNow contains the settings of a campaign at one instant.
type CampaignNow struct {
	Name, Status, Delivery string
	Bid, Limit, TargetCPA  int64 // 0: not set
	Start, End             time.Time
	Audience               market.Audience
}

// CampaignNow returns the settings of a campaign.
func (st *State) CampaignNow(c *market.Campaign) CampaignNow {
	changes := st.Changes.Campaign(c.ID)
	now := CampaignNow{
		Name:      Or(changes.Name, c.Name),
		Status:    Or(changes.Status, c.Status(st.Today)),
		Bid:       Or(changes.Bid, c.Bid(st.Today)),
		TargetCPA: Or(changes.TargetCPA, c.TargetCPA),
		Limit:     st.limitOf(c, changes),
		Audience:  Or(changes.Audience, c.Audience),
	}
	now.Start, now.End = st.spanOf(c, changes)
	if now.Delivery = Or(changes.Delivery, ""); now.Delivery == "" {
		now.Delivery = st.deliveryStatus(c, &now)
	}
	return now
}

// limitOf returns the daily limit of a campaign with the given changes, or 0 for no limit.
func (st *State) limitOf(c *market.Campaign, changes *CampaignChanges) int64 {
	if changes.Limit != nil {
		return *changes.Limit
	}
	return st.DailyLimit(c)
}

// spanOf returns the start and end of a campaign with the given changes. A zero end means that the campaign does not
// end.
func (st *State) spanOf(c *market.Campaign, changes *CampaignChanges) (start, end time.Time) {
	if c.Ends {
		end = c.Over.Start(st.Account.Zone)
	}
	return Or(changes.Start, c.Starts.Start(st.Account.Zone)), Or(changes.End, end)
}

// deliveryStatus computes the delivery_status of a campaign from its other settings.
func (st *State) deliveryStatus(c *market.Campaign, now *CampaignNow) string {
	switch {
	case now.Status != "active":
		return now.Status
	case st.Now.Before(now.Start):
		return "scheduled"
	case !now.End.IsZero() && !st.Now.Before(now.End):
		return "paused"
	}
	creatives := st.countCreatives(c)
	switch {
	case creatives["active"] == 0 && creatives["rejected"] > 0:
		return "all_creatives_rejected"
	case creatives["active"] == 0:
		return "waiting_for_creatives"
	case st.prepaidOn(st.Today) && st.FundsLeft() <= 0:
		return "waiting_for_funds"
	case st.versionsOf(c, st.Today) != nil:
		if st.limitReached(c) {
			return "daily_limit_reached"
		}
		return "active"
	case chance.Hash(c.Key, chance.AboutDay, uint64(st.Today))%6 == 0 && clock.ArrivedShare(st.Today, st.AsOf,
		st.Account.Zone) > 50_000:
		return "daily_limit_reached"
	}
	return "active"
}

// countCreatives counts the creatives of a campaign that are not hidden, by status.
func (st *State) countCreatives(c *market.Campaign) map[string]int {
	counts := map[string]int{}
	for _, cr := range st.Creatives(c) {
		if !st.Changes.Creative(cr.ID).Hidden {
			counts[st.CreativeStatus(cr)]++
		}
	}
	return counts
}

// SourcesNow contains the source settings of a campaign at one instant. Of the two lists, only the one that belongs to
// the mode is set.
type SourcesNow struct {
	AllowList        bool
	Allowed, Blocked []int32
	Bids             []SourceBid
}

// SourceBid is a bid for one source, which replaces the default bid.
type SourceBid struct {
	Source int32
	Bid    int64
}

// Mode returns the source_targeting_mode of the API.
func (n *SourcesNow) Mode() string {
	if n.AllowList {
		return AllowList
	}
	return BlockList
}

// The values of the API's source_targeting_mode.
const (
	AllowList = "allow_list"
	BlockList = "block_list"
)

// SourcesNow returns the source settings of a campaign, bids sorted by source.
func (st *State) SourcesNow(c *market.Campaign) SourcesNow {
	changes := st.Changes.Campaign(c.ID)
	now := SourcesNow{AllowList: Or(changes.AllowList, c.AllowList)}
	if now.AllowList {
		now.Allowed = st.AllowedNow(c)
	} else {
		now.Blocked = st.BlockedNow(c)
	}
	bid := c.Bid(st.Today)
	for _, src := range c.Overridden(st.Account.Sources) {
		if _, changed := changes.Bids[src]; !changed {
			now.Bids = append(now.Bids, SourceBid{src, c.OverrideBid(bid, c.SourceHash(src))})
		}
	}
	for src, b := range changes.Bids {
		if b > 0 {
			now.Bids = append(now.Bids, SourceBid{src, b})
		}
	}
	slices.SortFunc(now.Bids, func(x, y SourceBid) int { return int(x.Source - y.Source) })
	return now
}

// AllowedNow returns the allow list of a campaign, even if its mode is block_list.
func (st *State) AllowedNow(c *market.Campaign) []int32 {
	return withChanges(c.Allowed.Src, st.Changes.Campaign(c.ID).Allowed)
}

// BlockedNow returns the block list of a campaign, even if its mode is allow_list.
func (st *State) BlockedNow(c *market.Campaign) []int32 {
	return withChanges(c.Blocked(st.Account.Sources, st.Today), st.Changes.Campaign(c.ID).Blocked)
}

// withChanges returns a list of sources after changes, sorted. The map holds true for a source that was added, and
// false for a source that was removed.
func withChanges(list []int32, changes map[int32]bool) []int32 {
	if len(changes) == 0 {
		return list
	}
	var out []int32
	for _, src := range list {
		if _, changed := changes[src]; !changed {
			out = append(out, src)
		}
	}
	for src, on := range changes {
		if on {
			out = append(out, src)
		}
	}
	slices.Sort(out)
	return out
}

// CreativeNow contains the settings of a creative at one instant.
type CreativeNow struct {
	Content
	Status string
}

// Generated returns the settings of a creative as generated, without later changes.
func (st *State) Generated(cr *market.Creative) CreativeNow {
	return CreativeNow{Content{Title: cr.Title, Message: cr.Message, Link: cr.Link, ImageID: cr.ImageID,
		IconID: cr.IconID, Button1: cr.Button1, Button2: cr.Button2}, cr.Status(st.Today)}
}

// CreativeNow returns the settings of a creative at the State's instant, changes included.
func (st *State) CreativeNow(cr *market.Creative) CreativeNow {
	changes, now := st.Changes.Creative(cr.ID), st.Generated(cr)
	now.Content, now.Status = Or(changes.Content, now.Content), Or(changes.Status, now.Status)
	if now.Reasons, now.Comment = nil, ""; now.Status == "rejected" {
		now.Reasons = Or(changes.RejectionReasons, []string{"misleading_claim", "low_quality_image"})
		now.Comment = Or(changes.RejectionComment, "Please don't promise \"guaranteed\" results;\nsee the "+
			"policy, section 4.")
	}
	return now
}

// CreativeStatus returns the status of a creative at the State's instant, for example "active".
func (st *State) CreativeStatus(cr *market.Creative) string {
	return Or(st.Changes.Creative(cr.ID).Status, cr.Status(st.Today))
}
