package advertiser

import (
	"slices"
	"strings"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
)

// listCampaigns answers GET /v1/campaigns: the identity of campaigns, not their
// settings.
func (s *API) listCampaigns(c *Call) wire.Reply {
	wanted, search := c.args.texts("status"), c.args.text("search")
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
	return many(c, "campaigns", len(list), func(i int) any {
		return headOf(list[i], c.St.CampaignNow(list[i]))
	})
}

func holds(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// shown finds a campaign that is not hidden.
func shown(st *ledger.State, id string) *market.Campaign {
	if st.Changes.Campaign(id).Hidden == ledger.Hide {
		return nil
	}
	return st.Campaign(id)
}

// getCampaign answers GET /v1/campaigns/{campaign_id}.
func (s *API) getCampaign(c *Call) wire.Reply {
	cp := shown(c.St, c.id)
	if cp == nil {
		return s.notFound("campaign")
	}
	return s.oneCampaign(c, cp, nil)
}

// campaignHead is what the list and the single read share.
type campaignHead struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Status    string        `json:"status"`
	Delivery  string        `json:"delivery_status,omitempty"`
	Bid       money.Amount  `json:"default_bid"`
	Limit     *money.Amount `json:"daily_spend_limit"`
	CreatedAt string        `json:"created_at"`
}

func headOf(cp *market.Campaign, now ledger.CampaignNow) campaignHead {
	return campaignHead{cp.ID, now.Name, now.Status, now.Delivery, money.Amount(now.Bid),
		orNull(money.Amount(now.Limit)), clock.Instant(cp.CreatedAt)}
}

// oneCampaign answers with one campaign and its settings. copied are the creatives of a clone; other replies have
// none.
func (s *API) oneCampaign(c *Call, cp *market.Campaign, copied []string) wire.Reply {
	now := c.St.CampaignNow(cp)
	src := ledger.SourcesNow{AllowList: ledger.Or(c.St.Changes.Campaign(cp.ID).AllowList, cp.AllowList)}
	return one("campaign", struct {
		campaignHead
		TargetCPA *money.Amount   `json:"target_cpa"`
		StartDate string          `json:"start_date"`
		EndDate   *string         `json:"end_date"`
		Mode      string          `json:"source_targeting_mode"`
		Audience  market.Audience `json:"audience"`
		Copied    []string        `json:"cloned_creative_ids,omitzero"`
	}{headOf(cp, now), orNull(money.Amount(now.TargetCPA)), clock.Instant(now.Start),
		orNull(clock.Instant(now.End)), src.Mode(), now.Audience, copied})
}
