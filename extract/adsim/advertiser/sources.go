package advertiser

import (
	"maps"
	"slices"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
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
