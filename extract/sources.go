package extract

import (
	"context"
	"strings"
)

// Sources reads the source settings of a campaign: its mode, its lists, its bids
// per source. The entity has the campaign's ID. A campaign that the account does
// not have is [ErrNotFound].
func (c *Client) Sources(ctx context.Context, campaignID string) (Entity, error) {
	if !IsCampaignID(campaignID) {
		return Entity{}, refuse("campaign", campaignID)
	}
	e, err := c.entity(ctx, KindSources, campaignID, "source settings of "+campaignID,
		campaignsPath+"/"+campaignID+"/sources")
	return e, notFound(err)
}

func sourcesResource(campaignID string) resource {
	return resource{
		name: "source settings", wrappers: []string{"source_settings", "sources", "settings", "source_targeting",
			"targeting", "data", "result"},
		is: func(fields map[string]Value) (string, bool, error) {
			for name, v := range fields {
				if speaksOfSources(name, v) {
					return campaignID, true, nil
				}
			}
			return "", false, nil
		},
	}
}

// speaksOfSources reports whether a member shows that the object holds source
// settings. Which of them, and in which form, is the business of package transform.
func speaksOfSources(name string, v Value) bool {
	if name == "sources" || name == "source_ids" {
		_, list := v.Array() // an object is one that they are wrapped in
		return list
	}
	for _, part := range []string{"mode", "blocked", "allowed", "bid"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
