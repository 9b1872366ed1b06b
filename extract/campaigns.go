package extract

import (
	"context"

	"spendsync/extract/service"
)

// campaignResource is the one of that ID; empty: any.
func campaignResource(s *service.Service, id string) resource {
	return resource{service: s, name: "campaign", plural: "campaigns", line: "ids.campaign",
		id: byID(s, "campaign", id)}
}

// Campaigns lists all campaigns, whatever their status. A listing whose completeness cannot be proven has the reason
// in it; an error means that the walk ended early.
func (c *Client) Campaigns(ctx context.Context) (Listing, error) {
	// By default the service hides archived and rejected campaigns.
	l := lister{c: c, of: campaignResource(c.service, ""), what: "campaigns", path: c.service.Path("campaigns", ""),
		statuses: c.service.Texts("statuses.campaign")}
	return l.list(ctx)
}

// Campaign reads one campaign. One that the account does not have is [ErrNotFound].
func (c *Client) Campaign(ctx context.Context, id string) (Entity, error) {
	return entity(ctx, c, KindCampaign, "campaign", id)
}
