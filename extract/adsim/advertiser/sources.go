package advertiser

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// getSources answers GET /v1/campaigns/{campaign_id}/sources.
func (s *API) getSources(c *Call) wire.Reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	now := c.St.SourcesNow(cp)
	return s.one(c, "source_settings", func(o *jsontext.Object) {
		o.Str("campaign_id", cp.ID)
		o.Str("mode", now.Mode())
		o.Strings("allowed_source_ids", s.World.Account.Sources.Names(now.Allowed))
		o.Strings("blocked_source_ids", s.World.Account.Sources.Names(now.Blocked))
		if c.Fault.Is(wire.Unreadable) {
			o.Raw("bid_overrides", "null")
			return
		}
		writeOverrides(o, s.World.Cfg.Shape, s.World.Account.Sources.IDs, now.Bids)
		if of := c.St.Changes.Campaign(cp.ID).Optimized; len(of) > 0 {
			o.Strings("optimized_source_ids", s.World.Account.Sources.Names(slices.Sorted(maps.Keys(of))))
		}
	})
}

func writeOverrides(o *jsontext.Object, shape config.Shape, ids []string, bids []ledger.SourceBid) {
	if shape.BidMap {
		o.Begin("bid_overrides")
		for _, b := range bids {
			o.Money(ids[b.Source], b.Bid)
		}
		o.End()
		return
	}
	o.List("bid_overrides", len(bids), func(i int) {
		o.Begin("")
		o.Str("source_id", ids[bids[i].Source])
		o.Money("bid", bids[i].Bid)
		o.End()
	})
}

// sourcesOf finds the sources of a body by their IDs.
func (e edit) sourcesOf(b body) ([]int32, *problem) {
	var list []int32
	var found []detail
	for i, id := range b.texts("source_ids") {
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

// sourceResult is what a change of sources did, or would do.
type sourceResult struct {
	changed, unchanged []string
	late               []string // changed, and not enforced yet
}

func (r *sourceResult) add(a *market.Account, src int32, changed bool) {
	id := a.Sources.IDs[src]
	if !changed {
		r.unchanged = append(r.unchanged, id)
		return
	}
	r.changed = append(r.changed, id)
	if a.Slow(src) {
		r.late = append(r.late, id)
	}
}

// writeSources checks and makes a change of sources, and answers with its result.
func (s *API) writeSources(c *Call, do func(e edit, cp *market.Campaign, list []int32,
	r *sourceResult) *problem) wire.Reply {
	id := c.path[1]
	w := world.Write{Busy: []string{id}, Cost: map[string]int{world.SourceUpdate: len(c.body.texts("source_ids"))},
		Trial: c.body.flag("dry_run", false)}
	var r sourceResult
	var mode string
	p := s.edit(c, w, func(e edit) *problem {
		cp, p := e.editableCampaign(id)
		if p != nil {
			return p
		}
		list, p := e.sourcesOf(c.body)
		if p != nil {
			return p
		}
		src := ledger.SourcesNow{AllowList: ledger.Or(e.Next.Campaign(id).AllowList, cp.AllowList)}
		mode = src.Mode()
		return do(e, cp, list, &r)
	})
	if p != nil {
		return s.Refuse(p)
	}
	return s.one(c, "source_change", func(o *jsontext.Object) {
		o.Str("campaign_id", id)
		o.Str("mode", mode)
		o.Bool("dry_run", w.Trial)
		o.Strings("changed_source_ids", r.changed)
		o.Strings("unchanged_source_ids", r.unchanged)
		if len(r.late) > 0 && !w.Trial {
			o.Strings("not_enforced_source_ids", r.late)
		}
	})
}

// changeSourceList answers POST /v1/campaigns/{campaign_id}/sources/ and block,
// unblock, allow or disallow.
func (s *API) changeSourceList(c *Call, verb string) wire.Reply {
	on := verb == "block" || verb == "allow"
	ofAllowList := verb == "allow" || verb == "disallow"
	return s.writeSources(c, func(e edit, cp *market.Campaign, list []int32, r *sourceResult) *problem {
		if ledger.Or(e.Next.Campaign(cp.ID).AllowList, cp.AllowList) != ofAllowList {
			return conflict("Campaign %s has %s.", cp.ID, [...]string{"an allow list",
				"a block list"}[jsontext.Btoi(ofAllowList)])
		}
		now := e.St.BlockedNow(cp)
		if ofAllowList {
			now = e.St.AllowedNow(cp)
		}
		of := e.OfCampaign(cp.ID)
		into := &of.Blocked
		if ofAllowList {
			into = &of.Allowed
		}
		if *into == nil {
			*into = map[int32]bool{}
		}
		for _, src := range list {
			_, there := slices.BinarySearch(now, src)
			r.add(e.Account, src, there != on)
			if there != on {
				(*into)[src] = on
			}
		}
		if verb == "disallow" && len(e.St.AllowedNow(cp)) == 0 {
			return conflict("The last allowed source of campaign %s can't be removed.", cp.ID)
		}
		return nil
	})
}

// setSourceBids answers POST /v1/campaigns/{campaign_id}/sources/bids.
func (s *API) setSourceBids(c *Call) wire.Reply {
	hasBid, optimize := c.body.has("bid"), c.body.flag("optimize", false)
	return s.writeSources(c, func(e edit, cp *market.Campaign, list []int32, r *sourceResult) *problem {
		now := e.St.CampaignNow(cp)
		bid := c.body.money("bid")
		switch {
		case !hasBid && !c.body.has("optimize"):
			return invalidField("bid", "either bid or optimize is required")
		case hasBid && optimize:
			return invalidField("optimize", "can't be on together with a bid")
		case optimize && now.TargetCPA == 0:
			return conflict("Campaign %s has no target_cpa: its sources can't be optimized.", cp.ID)
		case bid > 3*now.Bid:
			return invalidField("bid", "expected at most three times the default_bid, %s",
				jsontext.AppendMillionths(nil, 3*now.Bid))
		case bid > 0 && bid < now.Audience.MinBid():
			return invalidField("bid", "this audience demands at least %s",
				jsontext.AppendMillionths(nil, now.Audience.MinBid()))
		}
		was := map[int32]int64{}
		for _, b := range e.St.SourcesNow(cp).Bids {
			was[b.Source] = b.Bid
		}
		of := e.OfCampaign(cp.ID)
		if of.Bids == nil {
			of.Bids = map[int32]int64{}
		}
		if of.Optimized == nil {
			of.Optimized = map[int32]bool{}
		}
		for _, src := range list {
			r.add(e.Account, src, hasBid && was[src] != bid || of.Optimized[src] != optimize)
			if hasBid || optimize {
				of.Bids[src] = bid // 0: none of its own
			}
			delete(of.Optimized, src)
			if optimize {
				of.Optimized[src] = true
			}
		}
		return nil
	})
}
