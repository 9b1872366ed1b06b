package extract

import (
	"context"
	"strconv"

	"spendsync/extract/openapi"
)

// Drift reads the service's own description at /v1/openapi.json, and returns the version of the API and one sentence
// for each difference from what we rely on.
func (c *Client) Drift(ctx context.Context) (version string, drift []string, err error) {
	var d openapi.Description
	_, err = c.read(ctx, question{what: "openapi.json", path: "v1/openapi.json", accept: func(body []byte) error {
		if d, err = openapi.Parse(body); err != nil {
			return contractf("openapi.json: %v", err)
		}
		return nil
	}})
	if err != nil {
		return "", nil, err
	}
	return d.Version, d.Drift(reliances()), nil
}

// reliances are all questions that we ask the advertiser API.
func reliances() []openapi.Reliance {
	paging := func(statuses []string) map[string][]string {
		return map[string][]string{"status": statuses, "limit": {strconv.Itoa(listLimit)},
			"offset": {"0", strconv.Itoa(maxOffset)}}
	}
	campaign := []string{"name", "status", "default_bid", "daily_spend_limit", "target_cpa", "audience"}
	return []openapi.Reliance{
		{Path: "/v1/me"}, {Path: "/v1/limits"}, {Path: "/v1/balance"},
		{Path: "/v1/campaigns", Query: paging(campaignStatuses()), Fields: []string{"name", "status"}},
		{Path: "/v1/campaigns/{}", Fields: campaign},
		{Path: "/v1/campaigns/{}/creatives", Query: paging(creativeStatuses()),
			Fields: []string{"title", "message", "link", "status"}},
		{Path: "/v1/campaigns/{}/sources"},
	}
}
