package adsim

import (
	"slices"
	"strings"
)

// listCreatives answers GET /v1/campaigns/{campaign_id}/creatives.
func (s *api) listCreatives(c *call) reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	wanted, message := c.statuses(creativeStatuses, creativeStatuses[:5])
	if message != "" {
		return s.invalid("status", message)
	}
	w, field, message := parseWindow(c.query)
	if field != "" {
		return s.invalid(field, message)
	}
	var list []*creative
	for _, cr := range c.st.creatives(cp) {
		if c.st.changes.creative(cr.id).hidden == "" && slices.Contains(wanted, c.st.creativeStatus(cr)) {
			list = append(list, cr)
		}
	}
	return s.many(c, "creatives", w, len(list), func(o *object, i int) { writeCreative(o, s.world.cfg.Shape, c.st, list[i]) })
}

// getCreative answers GET /v1/creatives/{creative_id}.
func (s *api) getCreative(c *call) reply {
	id := c.path[1]
	campaignID, _, _ := strings.Cut(id, "-")
	if cp := s.findCampaign(c, campaignID); cp != nil {
		if cr := c.st.creative(cp, id); cr != nil && c.st.changes.creative(id).hidden != Hide {
			return s.one(c, "creative", func(o *object) { writeCreative(o, s.world.cfg.Shape, c.st, cr) })
		}
	}
	return s.notFound("creative")
}

func writeCreative(o *object, shape Shape, st *state, cr *creative) {
	now := st.creativeNow(cr)
	o.str(shape.idKey("creative_id"), cr.id)
	o.str("campaign_id", cr.campaign.id)
	o.strOrNull("title", now.title)
	o.strOrNull("message", now.message)
	o.strOrNull("link", now.link)
	o.strOrNull("image_id", now.imageID)
	o.strOrNull("icon_id", now.iconID)
	o.strOrNull("button1", now.button1)
	o.strOrNull("button2", now.button2)
	o.str("status", now.status)
	if now.status == "rejected" {
		o.strings("rejection_reasons", now.reasons)
		o.str("rejection_comment", now.comment)
	}
	o.str("created_at", instant(cr.createdAt))
	if v := st.changes.creative(cr.id).pending; v != nil {
		writeVersion(v, o)
	}
}

// writeVersion appends the version of a creative that runs in its old one meanwhile.
func writeVersion(ct *content, o *object) {
	o.begin("pending_version")
	o.str("title", ct.title)
	o.str("message", ct.message)
	o.str("link", ct.link)
	o.strOrNull("image_id", ct.imageID)
	o.strOrNull("icon_id", ct.iconID)
	o.strOrNull("button1", ct.button1)
	o.strOrNull("button2", ct.button2)
	o.str("status", [...]string{"pending_review", "rejected"}[btoi(ct.rejected)])
	if ct.rejected {
		o.strings("rejection_reasons", ct.reasons)
		o.str("rejection_comment", ct.comment)
	}
	o.str("submitted_at", instant(ct.submitted))
	o.end()
}
