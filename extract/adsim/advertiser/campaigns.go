package advertiser

import (
	"slices"
	"strings"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/wire"
)

// listCampaigns answers GET /v1/campaigns: the identity of campaigns, not their
// settings.
func (s *API) listCampaigns(c *Call) wire.Reply {
	wanted, message := c.statuses(market.CampaignStatuses, market.CampaignStatuses[:2])
	if message != "" {
		return s.invalid("status", message)
	}
	search, message := c.search()
	if message != "" {
		return s.invalid("search", message)
	}
	w, field, message := wire.ParseWindow(c.Query)
	if field != "" {
		return s.invalid(field, message)
	}
	var list []*market.Campaign
	for _, cp := range c.St.Campaigns() {
		asked := c.St.Changes.Campaign(cp.ID)
		if asked.Hidden != "" || !slices.Contains(wanted, ledger.Or(asked.Status, cp.Status(c.St.Today))) {
			continue
		}
		if search == "" || holds(ledger.Or(asked.Name, cp.Name), search) || holds(cp.ID, search) {
			list = append(list, cp)
		}
	}
	return s.many(c, "campaigns", w, len(list), func(o *jsontext.Object, i int) {
		now := c.St.CampaignNow(list[i])
		campaignHead(o, s.World.Cfg.Shape, c, list[i], &now)
	})
}

func holds(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// findCampaign finds a campaign that a read of its own finds.
func (s *API) findCampaign(c *Call, id string) *market.Campaign {
	if c.St.Changes.Campaign(id).Hidden == ledger.Hide {
		return nil
	}
	return c.St.Campaign(id)
}

// getCampaign answers GET /v1/campaigns/{campaign_id}.
func (s *API) getCampaign(c *Call) wire.Reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	return s.oneCampaign(c, cp, nil)
}

// oneCampaign is a reply of one campaign with its settings, and of a clone with
// the creatives that it got.
func (s *API) oneCampaign(c *Call, cp *market.Campaign, copied []string) wire.Reply {
	now := c.St.CampaignNow(cp)
	return s.one(c, "campaign", func(o *jsontext.Object) {
		campaignHead(o, s.World.Cfg.Shape, c, cp, &now)
		o.MoneyOrNull("target_cpa", now.TargetCPA)
		o.Str("start_date", jsontext.Instant(now.Start))
		o.StrOrNull("end_date", jsontext.Instant(now.End))
		src := ledger.SourcesNow{AllowList: ledger.Or(c.St.Changes.Campaign(cp.ID).AllowList, cp.AllowList)}
		o.Str("source_targeting_mode", src.Mode())
		writeAudience(&now.Audience, o)
		if c.Op.Name == "clone_campaign" {
			o.Strings("cloned_creative_ids", copied)
		}
	})
}

// campaignHead writes what the list and the single read share.
func campaignHead(o *jsontext.Object, shape config.Shape, c *Call, cp *market.Campaign, now *ledger.CampaignNow) {
	o.Str(shape.IDKey("campaign_id"), cp.ID)
	o.Str("name", now.Name)
	o.Str("status", now.Status)
	if !c.Fault.Is(wire.Unreadable) {
		o.Str("delivery_status", now.Delivery)
	}
	o.Money("default_bid", now.Bid)
	o.MoneyOrNull("daily_spend_limit", now.Limit)
	o.Str("created_at", jsontext.Instant(cp.CreatedAt))
}

// writeAudience appends the audience; a dimension that it does not restrict is left out.
func writeAudience(a *market.Audience, o *jsontext.Object) {
	o.Begin("audience")
	if a.Country != "" {
		o.Str("country", a.Country)
	}
	if a.States != nil {
		o.Strings("states", a.States)
	}
	if a.Platforms != nil {
		o.Strings("platforms", a.Platforms)
	}
	for _, m := range []struct {
		name string
		v    int
	}{
		{"subscribed_more_than_minutes_ago", a.MoreThan}, {"subscribed_less_than_minutes_ago", a.LessThan},
		{"min_age", a.MinAge}, {"max_age", a.MaxAge},
	} {
		if m.v > 0 {
			o.Int(m.name, int64(m.v))
		}
	}
	if a.Gender != "" {
		o.Str("gender", a.Gender)
	}
	if a.Unsupported {
		o.Bool("unsupported_targeting", true)
	}
	o.End()
}
