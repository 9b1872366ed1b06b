package schema

import "slices"

// CampaignDay is one campaign on one day: a row of the view mart.campaign_day.
type CampaignDay struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Chicago calendar day.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// ID of the campaign.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Name of the campaign at the end of the day.
	CampaignName Null[string] `col:"campaign_name" id:"4"`
	// Status of the campaign at the end of the day.
	Status Null[string] `col:"status" id:"5"`
	// Delivery status at the end of the day: whether the campaign was delivering, or why not. NULL: not known.
	DeliveryStatus Null[string] `col:"delivery_status" id:"6"`
	// Default bid at the end of the day, in US dollars per click.
	DefaultBid Null[Money] `col:"default_bid" id:"7" precision:"12"`
	// Daily spend limit at the end of the day, in US dollars. NULL: none set, or not known.
	DailySpendLimit Null[Money] `col:"daily_spend_limit" id:"8"`
	// Target CPA at the end of the day, in US dollars per conversion. NULL: none set, or not known.
	TargetCPA Null[Money] `col:"target_cpa" id:"9"`
	// Country of the audience at the end of the day.
	Country Null[string] `col:"country" id:"10"`
	// block_list or allow_list at the end of the day.
	SourceMode Null[string] `col:"source_mode" id:"11"`
	// Whether the settings are uncertain: they were first read after the day, or differ between the readings before and
	// after its end. NULL: never read.
	IsAssumed Null[bool] `col:"is_assumed" id:"12"`
	// Whether a change of the settings was seen within the day.
	SettingsChanged bool `col:"settings_changed" id:"13"`
	// Coverage of the day: see ops.day_coverage.
	CoverageState string `col:"coverage_state" id:"14"`
	// Whether the day is stored. If not, the measures are NULL; if so, 0 means none.
	IsCovered bool `col:"is_covered" id:"15"`
	// Whether the day is out of the report's reach, so that no restatement can arrive.
	IsFinal bool `col:"is_final" id:"16"`
	// US dollars. NULL: the day is not covered.
	Spend Null[Money] `col:"spend" id:"17"`
	// Clicks. NULL: the day is not covered, or some row lacks the number.
	Clicks Null[int64] `col:"clicks" id:"18"`
	// Impressions. NULL: the day is not covered, or some row lacks the number.
	Impressions Null[int64] `col:"impressions" id:"19"`
	// Conversions. NULL: the day is not covered, or some row lacks the number.
	Conversions Null[int64] `col:"conversions" id:"20"`
	// Version of the settings at the end of the day. NULL: never read.
	SettingsVersion Null[int64] `col:"settings_version" id:"21"`
	// How well the version in settings_version could be read: see read_state of campaign_history.
	SettingsReadState Null[string] `col:"settings_read_state" id:"22"`
	// Whether the campaign was known to be deleted by the end of the day. NULL: never read.
	IsDeleted Null[bool] `col:"is_deleted" id:"24"`
	// Number of versions of the settings that began within the day.
	Changes int64 `col:"changes" id:"23"`
}

// CampaignDays holds the days of every campaign, by month.
var CampaignDays = Define[CampaignDay]("mart_campaign_day", ByMonth,
	"A campaign on one Chicago day: what it spent and under which settings the day ended. The same rows as the view "+
		"mart.campaign_day.",
	AnswerOf("campaign_day"))

// Source30d is one source of a campaign over the last 30 completely known days: a row of the view
// mart.source_performance.
type Source30d struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// ID of the campaign.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	// Current name of the campaign.
	CampaignName Null[string] `col:"campaign_name" id:"3"`
	// ID of the source; empty for spend without one.
	SourceID string `col:"source_id" id:"4" key:"true"`
	// First day of the window.
	WindowFrom Date `col:"window_from" id:"5"`
	// Last day of the window: the last day that is completely known.
	WindowTo Date `col:"window_to" id:"6"`
	// Days of the window that are completely known; other days are left out of all columns.
	DaysKnown int64 `col:"days_known" id:"7"`
	// US dollars.
	Spend Money `col:"spend" id:"8"`
	// Clicks. NULL: unknown on some day.
	Clicks Null[int64] `col:"clicks" id:"9"`
	// Impressions. NULL: unknown on some day.
	Impressions Null[int64] `col:"impressions" id:"10"`
	// Conversions. NULL: unknown on some day.
	Conversions Null[int64] `col:"conversions" id:"11"`
	// US dollars per click, rounded to six decimals. NULL without clicks.
	CPC Null[Money] `col:"cpc" id:"12"`
	// Clicks per impression, rounded to six decimals. NULL without impressions.
	CTR Null[Money] `col:"ctr" id:"13"`
	// Conversions per click, rounded to six decimals. NULL without clicks.
	CVR Null[Money] `col:"cvr" id:"14"`
	// US dollars per conversion, rounded to six decimals. NULL without conversions.
	CPA Null[Money] `col:"cpa" id:"15"`
	// Lower bound of the CPA, given the chance in the number of conversions; rounded to six decimals.
	CPABestCase Null[Money] `col:"cpa_best_case" id:"16"`
	// Upper bound of the CPA, given the chance in the number of conversions; rounded to six decimals. NULL without
	// conversions.
	CPAWorstCase Null[Money] `col:"cpa_worst_case" id:"17"`
	// Share of the campaign's spend in the window, rounded to six decimals. NULL: the campaign spent
	// nothing.
	ShareOfCampaign Null[Money] `col:"share_of_campaign" id:"18"`
	// Current target CPA of the campaign, in US dollars per conversion. NULL: none set, or never readable.
	TargetCPA Null[Money] `col:"target_cpa" id:"19"`
	// CPA with which the source is compared, in US dollars per conversion, rounded to six decimals: see target_origin.
	JudgedCPA Null[Money] `col:"judged_cpa" id:"20"`
	// Where judged_cpa comes from. payout: the operator's payouts; target_cpa: there is no payout; campaign_cpa: there
	// is neither a payout nor a target CPA, so it is the campaign's own CPA.
	TargetOrigin Null[string] `col:"target_origin" id:"21"`
	// Spend divided by judged_cpa, rounded to six decimals.
	SpendInTargets Null[Money] `col:"spend_in_targets" id:"22"`
	// Current status of the campaign, or deleted.
	CampaignStatus Null[string] `col:"campaign_status" id:"23"`
	// Current source mode: block_list or allow_list.
	SourceMode Null[string] `col:"source_mode" id:"24"`
	// Current rule about the source: blocked or allowed. NULL: on neither list.
	ListRule Null[string] `col:"list_rule" id:"25"`
	// Current default bid of the campaign, in US dollars per click.
	DefaultBid Null[Money] `col:"default_bid" id:"26" precision:"12"`
	// Current bid for this source, in US dollars per click. NULL: the default bid applies.
	BidOverride Null[Money] `col:"bid_override" id:"27" precision:"12"`
}

// Source30ds holds the sources of every campaign over the last 30 completely known days.
var Source30ds = Define[Source30d]("mart_source_30d", ByAccount,
	"A source of a campaign over the last 30 days that are known whole (the window of int.threshold). The same rows "+
		"as the view mart.source_performance, ratios rounded.",
	AnswerOf("source_performance"))

// Marts are the tables whose Parquet files hold the rows of views in schema mart. Spreadsheets and BI tools that read
// Parquet, and cannot query a view, use these files.
var Marts = []*Table{CampaignDays.Table, Source30ds.Table}

// Documented returns all tables, marts and copies, as the dictionary shows them.
func Documented() []*Table { return slices.Concat(Tables, Copies, Marts) }
