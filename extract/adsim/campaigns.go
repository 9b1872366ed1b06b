package adsim

import (
	"slices"
	"strings"
)

// listCampaigns answers GET /v1/campaigns: what tells campaigns apart, not their
// settings.
func (s *api) listCampaigns(c *call) reply {
	wanted, message := c.statuses(campaignStatuses, campaignStatuses[:2])
	if message != "" {
		return s.invalid("status", message)
	}
	search, message := c.search()
	if message != "" {
		return s.invalid("search", message)
	}
	w, field, message := parseWindow(c.query)
	if field != "" {
		return s.invalid(field, message)
	}
	var list []*campaign
	for _, cp := range c.st.campaigns() {
		asked := c.st.changes.campaign(cp.id)
		if asked.hidden != "" || !slices.Contains(wanted, or(asked.status, cp.status(c.st.today))) {
			continue
		}
		if search == "" || holds(or(asked.name, cp.name), search) || holds(cp.id, search) {
			list = append(list, cp)
		}
	}
	return s.many(c, "campaigns", w, len(list), func(o *object, i int) {
		now := c.st.campaignNow(list[i])
		campaignHead(o, s.world.cfg.Shape, c, list[i], &now)
	})
}

func holds(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// findCampaign finds a campaign that a read of its own finds.
func (s *api) findCampaign(c *call, id string) *campaign {
	if c.st.changes.campaign(id).hidden == Hide {
		return nil
	}
	return c.st.campaign(id)
}

// getCampaign answers GET /v1/campaigns/{campaign_id}.
func (s *api) getCampaign(c *call) reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	return s.oneCampaign(c, cp, nil)
}

// oneCampaign is a reply of one campaign with its settings, and of a clone with
// the creatives that it got.
func (s *api) oneCampaign(c *call, cp *campaign, copied []string) reply {
	now := c.st.campaignNow(cp)
	return s.one(c, "campaign", func(o *object) {
		campaignHead(o, s.world.cfg.Shape, c, cp, &now)
		o.moneyOrNull("target_cpa", now.targetCPA)
		o.str("start_date", instant(now.start))
		o.strOrNull("end_date", instant(now.end))
		src := sourcesNow{allowList: or(c.st.changes.campaign(cp.id).allowList, cp.allowList)}
		o.str("source_targeting_mode", src.mode())
		writeAudience(&now.audience, o)
		if c.op.name == "clone_campaign" {
			o.strings("cloned_creative_ids", copied)
		}
	})
}

// campaignHead writes what the list and the single read share.
func campaignHead(o *object, shape Shape, c *call, cp *campaign, now *campaignNow) {
	o.str(shape.idKey("campaign_id"), cp.id)
	o.str("name", now.name)
	o.str("status", now.status)
	if !c.fault.is(Unreadable) {
		o.str("delivery_status", now.delivery)
	}
	o.money("default_bid", now.bid)
	o.moneyOrNull("daily_spend_limit", now.limit)
	o.str("created_at", instant(cp.createdAt))
}

// writeAudience appends the audience; what it does not restrict is left out.
func writeAudience(a *audience, o *object) {
	o.begin("audience")
	if a.country != "" {
		o.str("country", a.country)
	}
	if a.states != nil {
		o.strings("states", a.states)
	}
	if a.platforms != nil {
		o.strings("platforms", a.platforms)
	}
	for _, m := range []struct {
		name string
		v    int
	}{
		{"subscribed_more_than_minutes_ago", a.moreThan}, {"subscribed_less_than_minutes_ago", a.lessThan},
		{"min_age", a.minAge}, {"max_age", a.maxAge},
	} {
		if m.v > 0 {
			o.int(m.name, int64(m.v))
		}
	}
	if a.gender != "" {
		o.str("gender", a.gender)
	}
	if a.unsupported {
		o.bool("unsupported_targeting", true)
	}
	o.end()
}
