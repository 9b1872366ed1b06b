package schema

import "slices"

// Mart is an answer that is written as Parquet too, flat, for spreadsheets and
// BI tools that cannot ask the question themselves. Its rows are those of a view
// in schema mart, so a table of that name is in no DuckDB file.
type Mart struct {
	*Table
	View string // in schema mart
}

// CampaignDay is a campaign on one day.
type CampaignDay struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Chicago calendar day.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// Campaign, as the service names it.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Name at the end of the day.
	CampaignName Null[string] `col:"campaign_name" id:"4"`
	// Status at the end of the day.
	Status Null[string] `col:"status" id:"5"`
	// Whether it was delivering at the end of the day, and why not. NULL: not known.
	DeliveryStatus Null[string] `col:"delivery_status" id:"6"`
	// US dollars per click offered at the end of the day.
	DefaultBid Null[Money] `col:"default_bid" id:"7" precision:"12"`
	// US dollars a day allowed at the end of the day. NULL: none set, or not known.
	DailySpendLimit Null[Money] `col:"daily_spend_limit" id:"8"`
	// US dollars per conversion aimed at, at the end of the day. NULL: none set, or not known.
	TargetCPA Null[Money] `col:"target_cpa" id:"9"`
	// Country of the audience at the end of the day.
	Country Null[string] `col:"country" id:"10"`
	// block_list or allow_list at the end of the day.
	SourceMode Null[string] `col:"source_mode" id:"11"`
	// Whether the settings were first seen after the day, or the day ended between two looks that
	// differ. NULL: never seen.
	IsAssumed Null[bool] `col:"is_assumed" id:"12"`
	// Whether the settings were seen to change within the day.
	SettingsChanged bool `col:"settings_changed" id:"13"`
	// How well the day is known: see ops.day_coverage.
	CoverageState string `col:"coverage_state" id:"14"`
	// Whether the day is stored. If not, the measures are NULL; if so, 0 means none.
	IsCovered bool `col:"is_covered" id:"15"`
	// Whether the service can no longer restate the day here.
	IsFinal bool `col:"is_final" id:"16"`
	// US dollars. NULL: the day is not covered.
	Spend Null[Money] `col:"spend" id:"17"`
	// Clicks. NULL: the day is not covered, or some row lacks the number.
	Clicks Null[int64] `col:"clicks" id:"18"`
	// Impressions. NULL: the day is not covered, or some row lacks the number.
	Impressions Null[int64] `col:"impressions" id:"19"`
	// Conversions. NULL: the day is not covered, or some row lacks the number.
	Conversions Null[int64] `col:"conversions" id:"20"`
	// Version of the settings at the end of the day. NULL: never seen.
	SettingsVersion Null[int64] `col:"settings_version" id:"21"`
	// How well that version could be read: see campaign_history.
	SettingsReadState Null[string] `col:"settings_read_state" id:"22"`
	// Whether the campaign was found to be gone by the end of the day. NULL: never seen.
	IsDeleted Null[bool] `col:"is_deleted" id:"24"`
	// Versions of the settings that began within the day.
	Changes int64 `col:"changes" id:"23"`
}

// CampaignDays are the days of every campaign, by month.
var CampaignDays = Define[CampaignDay]("mart_campaign_day", ByMonth,
	"A campaign on one Chicago day: what it spent and under which settings the day ended. The same rows as the view "+
		"mart.campaign_day.",
	AnswerOf("campaign_day"))

// Source30d is a source of a campaign over the performance window.
type Source30d struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Campaign, as the service names it.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	// Name of the campaign now.
	CampaignName Null[string] `col:"campaign_name" id:"3"`
	// Source, as the service names it; empty for spend without one.
	SourceID string `col:"source_id" id:"4" key:"true"`
	// First day of the window.
	WindowFrom Date `col:"window_from" id:"5"`
	// Last day of the window: the last that is known whole.
	WindowTo Date `col:"window_to" id:"6"`
	// Days of the window that are known whole; the others count for nothing.
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
	// The CPA may be as low as this by chance alone, rounded to six decimals.
	CPABestCase Null[Money] `col:"cpa_best_case" id:"16"`
	// The CPA may be as high as this by chance alone, rounded to six decimals. NULL without
	// conversions.
	CPAWorstCase Null[Money] `col:"cpa_worst_case" id:"17"`
	// Share of the campaign's spend in the window, rounded to six decimals. NULL: the campaign spent
	// nothing.
	ShareOfCampaign Null[Money] `col:"share_of_campaign" id:"18"`
	// US dollars per conversion that the campaign aims at now. NULL: none set, or never readable.
	TargetCPA Null[Money] `col:"target_cpa" id:"19"`
	// US dollars per conversion that the source is measured by, rounded to six decimals: see
	// target_origin.
	JudgedCPA Null[Money] `col:"judged_cpa" id:"20"`
	// Where judged_cpa comes from: payout, a line of the operator's own payouts, else target_cpa, else the
	// campaign's own CPA (campaign_cpa).
	TargetOrigin Null[string] `col:"target_origin" id:"21"`
	// How many times judged_cpa was spent, rounded to six decimals.
	SpendInTargets Null[Money] `col:"spend_in_targets" id:"22"`
	// Status of the campaign now, or deleted.
	CampaignStatus Null[string] `col:"campaign_status" id:"23"`
	// block_list or allow_list, now.
	SourceMode Null[string] `col:"source_mode" id:"24"`
	// blocked or allowed now. NULL: on neither list.
	ListRule Null[string] `col:"list_rule" id:"25"`
	// US dollars per click that the campaign offers now.
	DefaultBid Null[Money] `col:"default_bid" id:"26" precision:"12"`
	// US dollars per click offered to this source now. NULL: the default bid holds.
	BidOverride Null[Money] `col:"bid_override" id:"27" precision:"12"`
}

// Source30ds are the sources over the performance window.
var Source30ds = Define[Source30d]("mart_source_30d", ByAccount,
	"A source of a campaign over the last 30 days that are known whole (the window of int.threshold). The same rows "+
		"as the view mart.source_performance, ratios rounded.",
	AnswerOf("source_performance"))

// Marts are the answers that are written as Parquet too.
var Marts = []Mart{
	{CampaignDays.Table, "campaign_day"},
	{Source30ds.Table, "source_performance"},
}

// Documented are all tables with their marts and copies, as the dictionary shows them.
func Documented() []*Table {
	all := slices.Clone(Tables)
	for _, c := range Copies {
		all = append(all, c.Table)
	}
	for _, m := range Marts {
		all = append(all, m.Table)
	}
	return all
}
