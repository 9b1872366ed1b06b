package extract

import (
	"context"

	"spendsync/extract/service"
)

// Sources reads the source settings of a campaign: its mode, its lists, and its bids per source. The entity's ID is the
// campaign's. The error is [ErrNotFound] if the account does not have the campaign.
func (c *Client) Sources(ctx context.Context, campaignID string) (Entity, error) {
	return entity(ctx, c, KindSources, "sources", campaignID)
}

// sourcesResource recognizes the source settings by any key from the section sources. Package transform decides which
// keys count and in which form.
func sourcesResource(s *service.Service, campaignID string) resource {
	return resource{service: s, name: "source settings", line: "sources.mode, blocked, allowed or bid_overrides",
		id: func(fields map[string]Value) (string, bool) {
			for _, line := range []string{"mode", "blocked", "allowed", "optimized", "bid_overrides", "one_list"} {
				for _, key := range s.Names("sources." + line) {
					// The key under one_list does not identify source settings if its value is an object: such an
					// object may contain all of the settings.
					v, there := fields[key]
					if _, isObject := v.Object(); there && (line != "one_list" || !isObject) {
						return campaignID, true
					}
				}
			}
			return "", false
		}}
}
