package advertiser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/wire"
)

// Operation is one row of the description's table: what REST serves, what a tool
// of MCP is, and what openapi.json describes.
type Operation struct {
	Name, Method, Path string // the path as in "/v1/campaigns/{campaign_id}"
	Summary            string
	Write              bool // needs a key that may write
	status             int  // of success
	Params             []param
	Body               *schema
	bodyOptional       bool
	reply              string // its name among the responses of openapi.json
	answer             func(*API, *Call) wire.Reply
	NotTool            bool
}

// param is a parameter of the query.
type param struct {
	Name   string
	Schema *schema
}

// InPath is the parameter of the path, "" for none.
func (op *Operation) InPath() string {
	_, rest, has := strings.Cut(op.Path, "{")
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
		"country":                          enumOf(market.AudienceCountries...),
		"states":                           listOf(enumOf(market.UsStates...), 0, 50),
		"platforms":                        listOf(enumOf(market.AudiencePlatforms...), 1, 4),
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

// Operations are all of the advertiser API that a Bearer key may do.
func Operations() []*Operation {
	list := slices.Concat(accountOperations(), campaignOperations(), creativeOperations(), sourceOperations())
	return append(list, &Operation{Name: "get_openapi", Method: http.MethodGet, Path: "/v1/openapi.json", status: 200,
		reply: "OpenAPI", answer: (*API).openAPI, NotTool: true,
		Summary: "This description."})
}

func accountOperations() []*Operation {
	return []*Operation{
		{Name: "get_api_key_info", Method: "GET", Path: "/v1/me", status: 200, reply: "Me", answer: (*API).me,
			Summary: "The account that the key acts on, and whether it can make changes."},
		{Name: "get_limits", Method: "GET", Path: "/v1/limits", status: 200, reply: "Limits", answer: (*API).limits,
			Summary: "How much of the day's change budget is used."},
		{Name: "get_balance", Method: "GET", Path: "/v1/balance", status: 200, reply: "Balance",
			answer:  (*API).balance,
			Params:  []param{{"fresh", flagOf(nil).about("Skips the cache of 10 minutes.")}},
			Summary: "The account's balance, as of the last 10 minutes."},
		{Name: "upload_image", Method: "POST", Path: "/v1/images", Write: true, status: 201, reply: "Image",
			answer: (*API).uploadImage,
			Body:   uploadBody, Summary: "Upload an icon (1:1) or a large image (2:1): PNG, JPEG or GIF, at " +
				"most 700 KB."},
	}
}

func campaignOperations() []*Operation {
	const all, one = "/v1/campaigns", "/v1/campaigns/{campaign_id}"
	return []*Operation{
		{Name: "list_campaigns", Method: "GET", Path: all, status: 200, reply: "Campaigns",
			answer: (*API).listCampaigns,
			Params: append(
				[]param{statusParam(market.CampaignStatuses, market.CampaignStatuses[:2]), {"search", textOf(0, 100)}},
				pageParams...),
			Summary: "Campaigns, newest first."},
		{Name: "create_campaign", Method: "POST", Path: all, Write: true, status: 201, reply: "Campaign",
			answer: (*API).createCampaign,
			Body: objectOf([]string{"name", "audience", "default_bid", "daily_spend_limit"},
				with(campaignFields(), "status", enumOf("active", "paused").defaults("active"))),
			Summary: "Create a campaign."},
		{Name: "get_campaign", Method: "GET", Path: one, status: 200, reply: "Campaign", answer: (*API).getCampaign,
			Summary: "One campaign with its settings."},
		{Name: "update_campaign", Method: "PATCH", Path: one, Write: true, status: 200, reply: "Campaign",
			answer: (*API).updateCampaign,
			Body:   objectOf(nil, campaignFields()).atLeastOne(), Summary: "Change the fields that are sent. Amounts " +
				"can at most double."},
		{Name: "set_campaign_status", Method: "POST", Path: one + "/status", Write: true, status: 200,
			reply: "Campaign", answer: (*API).setCampaignStatus,
			Body:    objectOf([]string{"status"}, map[string]*schema{"status": enumOf("active", "paused", "archived")}),
			Summary: "Activate, pause or archive a campaign. Pausing is never limited; archived is permanent."},
		{Name: "clone_campaign", Method: "POST", Path: one + "/clone", Write: true, status: 201,
			reply: "ClonedCampaign", answer: (*API).cloneCampaign,
			Body: objectOf([]string{"name"}, map[string]*schema{"name": wordsOf(1, 100),
				"include_creatives": flagOf(true),
				"status":            enumOf("active", "paused").defaults("paused"),
				"daily_spend_limit": dailyLimitSchema}),
			Summary: "Copy a campaign, with up to 20 of its newest creatives."},
	}
}

func creativeOperations() []*Operation {
	const all, one = "/v1/campaigns/{campaign_id}/creatives", "/v1/creatives/{creative_id}"
	create := objectOf([]string{"creatives"}, map[string]*schema{
		"creatives": {Type: "array", MinItems: 1, MaxItems: 20, Items: objectOf(nil, creativeFields()).atLeastOne()},
		"draft": flagOf(false).about("Without it the creatives are submitted for review, and need title, " +
			"message, link and icon_id."),
	})
	return []*Operation{
		{Name: "list_creatives", Method: "GET", Path: all, status: 200, reply: "Creatives",
			answer:  (*API).listCreatives,
			Params:  append([]param{statusParam(market.CreativeStatuses, market.CreativeStatuses[:5])}, pageParams...),
			Summary: "Creatives of a campaign, newest first."},
		{Name: "create_creatives", Method: "POST", Path: all, Write: true, status: 201, reply: "CreatedCreatives",
			answer: (*API).createCreatives,
			Body:   create, Summary: "Create up to 20 creatives and submit them for review."},
		{Name: "get_creative", Method: "GET", Path: one, status: 200, reply: "Creative", answer: (*API).getCreative,
			Summary: "One creative with its status and the review's feedback."},
		{Name: "update_creative", Method: "PATCH", Path: one, Write: true, status: 200, reply: "Creative",
			answer: (*API).updateCreative,
			Body: objectOf(nil, with(creativeFields(), "submit_for_review", flagOf(nil).about("For a draft."))).
				atLeastOne(),
			Summary: "Change a creative. Of one that runs, a new version goes to review while it keeps running."},
		{Name: "set_creative_status", Method: "POST", Path: one + "/status", Write: true, status: 200,
			reply: "Creative", answer: (*API).setCreativeStatus,
			Body:    objectOf([]string{"status"}, map[string]*schema{"status": enumOf("active", "paused", "archived")}),
			Summary: "Activate, pause or archive a creative. Pausing is never limited; archived is permanent."},
		{Name: "clone_creative", Method: "POST", Path: one + "/clone", Write: true, status: 201, reply: "Creative",
			answer: (*API).cloneCreative, bodyOptional: true,
			Body: objectOf(nil, with(creativeFields(), "campaign_id", patternOf(campaignIDForm), "draft",
				flagOf(false))),
			Summary: "Copy a creative into the same or another campaign, with changes."},
	}
}

func sourceOperations() []*Operation {
	const path = "/v1/campaigns/{campaign_id}/sources"
	bids := sourcesBody()
	with(bids.Properties, "bid", bidSchema.orNull().about("US dollars per click, at most three times the campaign's "+
		"default; null goes back to that."),
		"optimize", flagOf(nil).about("Hands the sources to source optimization; needs a target_cpa."))
	change := func(name, verb, summary string) *Operation {
		return &Operation{Name: name, Method: "POST", Path: path + "/" + verb, Write: true, status: 200,
			reply: "SourceChange",
			Body:  sourcesBody(), Summary: summary, answer: func(s *API, c *Call) wire.Reply {
				return s.changeSourceList(c, verb)
			}}
	}
	return []*Operation{
		{Name: "get_source_settings", Method: "GET", Path: path, status: 200, reply: "SourceSettings",
			answer:  (*API).getSources,
			Summary: "The mode, the sources blocked or allowed by hand, and the bids of single sources."},
		{Name: "set_source_bids", Method: "POST", Path: path + "/bids", Write: true, status: 200, reply: "SourceChange",
			answer: (*API).setSourceBids,
			Body:   bids, Summary: "Set the bid of sources, or leave it to source optimization."},
		change("block_sources", "block", "Stop buying from sources (block-list campaigns)."),
		change("unblock_sources", "unblock", "Buy from blocked sources again."),
		change("allow_sources", "allow", "Buy from more sources (allow-list campaigns)."),
		change("disallow_sources", "disallow", "Stop buying from allowed sources; the last one stays."),
	}
}

// route finds what a method and a path stand for. It gives the methods that the
// path has, nil for a path that there is not.
func (s *API) route(c *Call, method, path string) (allow []string) {
	rest, ok := strings.CutPrefix(path, wire.APIPrefix)
	if !ok {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(rest, "/v1/"), "/")
	for _, op := range s.Operations {
		if !fitsPath(op.Path, rest) {
			continue
		}
		allow = append(allow, op.Method)
		if op.Method == method {
			c.Op, c.path = op, parts
		}
	}
	return allow
}

// fitsPath reports whether a path is of a form with parameters in braces.
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

// Input is the schema of the tool's arguments: the parameters of path and query and
// the fields of the body, under their names there.
func (op *Operation) Input() *schema {
	in := objectOf(nil, map[string]*schema{})
	if name := op.InPath(); name != "" {
		in.Properties[name] = idSchema(name)
		in.Required = append(in.Required, name)
	}
	for _, p := range op.Params {
		in.Properties[p.Name] = p.Schema
	}
	if op.Body != nil {
		maps.Copy(in.Properties, op.Body.Properties)
		in.Required = append(in.Required, op.Body.Required...)
		if op.Body.MinFields > 0 {
			in.MinFields = op.Body.MinFields + 1
		}
	}
	return in
}

// TakeArguments parts the arguments into path, query and body.
func (c *Call) TakeArguments(raw json.RawMessage) *problem {
	args, err := parseBody(raw)
	if err != nil {
		return invalidField("", "%v", err)
	}
	if found := c.Op.Input().check(nil, "", map[string]any(args)); len(found) > 0 {
		return invalidFields(found)
	}
	path := c.Op.Path
	if name := c.Op.InPath(); name != "" {
		path = strings.Replace(path, "{"+name+"}", args.text(name), 1)
		delete(args, name)
	}
	c.path = strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	for _, p := range c.Op.Params {
		if args.has(p.Name) {
			c.Query.Set(p.Name, queryText(args[p.Name]))
			delete(args, p.Name)
		}
	}
	if c.Op.Body != nil {
		c.raw, err = json.Marshal(args)
	}
	if err != nil {
		return invalidField("", "%v", err)
	}
	return nil
}

// queryText is an argument as a query has it.
func queryText(v any) string {
	if list, ok := v.([]any); ok {
		words := make([]string, len(list))
		for i, e := range list {
			words[i] = fmt.Sprint(e)
		}
		return strings.Join(words, ",")
	}
	if n, ok := v.(json.Number); ok {
		f, _ := n.Float64() // the schema has seen that it is one
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
