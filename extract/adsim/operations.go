package adsim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// operation is one row of the description's table: what REST serves, what a tool
// of MCP is, and what openapi.json tells.
type operation struct {
	name, method, path string // the path as in "/v1/campaigns/{campaign_id}"
	summary            string
	write              bool // needs a key that may write
	status             int  // of success
	params             []param
	body               *schema
	bodyOptional       bool
	reply              string // its name among the responses of openapi.json
	answer             func(*api, *call) reply
	notTool            bool
}

// param is a parameter of the query.
type param struct {
	name   string
	schema *schema
}

// inPath is the parameter of the path, "" for none.
func (op *operation) inPath() string {
	_, rest, has := strings.Cut(op.path, "{")
	if !has {
		return ""
	}
	name, _, _ := strings.Cut(rest, "}")
	return name
}

// The forms of the IDs.
const (
	campaignIDForm = `^C[0-9]{7,10}$`
	creativeIDForm = `^C[0-9]{7,10}-[0-9]{3,6}$`
	sourceIDForm   = `^[A-Za-z0-9_-]{1,40}$`
	imageIDForm    = `^[0-9a-f]{24}$`
)

// idSchema is the form of the ID in a path.
func idSchema(name string) *schema {
	if name == "creative_id" {
		return patternOf(creativeIDForm)
	}
	return patternOf(campaignIDForm)
}

var (
	bidSchema        = amountOf("0.1", "25").about("US dollars per click.")
	dailyLimitSchema = amountOf("100", "1000000").about("US dollars a day.")
	targetCPASchema  = amountOf("1", "10000").orNull().about("US dollars; setting it turns on source optimization, " +
		"null turns it off.")
	minutesSchema = integerOf("1", "5256000")
	ageSchema     = integerOf("13", "120")

	audienceSchema = objectOf(nil, map[string]*schema{
		"country":                          enumOf(audienceCountries...),
		"states":                           listOf(enumOf(usStates...), 0, 50),
		"platforms":                        listOf(enumOf(audiencePlatforms...), 1, 4),
		"subscribed_more_than_minutes_ago": minutesSchema,
		"subscribed_less_than_minutes_ago": minutesSchema,
		"min_age":                          ageSchema,
		"max_age":                          ageSchema,
		"gender":                           enumOf("M", "F"),
	}).about("Replaces the whole audience; an empty object targets everyone.")
)

func creativeFields() map[string]*schema {
	link := textOf(1, 2000)
	link.Pattern = `^https?://\S`
	return map[string]*schema{
		"title":    textOf(1, 100),
		"message":  textOf(1, 200),
		"link":     link,
		"image_id": patternOf(imageIDForm).orNull(),
		"icon_id":  patternOf(imageIDForm),
		"button1":  wordsOf(1, 25).orNull().about("Click Here where it is not given; null clears it."),
		"button2":  wordsOf(1, 25).orNull(),
	}
}

// with is fields and more of them.
func with(fields map[string]*schema, name string, s *schema, more ...any) map[string]*schema {
	fields[name] = s
	for i := 0; i < len(more); i += 2 {
		fields[more[i].(string)] = more[i+1].(*schema)
	}
	return fields
}

func campaignFields() map[string]*schema {
	return map[string]*schema{
		"name": wordsOf(1, 100), "audience": audienceSchema, "default_bid": bidSchema,
		"daily_spend_limit": dailyLimitSchema,
		"target_cpa":        targetCPASchema, "start_date": instantOf(), "end_date": instantOf().orNull(),
	}
}

func sourcesBody() *schema {
	return objectOf([]string{"source_ids"}, map[string]*schema{
		"source_ids": listOf(patternOf(sourceIDForm), 1, 50), "dry_run": flagOf(false),
	})
}

func statusParam(known, byDefault []string) param {
	s := listOf(enumOf(known...), 1, len(known))
	s.Default = byDefault
	return param{"status", s}
}

var pageParams = []param{{"limit", integerOf("1", "100").defaults(25)}, {"offset", integerOf("0", "10000").defaults(0)}}

// operations are all of the advertiser API that a Bearer key may do.
func operations() []*operation {
	list := slices.Concat(accountOperations(), campaignOperations(), creativeOperations(), sourceOperations())
	return append(list, &operation{name: "get_openapi", method: http.MethodGet, path: "/v1/openapi.json", status: 200,
		reply: "OpenAPI", answer: (*api).openAPI, notTool: true,
		summary: "This description."})
}

func accountOperations() []*operation {
	return []*operation{
		{name: "get_api_key_info", method: "GET", path: "/v1/me", status: 200, reply: "Me", answer: (*api).me,
			summary: "The account that the key acts on, and whether it can make changes."},
		{name: "get_limits", method: "GET", path: "/v1/limits", status: 200, reply: "Limits", answer: (*api).limits,
			summary: "How much of the day's change budget is used."},
		{name: "get_balance", method: "GET", path: "/v1/balance", status: 200, reply: "Balance",
			answer:  (*api).balance,
			params:  []param{{"fresh", flagOf(nil).about("Skips the cache of 10 minutes.")}},
			summary: "The account's balance, as of the last 10 minutes."},
		{name: "upload_image", method: "POST", path: "/v1/images", write: true, status: 201, reply: "Image",
			answer: (*api).uploadImage,
			body:   uploadBody, summary: "Upload an icon (1:1) or a large image (2:1): PNG, JPEG or GIF, at " +
				"most 700 KB."},
	}
}

func campaignOperations() []*operation {
	const all, one = "/v1/campaigns", "/v1/campaigns/{campaign_id}"
	return []*operation{
		{name: "list_campaigns", method: "GET", path: all, status: 200, reply: "Campaigns",
			answer: (*api).listCampaigns,
			params: append([]param{statusParam(campaignStatuses, campaignStatuses[:2]), {"search", textOf(0, 100)}},
				pageParams...),
			summary: "Campaigns, newest first."},
		{name: "create_campaign", method: "POST", path: all, write: true, status: 201, reply: "Campaign",
			answer: (*api).createCampaign,
			body: objectOf([]string{"name", "audience", "default_bid", "daily_spend_limit"},
				with(campaignFields(), "status", enumOf("active", "paused").defaults("active"))),
			summary: "Create a campaign."},
		{name: "get_campaign", method: "GET", path: one, status: 200, reply: "Campaign", answer: (*api).getCampaign,
			summary: "One campaign with its settings."},
		{name: "update_campaign", method: "PATCH", path: one, write: true, status: 200, reply: "Campaign",
			answer: (*api).updateCampaign,
			body:   objectOf(nil, campaignFields()).atLeastOne(), summary: "Change the fields that are sent. Amounts " +
				"can at most double."},
		{name: "set_campaign_status", method: "POST", path: one + "/status", write: true, status: 200,
			reply: "Campaign", answer: (*api).setCampaignStatus,
			body:    objectOf([]string{"status"}, map[string]*schema{"status": enumOf("active", "paused", "archived")}),
			summary: "Activate, pause or archive a campaign. Pausing is never limited; archived is permanent."},
		{name: "clone_campaign", method: "POST", path: one + "/clone", write: true, status: 201,
			reply: "ClonedCampaign", answer: (*api).cloneCampaign,
			body: objectOf([]string{"name"}, map[string]*schema{"name": wordsOf(1, 100),
				"include_creatives": flagOf(true),
				"status":            enumOf("active", "paused").defaults("paused"),
				"daily_spend_limit": dailyLimitSchema}),
			summary: "Copy a campaign, with up to 20 of its newest creatives."},
	}
}

func creativeOperations() []*operation {
	const all, one = "/v1/campaigns/{campaign_id}/creatives", "/v1/creatives/{creative_id}"
	create := objectOf([]string{"creatives"}, map[string]*schema{
		"creatives": {Type: "array", MinItems: 1, MaxItems: 20, Items: objectOf(nil, creativeFields()).atLeastOne()},
		"draft": flagOf(false).about("Without it the creatives are submitted for review, and need title, " +
			"message, link and icon_id."),
	})
	return []*operation{
		{name: "list_creatives", method: "GET", path: all, status: 200, reply: "Creatives",
			answer:  (*api).listCreatives,
			params:  append([]param{statusParam(creativeStatuses, creativeStatuses[:5])}, pageParams...),
			summary: "Creatives of a campaign, newest first."},
		{name: "create_creatives", method: "POST", path: all, write: true, status: 201, reply: "CreatedCreatives",
			answer: (*api).createCreatives,
			body:   create, summary: "Create up to 20 creatives and submit them for review."},
		{name: "get_creative", method: "GET", path: one, status: 200, reply: "Creative", answer: (*api).getCreative,
			summary: "One creative with its status and the review's feedback."},
		{name: "update_creative", method: "PATCH", path: one, write: true, status: 200, reply: "Creative",
			answer: (*api).updateCreative,
			body: objectOf(nil, with(creativeFields(), "submit_for_review", flagOf(nil).about("For a draft."))).
				atLeastOne(),
			summary: "Change a creative. Of one that runs, a new version goes to review while it keeps running."},
		{name: "set_creative_status", method: "POST", path: one + "/status", write: true, status: 200,
			reply: "Creative", answer: (*api).setCreativeStatus,
			body:    objectOf([]string{"status"}, map[string]*schema{"status": enumOf("active", "paused", "archived")}),
			summary: "Activate, pause or archive a creative. Pausing is never limited; archived is permanent."},
		{name: "clone_creative", method: "POST", path: one + "/clone", write: true, status: 201, reply: "Creative",
			answer: (*api).cloneCreative, bodyOptional: true,
			body: objectOf(nil, with(creativeFields(), "campaign_id", patternOf(campaignIDForm), "draft",
				flagOf(false))),
			summary: "Copy a creative into the same or another campaign, with changes."},
	}
}

func sourceOperations() []*operation {
	const path = "/v1/campaigns/{campaign_id}/sources"
	bids := sourcesBody()
	with(bids.Properties, "bid", bidSchema.orNull().about("US dollars per click, at most three times the campaign's "+
		"default; null goes back to that."),
		"optimize", flagOf(nil).about("Hands the sources to source optimization; needs a target_cpa."))
	change := func(name, verb, summary string) *operation {
		return &operation{name: name, method: "POST", path: path + "/" + verb, write: true, status: 200,
			reply: "SourceChange",
			body:  sourcesBody(), summary: summary, answer: func(s *api, c *call) reply {
				return s.changeSourceList(c, verb)
			}}
	}
	return []*operation{
		{name: "get_source_settings", method: "GET", path: path, status: 200, reply: "SourceSettings",
			answer:  (*api).getSources,
			summary: "The mode, the sources blocked or allowed by hand, and the bids of single sources."},
		{name: "set_source_bids", method: "POST", path: path + "/bids", write: true, status: 200, reply: "SourceChange",
			answer: (*api).setSourceBids,
			body:   bids, summary: "Set the bid of sources, or leave it to source optimization."},
		change("block_sources", "block", "Stop buying from sources (block-list campaigns)."),
		change("unblock_sources", "unblock", "Buy from blocked sources again."),
		change("allow_sources", "allow", "Buy from more sources (allow-list campaigns)."),
		change("disallow_sources", "disallow", "Stop buying from allowed sources; the last one stays."),
	}
}

// route finds what a method and a path stand for. It gives the methods that the
// path has, nil for a path that there is not.
func (s *api) route(c *call, method, path string) (allow []string) {
	rest, ok := strings.CutPrefix(path, APIPrefix)
	if !ok {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(rest, "/v1/"), "/")
	for _, op := range s.operations {
		if !fitsPath(op.path, rest) {
			continue
		}
		allow = append(allow, op.method)
		if op.method == method {
			c.op, c.path = op, parts
		}
	}
	return allow
}

// fitsPath says whether a path is of a form with parameters in braces.
func fitsPath(form, path string) bool {
	want, got := strings.Split(form, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, part := range want {
		if part != got[i] && !strings.HasPrefix(part, "{") {
			return false
		}
	}
	return true
}

// input is the schema of the tool's arguments: the parameters of path and query and
// the fields of the body, under their names there.
func (op *operation) input() *schema {
	in := objectOf(nil, map[string]*schema{})
	if name := op.inPath(); name != "" {
		in.Properties[name] = idSchema(name)
		in.Required = append(in.Required, name)
	}
	for _, p := range op.params {
		in.Properties[p.name] = p.schema
	}
	if op.body != nil {
		maps.Copy(in.Properties, op.body.Properties)
		in.Required = append(in.Required, op.body.Required...)
		if op.body.MinFields > 0 {
			in.MinFields = op.body.MinFields + 1
		}
	}
	return in
}
