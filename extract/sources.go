package extract

import (
	"context"

	"spendsync/extract/service"
)

// Sources reads the source settings of a campaign: its mode, its lists, its bids
// per source. The entity has the campaign's ID. A campaign that the account does
// not have is [ErrNotFound].
func (c *Client) Sources(ctx context.Context, campaignID string) (Entity, error) {
	return entity(ctx, c, KindSources, "sources", campaignID)
}

// sourcesResource is the object with a key of the lines of sources. Which of them, and in which form, is the business
// of package transform.
func sourcesResource(s *service.Service, campaignID string) resource {
	return resource{service: s, name: "source settings", line: "sources.mode, blocked, allowed or bid_overrides",
		id: func(fields map[string]Value) (string, bool) {
			for _, line := range []string{"mode", "blocked", "allowed", "optimized", "bid_overrides", "one_list"} {
				for _, key := range s.Names("sources." + line) {
					// Under the key of a list there may be an object, in which the settings are.
					v, there := fields[key]
					if _, isObject := v.Object(); there && (line != "one_list" || !isObject) {
						return campaignID, true
					}
				}
			}
			return "", false
		}}
}
