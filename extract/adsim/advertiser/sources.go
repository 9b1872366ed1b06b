package advertiser

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// getSources answers GET /v1/campaigns/{campaign_id}/sources.
func (s *API) getSources(c *Call) wire.Reply {
	cp := shown(c.St, c.id)
	if cp == nil {
		return s.notFound("campaign")
	}
	now, t := c.St.SourcesNow(cp), s.World.Account.Sources
	out := sourceSettings{cp.ID, now.Mode(), t.Names(now.Allowed), t.Names(now.Blocked),
		make([]sourceBid, len(now.Bids)), nil}
	for i, b := range now.Bids {
		out.Bids[i] = sourceBid{t.IDs[b.Source], money.Amount(b.Bid)}
	}
	if of := c.St.Changes.Campaign(cp.ID).Optimized; len(of) > 0 {
		out.Optimized = t.Names(slices.Sorted(maps.Keys(of)))
	}
	return one("source_settings", out)
}

// sourceSettings is the body of a read of sources.
type sourceSettings struct {
	CampaignID string      `json:"campaign_id"`
	Mode       string      `json:"mode"`
	Allowed    []string    `json:"allowed_source_ids"`
	Blocked    []string    `json:"blocked_source_ids"`
	Bids       []sourceBid `json:"bid_overrides"`
	Optimized  []string    `json:"optimized_source_ids,omitempty"`
}

type sourceBid struct {
	SourceID string       `json:"source_id"`
	Bid      money.Amount `json:"bid"`
}

// sourcesOf finds sources by their IDs.
func (e edit) sourcesOf(ids []string) ([]int32, *problem) {
	var list []int32
	var found []detail
	for i, id := range ids {
		src, ok := e.Account.Sources.Index(id)
		if !ok {
			found = append(found, detail{fmt.Sprintf("source_ids[%d]", i), "there is no source " + id})
		}
		list = append(list, src)
	}
	if found != nil {
		return nil, invalidFields(found)
	}
	return list, nil
}

// sourceChange is what a change of sources did, or would do.
type sourceChange struct {
	CampaignID string   `json:"campaign_id"`
	Mode       string   `json:"mode"`
	DryRun     bool     `json:"dry_run"`
	Changed    []string `json:"changed_source_ids"`
	Unchanged  []string `json:"unchanged_source_ids"`
	Late       []string `json:"not_enforced_source_ids,omitempty"` // changed, and not enforced yet
}

func (r *sourceChange) add(a *market.Account, src int32, changed bool) {
	id := a.Sources.IDs[src]
	if !changed {
		r.Unchanged = append(r.Unchanged, id)
		return
	}
	r.Changed = append(r.Changed, id)
	if a.Slow(src) {
		r.Late = append(r.Late, id)
	}
}

// writeSources checks and makes a change of sources, and answers with its result.
func (s *API) writeSources(c *Call, do func(e edit, cp *market.Campaign, list []int32,
	r *sourceChange) *problem) wire.Reply {
	r := sourceChange{CampaignID: c.id, DryRun: c.args.flag("dry_run"), Changed: []string{}, Unchanged: []string{}}
	return s.write(c, func(e edit) *problem {
		cp, p := e.editableCampaign(c.id)
		if p != nil {
			return p
		}
		list, p := e.sourcesOf(c.args.texts("source_ids"))
		if p != nil {
			return p
		}
		e.Cost[world.SourceUpdate] += len(list)
		src := ledger.SourcesNow{AllowList: ledger.Or(e.Next.Campaign(c.id).AllowList, cp.AllowList)}
		r.Mode = src.Mode()
		return do(e, cp, list, &r)
	}, func() wire.Reply {
		if r.DryRun {
			r.Late = nil
		}
		return one("source_change", r)
	})
}

// changeSources answers POST /v1/campaigns/{campaign_id}/sources/ and block, unblock, allow or disallow.
func changeSources(verb string) func(*API, *Call) wire.Reply {
	return func(s *API, c *Call) wire.Reply {
		return s.writeSources(c, func(e edit, cp *market.Campaign, list []int32, r *sourceChange) *problem {
			return e.changeList(cp, verb, list, r)
		})
	}
}

// changeList blocks, unblocks, allows or disallows sources.
func (e edit) changeList(cp *market.Campaign, verb string, list []int32, r *sourceChange) *problem {
	on := verb == "block" || verb == "allow"
	ofAllowList := verb == "allow" || verb == "disallow"
	if ledger.Or(e.Next.Campaign(cp.ID).AllowList, cp.AllowList) != ofAllowList && !e.force {
		return conflict("Campaign %s has %s.", cp.ID, map[bool]string{true: "a block list",
			false: "an allow list"}[ofAllowList])
	}
	of := e.OfCampaign(cp.ID)
	now, into := e.St.BlockedNow(cp), &of.Blocked
	if ofAllowList {
		now, into = e.St.AllowedNow(cp), &of.Allowed
	}
	for _, src := range list {
		_, there := slices.BinarySearch(now, src)
		r.add(e.Account, src, there != on)
		if there != on {
			setIn(into, src, on)
		}
	}
	if verb == "disallow" && len(e.St.AllowedNow(cp)) == 0 && !e.force {
		return conflict("The last allowed source of campaign %s can't be removed.", cp.ID)
	}
	return nil
}

// setSourceBids answers POST /v1/campaigns/{campaign_id}/sources/bids.
func (s *API) setSourceBids(c *Call) wire.Reply {
	hasBid, optimize, bid := c.args.has("bid"), c.args.flag("optimize"), c.args.money("bid")
	return s.writeSources(c, func(e edit, cp *market.Campaign, list []int32, r *sourceChange) *problem {
		if p := checkBid(c.args, cp.ID, e.St.CampaignNow(cp)); p != nil {
			return p
		}
		was := map[int32]int64{}
		for _, b := range e.St.SourcesNow(cp).Bids {
			was[b.Source] = b.Bid
		}
		of := e.OfCampaign(cp.ID)
		for _, src := range list {
			r.add(e.Account, src, hasBid && was[src] != bid || of.Optimized[src] != optimize)
			if hasBid || optimize {
				setIn(&of.Bids, src, bid) // 0: none of its own
			}
			delete(of.Optimized, src)
			if optimize {
				setIn(&of.Optimized, src, true)
			}
		}
		return nil
	})
}

// checkBid refuses a bid, or an optimization, that the campaign does not allow.
func checkBid(b body, campaign string, now ledger.CampaignNow) *problem {
	bid, hasBid, optimize := b.money("bid"), b.has("bid"), b.flag("optimize")
	switch {
	case !hasBid && !b.has("optimize"):
		return invalidField("bid", "either bid or optimize is required")
	case hasBid && optimize:
		return invalidField("optimize", "can't be on together with a bid")
	case optimize && now.TargetCPA == 0:
		return conflict("Campaign %s has no target_cpa: its sources can't be optimized.", campaign)
	case bid > 3*now.Bid:
		return invalidField("bid", "expected at most three times the default_bid, %s", money.Append(nil, 3*now.Bid))
	case bid > 0 && bid < now.Audience.MinBid():
		return invalidField("bid", "this audience demands at least %s", money.Append(nil, now.Audience.MinBid()))
	}
	return nil
}
