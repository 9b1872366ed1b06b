package extract

import "context"

// Campaigns lists all campaigns, whatever their status. If the listing may be incomplete, its field Why has the reason.
// An error means that the list was not read to its end.
func (c *Client) Campaigns(ctx context.Context) (Listing, error) {
	// By default the service hides archived and rejected campaigns.
	l := lister{c: c, resource: byID(c.service, KindCampaign, ""), what: "campaigns",
		path: c.service.Path("campaigns", ""), statuses: c.service.Names("statuses.campaign")}
	return l.list(ctx)
}

// Campaign reads one campaign. The error is [ErrNotFound] if the account does not have it.
func (c *Client) Campaign(ctx context.Context, id string) (Entity, error) {
	return entity(ctx, c, KindCampaign, "campaign", id)
}
