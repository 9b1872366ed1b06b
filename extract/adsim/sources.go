package adsim

import (
	"maps"
	"slices"
)

// getSources answers GET /v1/campaigns/{campaign_id}/sources.
func (s *api) getSources(c *call) reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	now := c.st.sourcesNow(cp)
	return s.one(c, "source_settings", func(o *object) {
		o.str("campaign_id", cp.id)
		o.str("mode", now.mode())
		o.strings("allowed_source_ids", s.world.account.sources.names(now.allowed))
		o.strings("blocked_source_ids", s.world.account.sources.names(now.blocked))
		if c.fault.is(Unreadable) {
			o.raw("bid_overrides", "null")
			return
		}
		writeOverrides(o, s.world.cfg.Shape, s.world.account.sources.ids, now.bids)
		if of := c.st.changes.campaign(cp.id).optimized; len(of) > 0 {
			o.strings("optimized_source_ids", s.world.account.sources.names(slices.Sorted(maps.Keys(of))))
		}
	})
}

func writeOverrides(o *object, shape Shape, ids []string, bids []sourceBid) {
	if shape.BidMap {
		o.begin("bid_overrides")
		for _, b := range bids {
			o.money(ids[b.source], b.bid)
		}
		o.end()
		return
	}
	o.list("bid_overrides", len(bids), func(i int) {
		o.begin("")
		o.str("source_id", ids[bids[i].source])
		o.money("bid", bids[i].bid)
		o.end()
	})
}
