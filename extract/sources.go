package extract

import (
	"context"
	"slices"
	"strings"

	"spendsync/extract/service"
)

// Sources reads the source settings of a campaign: its mode, its lists, its bids
// per source. The entity has the campaign's ID. A campaign that the account does
// not have is [ErrNotFound].
func (c *Client) Sources(ctx context.Context, campaignID string) (Entity, error) {
	if !IsID(campaignID) {
		return Entity{}, refuse("campaign", campaignID)
	}
	e, err := c.entity(ctx, KindSources, campaignID, "source settings of "+campaignID,
		c.service.Path("sources", campaignID))
	return e, notFound(err)
}

func sourcesResource(s *service.Service, campaignID string) resource {
	return resource{
		service: s, name: "source settings", wrappers: s.Names("wrappers.sources"),
		is: func(fields map[string]Value) (foundID, error) {
			for name, v := range fields {
				if speaksOfSources(s, name, v) {
					return foundID{id: campaignID, sure: certain}, nil
				}
			}
			return foundID{}, nil
		},
	}
}

// speaksOfSources reports whether a member shows that the object holds source
// settings. Which of them, and in which form, is the business of package transform.
func speaksOfSources(s *service.Service, name string, v Value) bool {
	if slices.Contains(s.Names("sources.one_list"), name) {
		_, list := v.Array() // an object is one that they are wrapped in
		return list
	}
	for _, line := range []string{"mode", "blocked", "allowed", "optimized", "bid_overrides"} {
		if slices.Contains(s.Names("sources."+line), name) {
			return true
		}
	}
	for _, part := range []string{"mode", "blocked", "allowed", "bid"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
