package advertiser

import (
	"net/http"
	"slices"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// campaignOf is the campaign of the path, for a write.
func (e edit) campaignOf(id string) (*market.Campaign, *problem) {
	if cp := shown(e.St, id); cp != nil {
		return cp, nil
	}
	return nil, noSuch("campaign")
}

// editableCampaign is campaignOf for one that is not archived: that is permanent.
func (e edit) editableCampaign(id string) (*market.Campaign, *problem) {
	cp, p := e.campaignOf(id)
	if p == nil && e.campaignStatus(cp) == "archived" {
		return nil, conflict("Campaign %s is archived, which is permanent.", id)
	}
	return cp, p
}

func (e edit) campaignStatus(cp *market.Campaign) string {
	return ledger.Or(e.Next.Campaign(cp.ID).Status, cp.Status(e.St.Today))
}

// createCampaign answers POST /v1/campaigns.
func (s *API) createCampaign(c *Call) wire.Reply {
	var made *market.Campaign
	return s.write(c, func(e edit) *problem {
		e.Cost[world.CampaignCreate]++
		cp, of := e.NewCampaign()
		made = cp
		status := c.args.text("status")
		of.Status, of.Start, of.Audience = &status, &cp.CreatedAt, &market.Audience{}
		return e.takeCampaign(cp, c.args)
	}, func() wire.Reply { return created(s.oneCampaign(c, made, nil)) })
}

func created(rep wire.Reply) wire.Reply {
	if rep.Status == http.StatusOK {
		rep.Status = http.StatusCreated
	}
	return rep
}

// updateCampaign answers PATCH /v1/campaigns/{campaign_id}.
func (s *API) updateCampaign(c *Call) wire.Reply {
	var cp *market.Campaign
	return s.write(c, func(e edit) (p *problem) {
		e.Cost[world.CampaignUpdate]++
		if cp, p = e.editableCampaign(c.id); p != nil {
			return p
		}
		if p := e.checkDoubling(cp, c.args); p != nil {
			return p
		}
		return e.takeCampaign(cp, c.args)
	}, func() wire.Reply { return s.oneCampaign(c, cp, nil) })
}

// checkDoubling refuses amounts that more than double the current ones.
func (e edit) checkDoubling(cp *market.Campaign, b body) *problem {
	now := e.St.CampaignNow(cp)
	for _, f := range []struct {
		name string
		was  int64
	}{{"default_bid", now.Bid}, {"daily_spend_limit", now.Limit}, {"target_cpa", now.TargetCPA}} {
		if f.was > 0 && b.money(f.name) > 2*f.was {
			return invalidField(f.name, "can at most double in one change, to %s",
				money.Append(nil, 2*f.was))
		}
	}
	return nil
}

// takeCampaign applies the fields of the body, and checks the result as a whole.
func (e edit) takeCampaign(cp *market.Campaign, b body) *problem {
	of := e.OfCampaign(cp.ID)
	set(b, "default_bid", &of.Bid, b.money)
	set(b, "daily_spend_limit", &of.Limit, b.money)
	set(b, "target_cpa", &of.TargetCPA, b.money)
	of.EndOptimization()
	set(b, "name", &of.Name, b.text)
	set(b, "start_date", &of.Start, b.instant)
	set(b, "end_date", &of.End, b.instant) // null: none
	if b.has("audience") {
		au := audienceFrom(b.sub("audience"))
		if p := checkAudience(&au); p != nil {
			return p
		}
		of.Audience = &au
	}
	return e.checkCampaign(cp, b)
}

// checkCampaign refuses invalid combinations of fields.
func (e edit) checkCampaign(cp *market.Campaign, b body) *problem {
	if e.force {
		return nil
	}
	now := e.St.CampaignNow(cp)
	if least := now.Audience.MinBid(); now.Bid < least && (b.has("default_bid") || b.has("audience")) {
		return invalidField("default_bid", "this audience demands at least %s", money.Append(nil, least))
	}
	if !now.End.IsZero() && !now.End.After(now.Start) && (b.has("start_date") || b.has("end_date")) {
		return invalidField("end_date", "expected after start_date, %s", clock.Instant(now.Start))
	}
	return nil
}

func audienceFrom(b body) market.Audience {
	return market.Audience{
		Country: b.text("country"), States: b.texts("states"), Platforms: b.texts("platforms"),
		SubscribedMoreThan: b.integer("subscribed_more_than_minutes_ago"),
		SubscribedLessThan: b.integer("subscribed_less_than_minutes_ago"),
		MinAge:             b.integer("min_age"), MaxAge: b.integer("max_age"), Gender: b.text("gender"),
	}
}

// checkAudience refuses an empty audience.
func checkAudience(a *market.Audience) *problem {
	switch {
	case a.MinAge > 0 && a.MaxAge > 0 && a.MinAge > a.MaxAge:
		return invalidField("audience.min_age", "expected at most max_age, %d", a.MaxAge)
	case a.SubscribedMoreThan > 0 && a.SubscribedLessThan > 0 && a.SubscribedMoreThan >= a.SubscribedLessThan:
		return invalidField("audience.subscribed_more_than_minutes_ago",
			"expected less than subscribed_less_than_minutes_ago, %d", a.SubscribedLessThan)
	}
	return nil
}

// pauseTakes is how long a pause takes to finish.
const pauseTakes = 5 * time.Second

// setCampaignStatus answers POST /v1/campaigns/{campaign_id}/status.
func (s *API) setCampaignStatus(c *Call) wire.Reply {
	var cp *market.Campaign
	return s.write(c, func(e edit) (p *problem) {
		e.Cost[world.CampaignUpdate]++
		if cp, p = e.campaignOf(c.id); p != nil {
			return p
		}
		return e.setStatus(cp, c.args.text("status"))
	}, func() wire.Reply { return s.oneCampaign(c, cp, nil) })
}

// setStatus changes the status of a campaign, if the change is allowed.
func (e edit) setStatus(cp *market.Campaign, status string) *problem {
	was := e.campaignStatus(cp)
	switch {
	case was == "archived" && status != "archived":
		return conflict("Campaign %s is archived, which is permanent.", cp.ID)
	case was == "rejected" && status == "active":
		return conflict("Campaign %s is rejected and can't be activated.", cp.ID)
	case was == "paused" && status == "active" && e.St.Now.Before(e.Next.Campaign(cp.ID).PausedUntil):
		return conflict("An earlier pause of campaign %s is still finishing. Retry once after a minute.", cp.ID)
	}
	of := e.OfCampaign(cp.ID)
	of.Status = &status
	if status != "active" && was == "active" {
		of.PausedUntil = e.St.Now.Add(pauseTakes)
	}
	return nil
}

// mostCloned is how many creatives a clone of a campaign gets.
const mostCloned = 20

// cloneCampaign answers POST /v1/campaigns/{campaign_id}/clone.
func (s *API) cloneCampaign(c *Call) wire.Reply {
	var made *market.Campaign
	copies := []string{}
	return s.write(c, func(e edit) *problem {
		e.Cost[world.CampaignCreate]++
		cp, p := e.campaignOf(c.id)
		if p != nil {
			return p
		}
		made, p = e.copyCampaign(cp, c.args)
		if p != nil {
			return p
		}
		var with []*market.Creative
		if c.args.flag("include_creatives") {
			with = e.cloned(cp)
		}
		for _, cr := range slices.Backward(with) {
			copied, p := e.addCreative(made, e.St.CreativeNow(cr).Content, false)
			if p != nil {
				return p
			}
			copies = slices.Insert(copies, 0, copied.ID)
		}
		return nil
	}, func() wire.Reply { return created(s.oneCampaign(c, made, copies)) })
}

// cloned lists the creatives that a clone copies, newest first.
func (e edit) cloned(cp *market.Campaign) []*market.Creative {
	var list []*market.Creative
	for _, cr := range e.St.Creatives(cp) {
		switch e.St.CreativeStatus(cr) {
		case "active", "paused", "pending_review":
			if e.Next.Creative(cr.ID).Hidden == "" && len(list) < mostCloned {
				list = append(list, cr)
			}
		}
	}
	return list
}

// copyCampaign makes a campaign with another's settings.
func (e edit) copyCampaign(cp *market.Campaign, b body) (*market.Campaign, *problem) {
	now, src := e.St.CampaignNow(cp), e.St.SourcesNow(cp)
	optimized := e.Next.Campaign(cp.ID).Optimized
	limit := now.Limit
	if b.has("daily_spend_limit") {
		limit = b.money("daily_spend_limit")
	}
	if limit == 0 {
		return nil, invalidField("daily_spend_limit", "is required: campaign %s has none", cp.ID)
	}
	made, of := e.NewCampaign()
	name, status := b.text("name"), b.text("status")
	of.Name, of.Status, of.Limit = &name, &status, &limit
	of.Bid, of.TargetCPA, of.Start, of.End, of.Audience = &now.Bid, &now.TargetCPA, &now.Start, &now.End, &now.Audience
	of.AllowList = &src.AllowList
	of.Allowed, of.Blocked = setOf(src.Allowed), setOf(src.Blocked)
	of.Bids = map[int32]int64{}
	for _, b := range src.Bids {
		of.Bids[b.Source] = b.Bid
	}
	of.Optimized = optimized
	return made, nil
}

func setOf(list []int32) map[int32]bool {
	set := map[int32]bool{}
	for _, src := range list {
		set[src] = true
	}
	return set
}
