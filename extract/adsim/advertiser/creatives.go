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
func (s *API) listCreatives(c *Call) wire.Reply {
	cp := shown(c.St, c.id)
	if cp == nil {
		return s.notFound("campaign")
	}
	wanted := c.args.texts("status")
	var list []*market.Creative
	for _, cr := range c.St.Creatives(cp) {
		if c.St.Changes.Creative(cr.ID).Hidden == "" && slices.Contains(wanted, c.St.CreativeStatus(cr)) {
			list = append(list, cr)
		}
	}
	return many(c, "creatives", len(list), func(i int) any { return creativeOf(c.St, list[i]) })
}

// getCreative answers GET /v1/creatives/{creative_id}.
func (s *API) getCreative(c *Call) wire.Reply {
	id := c.id
	campaignID, _, _ := strings.Cut(id, "-")
	if cp := shown(c.St, campaignID); cp != nil {
		if cr := c.St.Creative(cp, id); cr != nil && c.St.Changes.Creative(id).Hidden != ledger.Hide {
			return one("creative", creativeOf(c.St, cr))
		}
	}
	return s.notFound("creative")
}

// content is the part of a creative that is reviewed.
type content struct {
	Title   *string  `json:"title"`
	Message *string  `json:"message"`
	Link    *string  `json:"link"`
	ImageID *string  `json:"image_id"`
	IconID  *string  `json:"icon_id"`
	Button1 *string  `json:"button1"`
	Button2 *string  `json:"button2"`
	Status  string   `json:"status"`
	Reasons []string `json:"rejection_reasons,omitzero"`
	Comment *string  `json:"rejection_comment,omitempty"`
}

func contentOf(ct ledger.Content, status string) content {
	out := content{Title: orNull(ct.Title), Message: orNull(ct.Message),
		Link: orNull(ct.Link), ImageID: orNull(ct.ImageID), IconID: orNull(ct.IconID),
		Button1: orNull(ct.Button1), Button2: orNull(ct.Button2), Status: status}
	if status == "rejected" {
		out.Reasons, out.Comment = append([]string{}, ct.Reasons...), &ct.Comment
	}
	return out
}

// creative is a creative in a reply. Pending is the version of a running creative that is in review.
type creative struct {
	ID         string `json:"id"`
	CampaignID string `json:"campaign_id"`
	content
	CreatedAt string   `json:"created_at"`
	Pending   *version `json:"pending_version,omitempty"`
}

type version struct {
	content
	SubmittedAt string `json:"submitted_at"`
}

func creativeOf(st *ledger.State, cr *market.Creative) creative {
	now := st.CreativeNow(cr)
	out := creative{ID: cr.ID, CampaignID: cr.Campaign.ID, content: contentOf(now.Content, now.Status),
		CreatedAt: clock.Instant(cr.CreatedAt)}
	if v := st.Changes.Creative(cr.ID).Pending; v != nil {
		status := "pending_review"
		if v.Rejected {
			status = "rejected"
		}
		out.Pending = &version{contentOf(*v, status), clock.Instant(v.Submitted)}
	}
	return out
}
