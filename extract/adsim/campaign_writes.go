package adsim

import (
	"net/http"
	"slices"
)

// campaignOf is the campaign of the path, for a write.
func (e edit) campaignOf(id string) (*campaign, *problem) {
	if e.next.campaign(id).hidden == Hide {
		return nil, noSuch("campaign")
	}
	if cp := e.st.campaign(id); cp != nil {
		return cp, nil
	}
	return nil, noSuch("campaign")
}

// editableCampaign is campaignOf for one that is not archived: that is permanent.
func (e edit) editableCampaign(id string) (*campaign, *problem) {
	cp, p := e.campaignOf(id)
	if p == nil && e.campaignStatus(cp) == "archived" {
		return nil, conflict("Campaign %s is archived, which is permanent.", id)
	}
	return cp, p
}

func (e edit) campaignStatus(cp *campaign) string {
	return or(e.next.campaign(cp.id).status, cp.status(e.st.today))
}

// createCampaign answers POST /v1/campaigns.
func (s *api) createCampaign(c *call) reply {
	var made *campaign
	w := write{busy: []string{creating}, cost: map[string]int{campaignCreate: 1}}
	p := s.edit(c, w, func(e edit) *problem {
		cp, of := e.newCampaign()
		made = cp
		status := "active"
		of.status, of.start = &status, &cp.createdAt
		of.audience = &audience{}
		if c.body.has("status") {
			status = c.body.text("status")
		}
		return e.takeCampaign(cp, c.body)
	})
	if p != nil {
		return s.refuse(p)
	}
	return created(s.oneCampaign(c, made, nil))
}

func created(rep reply) reply {
	if rep.status == http.StatusOK {
		rep.status = http.StatusCreated
	}
	return rep
}

// updateCampaign answers PATCH /v1/campaigns/{campaign_id}.
func (s *api) updateCampaign(c *call) reply {
	id := c.path[1]
	w := write{busy: []string{id}, cost: map[string]int{campaignUpdate: 1}}
	var cp *campaign
	p := s.edit(c, w, func(e edit) (p *problem) {
		if cp, p = e.editableCampaign(id); p != nil {
			return p
		}
		if p := e.checkDoubling(cp, c.body); p != nil {
			return p
		}
		return e.takeCampaign(cp, c.body)
	})
	if p != nil {
		return s.refuse(p)
	}
	return s.oneCampaign(c, cp, nil)
}

// checkDoubling refuses amounts that more than double what there is.
func (e edit) checkDoubling(cp *campaign, b body) *problem {
	now := e.st.campaignNow(cp)
	for _, f := range []struct {
		name string
		was  int64
	}{{"default_bid", now.bid}, {"daily_spend_limit", now.limit}, {"target_cpa", now.targetCPA}} {
		if f.was > 0 && b.money(f.name) > 2*f.was {
			return invalidField(f.name, "can at most double in one change, to %s", appendMillionths(nil, 2*f.was))
		}
	}
	return nil
}

// takeCampaign takes the fields that are sent, and checks what they are together.
func (e edit) takeCampaign(cp *campaign, b body) *problem {
	of := e.ofCampaign(cp.id)
	for name, into := range map[string]**int64{"default_bid": &of.bid, "daily_spend_limit": &of.limit,
		"target_cpa": &of.targetCPA} {
		if b.has(name) {
			v := b.money(name)
			*into = &v
		}
	}
	of.endOptimization()
	if b.has("name") {
		name := b.text("name")
		of.name = &name
	}
	if b.has("start_date") {
		start := b.instant("start_date")
		of.start = &start
	}
	if b.has("end_date") {
		end := b.instant("end_date") // null: none
		of.end = &end
	}
	if b.has("audience") {
		au := audienceFrom(b.sub("audience"))
		if p := checkAudience(&au); p != nil {
			return p
		}
		of.audience = &au
	}
	return e.checkCampaign(cp, b)
}

// checkCampaign refuses what the fields may not be together.
func (e edit) checkCampaign(cp *campaign, b body) *problem {
	now := e.st.campaignNow(cp)
	if least := now.audience.minBid(); now.bid < least && (b.has("default_bid") || b.has("audience")) {
		return invalidField("default_bid", "this audience demands at least %s", appendMillionths(nil, least))
	}
	if !now.end.IsZero() && !now.end.After(now.start) && (b.has("start_date") || b.has("end_date")) {
		return invalidField("end_date", "expected after start_date, %s", instant(now.start))
	}
	return nil
}

func audienceFrom(b body) audience {
	return audience{
		country: b.text("country"), states: b.texts("states"), platforms: b.texts("platforms"),
		moreThan: b.integer("subscribed_more_than_minutes_ago"),
		lessThan: b.integer("subscribed_less_than_minutes_ago"),
		minAge:   b.integer("min_age"), maxAge: b.integer("max_age"), gender: b.text("gender"),
	}
}

// checkAudience refuses an audience that nobody can be in.
func checkAudience(a *audience) *problem {
	switch {
	case a.minAge > 0 && a.maxAge > 0 && a.minAge > a.maxAge:
		return invalidField("audience.min_age", "expected at most max_age, %d", a.maxAge)
	case a.moreThan > 0 && a.lessThan > 0 && a.moreThan >= a.lessThan:
		return invalidField("audience.subscribed_more_than_minutes_ago",
			"expected less than subscribed_less_than_minutes_ago, %d", a.lessThan)
	}
	return nil
}

// setCampaignStatus answers POST /v1/campaigns/{campaign_id}/status.
func (s *api) setCampaignStatus(c *call) reply {
	id, status := c.path[1], c.body.text("status")
	w := write{busy: []string{id}, cost: map[string]int{campaignUpdate: 1}, free: status == "paused"}
	var cp *campaign
	p := s.edit(c, w, func(e edit) (p *problem) {
		if cp, p = e.campaignOf(id); p != nil {
			return p
		}
		return e.setStatus(cp, status)
	})
	if p != nil {
		return s.refuse(p)
	}
	return s.oneCampaign(c, cp, nil)
}

// setStatus changes the status of a campaign, where it may.
func (e edit) setStatus(cp *campaign, status string) *problem {
	was := e.campaignStatus(cp)
	switch {
	case was == "archived" && status != "archived":
		return conflict("Campaign %s is archived, which is permanent.", cp.id)
	case was == "rejected" && status == "active":
		return conflict("Campaign %s is rejected and can't be activated.", cp.id)
	case was == "paused" && status == "active" && e.st.now.Before(e.next.campaign(cp.id).pausedUntil):
		return conflict("An earlier pause of campaign %s is still finishing. Retry once after a minute.", cp.id)
	}
	of := e.ofCampaign(cp.id)
	of.status = &status
	if status != "active" && was == "active" {
		of.pausedUntil = e.st.now.Add(e.cfg.PauseTakes)
	}
	return nil
}

// mostCloned is how many creatives a clone of a campaign gets.
const mostCloned = 20

// cloneCampaign answers POST /v1/campaigns/{campaign_id}/clone.
func (s *api) cloneCampaign(c *call) reply {
	id := c.path[1]
	w := write{busy: []string{creating}, cost: map[string]int{campaignCreate: 1}}
	var made *campaign
	var copies []string
	p := s.edit(c, w, func(e edit) *problem {
		cp, p := e.campaignOf(id)
		if p != nil {
			return p
		}
		made, p = e.copyCampaign(cp, c.body)
		if p != nil {
			return p
		}
		var with []*creative
		if c.body.flag("include_creatives", true) {
			with = e.cloned(cp)
		}
		w.cost[creativeCreate] = len(with)
		for _, cr := range slices.Backward(with) {
			copied, p := e.addCreative(made, contentOf(e.st.creativeNow(cr)), false)
			if p != nil {
				return p
			}
			copies = append(copies, copied.id)
		}
		return nil
	})
	if p != nil {
		return s.refuse(p)
	}
	slices.Reverse(copies)
	return created(s.oneCampaign(c, made, copies))
}

// cloned lists the creatives that a clone copies, newest first.
func (e edit) cloned(cp *campaign) []*creative {
	var list []*creative
	for _, cr := range e.st.creatives(cp) {
		switch e.st.creativeStatus(cr) {
		case "active", "paused", "pending_review":
			if e.next.creative(cr.id).hidden == "" && len(list) < mostCloned {
				list = append(list, cr)
			}
		}
	}
	return list
}

// copyCampaign makes a campaign with another's settings.
func (e edit) copyCampaign(cp *campaign, b body) (*campaign, *problem) {
	now, src := e.st.campaignNow(cp), e.st.sourcesNow(cp)
	optimized := e.next.campaign(cp.id).optimized
	limit := now.limit
	if b.has("daily_spend_limit") {
		limit = b.money("daily_spend_limit")
	}
	if limit == 0 {
		return nil, invalidField("daily_spend_limit", "is required: campaign %s has none", cp.id)
	}
	made, of := e.newCampaign()
	name, status := b.text("name"), "paused"
	if b.has("status") {
		status = b.text("status")
	}
	of.name, of.status, of.limit = &name, &status, &limit
	of.bid, of.targetCPA, of.start, of.end, of.audience = &now.bid, &now.targetCPA, &now.start, &now.end, &now.audience
	of.allowList = &src.allowList
	of.allowed, of.blocked = setOf(src.allowed), setOf(src.blocked)
	of.bids = map[int32]int64{}
	for _, b := range src.bids {
		of.bids[b.source] = b.bid
	}
	of.optimized = optimized
	return made, nil
}

func setOf(list []int32) map[int32]bool {
	set := map[int32]bool{}
	for _, src := range list {
		set[src] = true
	}
	return set
}
