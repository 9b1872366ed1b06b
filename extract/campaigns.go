package extract

import "context"

const campaignsPath = "v1/campaigns"

// campaignStatuses are asked for by name: by default the service hides archived
// and rejected campaigns.
func campaignStatuses() []string { return []string{"active", "paused", "archived", "rejected"} }

func campaignResource() resource {
	return resource{
		name: "campaign", plural: "campaigns", wrappers: []string{"campaign", "data", "item", "result", "node"},
		valid: IsCampaignID,
		is:    byID("campaign", IsCampaignID),
	}
}

// Campaigns lists all campaigns, whatever their status. A listing whose completeness cannot be proven has the reason
// in it; an error means that the walk ended early.
func (c *Client) Campaigns(ctx context.Context) (Listing, error) {
	l := lister{c: c, of: campaignResource(), what: "campaigns", path: campaignsPath, statuses: campaignStatuses()}
	return l.list(ctx)
}

// Campaign reads one campaign. One that the account does not have is [ErrNotFound].
func (c *Client) Campaign(ctx context.Context, id string) (Entity, error) {
	if !IsCampaignID(id) {
		return Entity{}, refuse("campaign", id)
	}
	e, err := c.entity(ctx, KindCampaign, id, "campaign "+id, campaignsPath+"/"+id)
	return e, notFound(err)
}
