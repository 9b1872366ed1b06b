package schema

// Campaign is one version of a campaign's settings. A field is NULL where the
// service says that it is not set, and where it has never been readable; the
// read state tells the two apart.
type Campaign struct {
	AccountID  string `col:"account_id" id:"1" key:"true" doc:"Short name of the account in this warehouse."`
	CampaignID string `col:"campaign_id" id:"2" key:"true" doc:"Campaign."`
	Frame
	Name                 Null[string]  `col:"name" id:"3" doc:"Name."`
	Status               Null[string]  `col:"status" id:"4" doc:"active, paused, archived or rejected."`
	DefaultBid           Null[Money]   `col:"default_bid" id:"5" precision:"12" doc:"US dollars per click."`
	DailySpendLimit      Null[Money]   `col:"daily_spend_limit" id:"6" doc:"US dollars per day. NULL: no limit."`
	TargetCPA            Null[Money]   `col:"target_cpa" id:"7" doc:"US dollars per conversion. NULL: source optimization is off."`
	StartAt              Null[Instant] `col:"start_at" id:"8" doc:"When delivery may start."`
	EndAt                Null[Instant] `col:"end_at" id:"9" doc:"When delivery stops. NULL: never."`
	Country              Null[string]  `col:"country" id:"10" doc:"Audience: country. NULL: everywhere."`
	States               Null[string]  `col:"states" id:"11" doc:"Audience: US states, sorted, comma-joined."`
	Platforms            Null[string]  `col:"platforms" id:"12" doc:"Audience: platforms, sorted, comma-joined."`
	SubscribedMoreThan   Null[int64]   `col:"subscribed_more_than_minutes_ago" id:"13" doc:"Audience: subscribed more than so many minutes ago."`
	SubscribedLessThan   Null[int64]   `col:"subscribed_less_than_minutes_ago" id:"14" doc:"Audience: subscribed less than so many minutes ago."`
	MinAge               Null[int64]   `col:"min_age" id:"15" doc:"Audience: youngest, in years."`
	MaxAge               Null[int64]   `col:"max_age" id:"16" doc:"Audience: oldest, in years."`
	Gender               Null[string]  `col:"gender" id:"17" doc:"Audience: M or F. NULL: both."`
	SourceMode           Null[string]  `col:"source_mode" id:"18" doc:"block_list: buys everywhere except blocked sources; allow_list: only from allowed ones."`
	UnsupportedTargeting Null[bool]    `col:"unsupported_targeting" id:"19" doc:"Whether the audience has exclusion rules that only the dashboard shows."`
	Raw                  Null[string]  `col:"raw" id:"20" history:"no" doc:"The campaign's own JSON when this version was first read."`
	RunID                string        `col:"_run_id" id:"21" doc:"Run that last changed the row."`
}

// CampaignHistory keeps every version of every campaign's settings.
var CampaignHistory = Define[Campaign]("campaign_history", ByAccount,
	"Every version of every campaign's settings that we saw. The service shows settings as they are now and forgets.",
	Stubbed(), DeletedAfter(2))

// Delivery is one version of a campaign's delivery status, which flips often and
// so has a history of its own.
type Delivery struct {
	AccountID  string `col:"account_id" id:"1" key:"true" doc:"Short name of the account in this warehouse."`
	CampaignID string `col:"campaign_id" id:"2" key:"true" doc:"Campaign."`
	Frame
	DeliveryStatus Null[string] `col:"delivery_status" id:"3" doc:"Why the campaign delivers or does not, in the service's words."`
	RunID          string       `col:"_run_id" id:"4" doc:"Run that last changed the row."`
}

// DeliveryHistory keeps every delivery status of every campaign.
var DeliveryHistory = Define[Delivery]("campaign_delivery_history", ByAccount,
	"Every delivery status of every campaign that we saw. A status that could not be read is no change.",
	DeletedAfter(2))
