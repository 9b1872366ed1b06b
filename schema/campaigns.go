package schema

// Campaign is one version of a campaign's settings. A field is NULL if it is not set, or if it has never been readable;
// the column read_state distinguishes the two cases.
type Campaign struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Campaign.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	Frame
	// Name.
	Name Null[string] `col:"name" id:"3"`
	// active, paused, archived or rejected.
	Status Null[string] `col:"status" id:"4"`
	// US dollars per click.
	DefaultBid Null[Money] `col:"default_bid" id:"5" precision:"12"`
	// US dollars per day. NULL: no limit.
	DailySpendLimit Null[Money] `col:"daily_spend_limit" id:"6"`
	// US dollars per conversion. NULL: source optimization is off.
	TargetCPA Null[Money] `col:"target_cpa" id:"7"`
	// When delivery may start.
	StartAt Null[Instant] `col:"start_at" id:"8"`
	// When delivery stops. NULL: never.
	EndAt Null[Instant] `col:"end_at" id:"9"`
	// Audience: country. NULL: everywhere.
	Country Null[string] `col:"country" id:"10"`
	// Audience: US states, sorted, comma-joined.
	States Null[string] `col:"states" id:"11"`
	// Audience: platforms, sorted, comma-joined.
	Platforms Null[string] `col:"platforms" id:"12"`
	// Audience: subscribed more than this many minutes ago.
	SubscribedMoreThan Null[int64] `col:"subscribed_more_than_minutes_ago" id:"13"`
	// Audience: subscribed less than this many minutes ago.
	SubscribedLessThan Null[int64] `col:"subscribed_less_than_minutes_ago" id:"14"`
	// Audience: minimum age in years.
	MinAge Null[int64] `col:"min_age" id:"15"`
	// Audience: maximum age in years.
	MaxAge Null[int64] `col:"max_age" id:"16"`
	// Audience: M or F. NULL: both.
	Gender Null[string] `col:"gender" id:"17"`
	// block_list: buys everywhere except blocked sources; allow_list: only from allowed ones.
	SourceMode Null[string] `col:"source_mode" id:"18"`
	// Whether the audience has exclusion rules that only the dashboard shows.
	UnsupportedTargeting Null[bool] `col:"unsupported_targeting" id:"19"`
	// JSON of the campaign when this version was first read, or when the JSON last gained a key.
	Raw Null[string] `col:"raw" id:"20" history:"no"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"21"`
}

// CampaignHistory keeps every version of every campaign's settings.
var CampaignHistory = Define[Campaign]("campaign_history", ByAccount,
	"History: main.campaign has the settings of now, campaign_at(day) those of a day, main.spend both beside the "+
		"spend. Every version of every campaign's settings that we saw, one row a version: a join with spend by "+
		"campaign_id counts the spend once for each version.",
	Stubbed(), DeletedAfter(2))

// Delivery is one version of a campaign's delivery status. The delivery status changes often, so it has a history of
// its own.
type Delivery struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Campaign.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	Frame
	// Why the campaign delivers or does not, in the service's words.
	DeliveryStatus Null[string] `col:"delivery_status" id:"3"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"4"`
}

// DeliveryHistory keeps every delivery status of every campaign.
var DeliveryHistory = Define[Delivery]("campaign_delivery_history", ByAccount,
	"History: main.campaign has the delivery status of now. Every delivery status of every campaign that we saw, one "+
		"row a version. A status that could not be read is no change.",
	DeletedAfter(2))
