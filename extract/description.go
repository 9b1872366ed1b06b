package extract

import (
	"context"
	"strconv"
	"strings"

	"spendsync/extract/openapi"
	"spendsync/extract/service"
)

// Drift reads the service's own description at /v1/openapi.json, and returns the version of the API and one sentence
// for each difference from what we rely on.
func (c *Client) Drift(ctx context.Context) (version string, drift []string, err error) {
	var d openapi.Description
	path := c.service.Path("openapi", "")
	_, err = c.read(ctx, question{what: "openapi.json", path: path, accept: func(body []byte) error {
		if d, err = openapi.Parse(body); err != nil {
			return contractf("openapi.json: %v", err)
		}
		return nil
	}})
	if err != nil {
		return "", nil, err
	}
	return d.Version, d.Drift(reliances(c.service)), nil
}

// reliances are all questions that we ask the advertiser API.
func reliances(s *service.Service) []openapi.Reliance {
	paging := func(statuses []string) map[string][]string {
		asked := map[string][]string{s.Text("paging.status"): statuses,
			s.Text("paging.limit"): {strconv.Itoa(listLimit)}}
		switch by := s.Text("paging.by"); by {
		case "offset":
			asked[s.Text("paging.offset")] = []string{"0", strconv.Itoa(maxOffset)}
		default:
			asked[s.Text("paging."+by)] = nil
		}
		return asked
	}
	fields := func(entity string, names ...string) (first []string) {
		for _, name := range names {
			first = append(first, s.Names(entity + "." + name)[0])
		}
		return first
	}
	path := func(name string) string { return "/" + strings.Replace(s.Text("paths."+name), "{id}", "{}", 1) }
	return []openapi.Reliance{
		{Path: path("me")}, {Path: path("limits")}, {Path: path("balance")},
		{Path: path("campaigns"), Query: paging(s.Texts("statuses.campaign")),
			Fields: fields("campaign", "name", "status")},
		{Path: path("campaign"), Fields: fields("campaign",
			"name", "status", "default_bid", "daily_spend_limit", "target_cpa", "audience")},
		{Path: path("creatives"), Query: paging(s.Texts("statuses.creative")),
			Fields: fields("creative", "title", "message", "link", "status")},
		{Path: path("sources")},
	}
}
