package adsim

import (
	"fmt"
	"slices"
)

// sourcesOf finds the sources of a body by their IDs.
func (e edit) sourcesOf(b body) ([]int32, *problem) {
	var list []int32
	var found []detail
	for i, id := range b.texts("source_ids") {
		src, ok := e.account.sources.index(id)
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

func (r *sourceResult) add(a *account, src int32, changed bool) {
	id := a.sources.ids[src]
	if !changed {
		r.unchanged = append(r.unchanged, id)
		return
	}
	r.changed = append(r.changed, id)
	if a.slow(src) {
		r.late = append(r.late, id)
	}
}

// changeSources checks and does a change of sources, and tells what it did.
func (s *api) writeSources(c *call, do func(e edit, cp *campaign, list []int32,
	r *sourceResult) *problem) reply {
	id := c.path[1]
	w := write{busy: []string{id}, cost: map[string]int{sourceUpdate: len(c.body.texts("source_ids"))},
		trial: c.body.flag("dry_run", false)}
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
		src := sourcesNow{allowList: or(e.next.campaign(id).allowList, cp.allowList)}
		mode = src.mode()
		return do(e, cp, list, &r)
	})
	if p != nil {
		return s.refuse(p)
	}
	return s.one(c, "source_change", func(o *object) {
		o.str("campaign_id", id)
		o.str("mode", mode)
		o.bool("dry_run", w.trial)
		o.strings("changed_source_ids", r.changed)
		o.strings("unchanged_source_ids", r.unchanged)
		if len(r.late) > 0 && !w.trial {
			o.strings("not_enforced_source_ids", r.late)
		}
	})
}

// changeSourceList answers POST /v1/campaigns/{campaign_id}/sources/ and block,
// unblock, allow or disallow.
func (s *api) changeSourceList(c *call, verb string) reply {
	on := verb == "block" || verb == "allow"
	ofAllowList := verb == "allow" || verb == "disallow"
	return s.writeSources(c, func(e edit, cp *campaign, list []int32, r *sourceResult) *problem {
		if or(e.next.campaign(cp.id).allowList, cp.allowList) != ofAllowList {
			return conflict("Campaign %s has %s.", cp.id, [...]string{"an allow list",
				"a block list"}[btoi(ofAllowList)])
		}
		now := e.st.blockedNow(cp)
		if ofAllowList {
			now = e.st.allowedNow(cp)
		}
		of := e.ofCampaign(cp.id)
		into := &of.blocked
		if ofAllowList {
			into = &of.allowed
		}
		if *into == nil {
			*into = map[int32]bool{}
		}
		for _, src := range list {
			_, there := slices.BinarySearch(now, src)
			r.add(e.account, src, there != on)
			if there != on {
				(*into)[src] = on
			}
		}
		if verb == "disallow" && len(e.st.allowedNow(cp)) == 0 {
			return conflict("The last allowed source of campaign %s can't be removed.", cp.id)
		}
		return nil
	})
}

// setSourceBids answers POST /v1/campaigns/{campaign_id}/sources/bids.
func (s *api) setSourceBids(c *call) reply {
	hasBid, optimize := c.body.has("bid"), c.body.flag("optimize", false)
	return s.writeSources(c, func(e edit, cp *campaign, list []int32, r *sourceResult) *problem {
		now := e.st.campaignNow(cp)
		bid := c.body.money("bid")
		switch {
		case !hasBid && !c.body.has("optimize"):
			return invalidField("bid", "either bid or optimize is required")
		case hasBid && optimize:
			return invalidField("optimize", "can't be on together with a bid")
		case optimize && now.targetCPA == 0:
			return conflict("Campaign %s has no target_cpa: its sources can't be optimized.", cp.id)
		case bid > 3*now.bid:
			return invalidField("bid", "expected at most three times the default_bid, %s",
				appendMillionths(nil, 3*now.bid))
		case bid > 0 && bid < now.audience.minBid():
			return invalidField("bid", "this audience demands at least %s",
				appendMillionths(nil, now.audience.minBid()))
		}
		was := map[int32]int64{}
		for _, b := range e.st.sourcesNow(cp).bids {
			was[b.source] = b.bid
		}
		of := e.ofCampaign(cp.id)
		if of.bids == nil {
			of.bids = map[int32]int64{}
		}
		if of.optimized == nil {
			of.optimized = map[int32]bool{}
		}
		for _, src := range list {
			r.add(e.account, src, hasBid && was[src] != bid || of.optimized[src] != optimize)
			if hasBid || optimize {
				of.bids[src] = bid // 0: none of its own
			}
			delete(of.optimized, src)
			if optimize {
				of.optimized[src] = true
			}
		}
		return nil
	})
}
