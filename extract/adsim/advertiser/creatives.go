package advertiser

import (
	"slices"
	"strings"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/wire"
)

// listCreatives answers GET /v1/campaigns/{campaign_id}/creatives.
func (s *API) listCreatives(c *call) wire.Reply {
	cp := shown(c.st, c.id)
	if cp == nil {
		return s.refuse(noSuch("campaign"))
	}
	q, err := c.listQuery([]string{"active", "paused", "pending_review", "rejected", "draft", "archived"}, 5)
	if err != nil {
		return s.refuse(err)
	}
	var list []*market.Creative
	for _, cr := range c.st.Creatives(cp) {
		if !c.st.Changes.Creative(cr.ID).Hidden && slices.Contains(q.statuses, c.st.CreativeStatus(cr)) {
			list = append(list, cr)
		}
	}
	return many(c, q, "creatives", len(list), func(i int) any { return creativeOf(c.st, list[i]) })
}

// getCreative answers GET /v1/creatives/{creative_id}.
func (s *API) getCreative(c *call) wire.Reply {
	campaignID, _, _ := strings.Cut(c.id, "-")
	if cp := shown(c.st, campaignID); cp != nil {
		if cr := c.st.Creative(cp, c.id); cr != nil && !c.st.Changes.Creative(c.id).Hidden {
			return one("creative", creativeOf(c.st, cr))
		}
	}
	return s.refuse(noSuch("creative"))
}

// creative is the JSON object of one creative in a reply.
type creative struct {
	ID         string   `json:"id"`
	CampaignID string   `json:"campaign_id"`
	Title      *string  `json:"title"`
	Message    *string  `json:"message"`
	Link       *string  `json:"link"`
	ImageID    *string  `json:"image_id"`
	IconID     *string  `json:"icon_id"`
	Button1    *string  `json:"button1"`
	Button2    *string  `json:"button2"`
	Status     string   `json:"status"`
	Reasons    []string `json:"rejection_reasons,omitzero"`
	Comment    *string  `json:"rejection_comment,omitempty"`
	CreatedAt  string   `json:"created_at"`
}

func creativeOf(st *ledger.State, cr *market.Creative) creative {
	now := st.CreativeNow(cr)
	out := creative{ID: cr.ID, CampaignID: cr.Campaign.ID, Title: orNull(now.Title), Message: orNull(now.Message),
		Link: orNull(now.Link), ImageID: orNull(now.ImageID), IconID: orNull(now.IconID),
		Button1: orNull(now.Button1), Button2: orNull(now.Button2), Status: now.Status,
		CreatedAt: clock.Instant(cr.CreatedAt)}
	if now.Status == "rejected" {
		out.Reasons, out.Comment = append([]string{}, now.Reasons...), &now.Comment
	}
	return out
}
