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

// listCreatives answers GET /v1/campaigns/{campaign_id}/creatives.
func (s *API) listCreatives(c *Call) wire.Reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	wanted, message := c.statuses(market.CreativeStatuses, market.CreativeStatuses[:5])
	if message != "" {
		return s.invalid("status", message)
	}
	w, field, message := wire.ParseWindow(c.Query)
	if field != "" {
		return s.invalid(field, message)
	}
	var list []*market.Creative
	for _, cr := range c.St.Creatives(cp) {
		if c.St.Changes.Creative(cr.ID).Hidden == "" && slices.Contains(wanted, c.St.CreativeStatus(cr)) {
			list = append(list, cr)
		}
	}
	return s.many(c, "creatives", w, len(list),
		func(o *jsontext.Object, i int) { writeCreative(o, s.World.Cfg.Shape, c.St, list[i]) })
}

// getCreative answers GET /v1/creatives/{creative_id}.
func (s *API) getCreative(c *Call) wire.Reply {
	id := c.path[1]
	campaignID, _, _ := strings.Cut(id, "-")
	if cp := s.findCampaign(c, campaignID); cp != nil {
		if cr := c.St.Creative(cp, id); cr != nil && c.St.Changes.Creative(id).Hidden != ledger.Hide {
			return s.one(c, "creative", func(o *jsontext.Object) { writeCreative(o, s.World.Cfg.Shape, c.St, cr) })
		}
	}
	return s.notFound("creative")
}

func writeCreative(o *jsontext.Object, shape config.Shape, st *ledger.State, cr *market.Creative) {
	now := st.CreativeNow(cr)
	o.Str(shape.IDKey("creative_id"), cr.ID)
	o.Str("campaign_id", cr.Campaign.ID)
	o.StrOrNull("title", now.Title)
	o.StrOrNull("message", now.Message)
	o.StrOrNull("link", now.Link)
	o.StrOrNull("image_id", now.ImageID)
	o.StrOrNull("icon_id", now.IconID)
	o.StrOrNull("button1", now.Button1)
	o.StrOrNull("button2", now.Button2)
	o.Str("status", now.Status)
	if now.Status == "rejected" {
		o.Strings("rejection_reasons", now.Reasons)
		o.Str("rejection_comment", now.Comment)
	}
	o.Str("created_at", jsontext.Instant(cr.CreatedAt))
	if v := st.Changes.Creative(cr.ID).Pending; v != nil {
		writeVersion(v, o)
	}
}

// writeVersion appends the version of a creative that runs in its old one meanwhile.
func writeVersion(ct *ledger.Content, o *jsontext.Object) {
	o.Begin("pending_version")
	o.Str("title", ct.Title)
	o.Str("message", ct.Message)
	o.Str("link", ct.Link)
	o.StrOrNull("image_id", ct.ImageID)
	o.StrOrNull("icon_id", ct.IconID)
	o.StrOrNull("button1", ct.Button1)
	o.StrOrNull("button2", ct.Button2)
	o.Str("status", [...]string{"pending_review", "rejected"}[jsontext.Btoi(ct.Rejected)])
	if ct.Rejected {
		o.Strings("rejection_reasons", ct.Reasons)
		o.Str("rejection_comment", ct.Comment)
	}
	o.Str("submitted_at", jsontext.Instant(ct.Submitted))
	o.End()
}
