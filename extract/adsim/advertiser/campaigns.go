package advertiser

import (
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
)

// listCampaigns answers GET /v1/campaigns. Entries have the fields of [campaignHead] only.
func (s *API) listCampaigns(c *call) wire.Reply {
	q, err := c.listQuery([]string{"active", "paused", "archived", "rejected"}, 2)
	if err != nil {
		return s.refuse(err)
	}
	var list []*market.Campaign
	for _, cp := range c.st.Campaigns() {
		changes := c.st.Changes.Campaign(cp.ID)
		if changes.Hidden || !slices.Contains(q.statuses, ledger.Or(changes.Status, cp.Status(c.st.Today))) {
			continue
		}
		list = append(list, cp)
	}
	return many(c, q, "campaigns", len(list), func(i int) any {
		return headOf(list[i], c.st.CampaignNow(list[i]))
	})
}

// shown returns the campaign with the given ID, or nil if the account has no such campaign or the campaign is hidden.
func shown(st *ledger.State, id string) *market.Campaign {
	if st.Changes.Campaign(id).Hidden {
		return nil
	}
	return st.Campaign(id)
}

// campaignHead contains the fields that are common to an entry of the list and the reply for a single campaign.
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

// getCampaign answers GET /v1/campaigns/{campaign_id}.
func (s *API) getCampaign(c *call) wire.Reply {
	cp := shown(c.st, c.id)
	if cp == nil {
		return s.refuse(noSuch("campaign"))
	}
	now := c.st.CampaignNow(cp)
	src := ledger.SourcesNow{AllowList: ledger.Or(c.st.Changes.Campaign(cp.ID).AllowList, cp.AllowList)}
	return one("campaign", struct {
		campaignHead
		TargetCPA *money.Amount   `json:"target_cpa"`
		StartDate string          `json:"start_date"`
		EndDate   *string         `json:"end_date"`
		Mode      string          `json:"source_targeting_mode"`
		Audience  market.Audience `json:"audience"`
	}{headOf(cp, now), orNull(money.Amount(now.TargetCPA)), clock.Instant(now.Start),
		orNull(clock.Instant(now.End)), src.Mode(), now.Audience})
}
