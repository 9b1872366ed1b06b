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
	AccountID         string       `col:"account_id" id:"1" key:"true" doc:"Short name of the account in this warehouse."`
	ReportDate        Date         `col:"report_date" id:"2" key:"true" doc:"Chicago calendar day."`
	CampaignID        string       `col:"campaign_id" id:"3" key:"true" doc:"Campaign, as the service names it."`
	CampaignName      Null[string] `col:"campaign_name" id:"4" doc:"Name at the end of the day."`
	Status            Null[string] `col:"status" id:"5" doc:"Status at the end of the day."`
	DeliveryStatus    Null[string] `col:"delivery_status" id:"6" doc:"Whether it was delivering at the end of the day, and why not. NULL: not known."`
	DefaultBid        Null[Money]  `col:"default_bid" id:"7" doc:"US dollars per click offered at the end of the day." precision:"12"`
	DailySpendLimit   Null[Money]  `col:"daily_spend_limit" id:"8" doc:"US dollars a day allowed at the end of the day. NULL: none set, or not known."`
	TargetCPA         Null[Money]  `col:"target_cpa" id:"9" doc:"US dollars per conversion aimed at, at the end of the day. NULL: none set, or not known."`
	Country           Null[string] `col:"country" id:"10" doc:"Country of the audience at the end of the day."`
	SourceMode        Null[string] `col:"source_mode" id:"11" doc:"block_list or allow_list at the end of the day."`
	IsAssumed         Null[bool]   `col:"is_assumed" id:"12" doc:"Whether the settings were first seen after the day, or the day ended between two looks that differ. NULL: never seen."`
	SettingsChanged   bool         `col:"settings_changed" id:"13" doc:"Whether the settings were seen to change within the day."`
	CoverageState     string       `col:"coverage_state" id:"14" doc:"How well the day is known: see ops.day_coverage."`
	IsCovered         bool         `col:"is_covered" id:"15" doc:"Whether the day is stored. If not, the measures are NULL; if so, 0 means none."`
	IsFinal           bool         `col:"is_final" id:"16" doc:"Whether the service can no longer restate the day here."`
	Spend             Null[Money]  `col:"spend" id:"17" doc:"US dollars. NULL: the day is not covered."`
	Clicks            Null[int64]  `col:"clicks" id:"18" doc:"Clicks. NULL: the day is not covered, or some row lacks the number."`
	Impressions       Null[int64]  `col:"impressions" id:"19" doc:"Impressions. NULL: the day is not covered, or some row lacks the number."`
	Conversions       Null[int64]  `col:"conversions" id:"20" doc:"Conversions. NULL: the day is not covered, or some row lacks the number."`
	SettingsVersion   Null[int64]  `col:"settings_version" id:"21" doc:"Version of the settings at the end of the day. NULL: never seen."`
	SettingsReadState Null[string] `col:"settings_read_state" id:"22" doc:"How well that version could be read: see campaign_history."`
	IsDeleted         Null[bool]   `col:"is_deleted" id:"24" doc:"Whether the campaign was found to be gone by the end of the day. NULL: never seen."`
	Changes           int64        `col:"changes" id:"23" doc:"Versions of the settings that began within the day."`
}

// CampaignDays are the days of every campaign, by month.
var CampaignDays = Define[CampaignDay]("mart_campaign_day", ByMonth,
	"A campaign on one Chicago day: what it spent and under which settings the day ended. The same rows as the view "+
		"mart.campaign_day.",
	AnswerOf("campaign_day"))

// Source30d is a source of a campaign over the performance window.
type Source30d struct {
	AccountID       string       `col:"account_id" id:"1" key:"true" doc:"Short name of the account in this warehouse."`
	CampaignID      string       `col:"campaign_id" id:"2" key:"true" doc:"Campaign, as the service names it."`
	CampaignName    Null[string] `col:"campaign_name" id:"3" doc:"Name of the campaign now."`
	SourceID        string       `col:"source_id" id:"4" key:"true" doc:"Source, as the service names it; empty for spend without one."`
	WindowFrom      Date         `col:"window_from" id:"5" doc:"First day of the window."`
	WindowTo        Date         `col:"window_to" id:"6" doc:"Last day of the window: the last that is known whole."`
	DaysKnown       int64        `col:"days_known" id:"7" doc:"Days of the window that are known whole; the others count for nothing."`
	Spend           Money        `col:"spend" id:"8" doc:"US dollars."`
	Clicks          Null[int64]  `col:"clicks" id:"9" doc:"Clicks. NULL: the service did not tell on some day."`
	Impressions     Null[int64]  `col:"impressions" id:"10" doc:"Impressions. NULL: the service did not tell on some day."`
	Conversions     Null[int64]  `col:"conversions" id:"11" doc:"Conversions. NULL: the service did not tell on some day."`
	CPC             Null[Money]  `col:"cpc" id:"12" doc:"US dollars per click, rounded to six decimals. NULL without clicks."`
	CTR             Null[Money]  `col:"ctr" id:"13" doc:"Clicks per impression, rounded to six decimals. NULL without impressions."`
	CVR             Null[Money]  `col:"cvr" id:"14" doc:"Conversions per click, rounded to six decimals. NULL without clicks."`
	CPA             Null[Money]  `col:"cpa" id:"15" doc:"US dollars per conversion, rounded to six decimals. NULL without conversions."`
	CPABestCase     Null[Money]  `col:"cpa_best_case" id:"16" doc:"The CPA may be as low as this by chance alone, rounded to six decimals."`
	CPAWorstCase    Null[Money]  `col:"cpa_worst_case" id:"17" doc:"The CPA may be as high as this by chance alone, rounded to six decimals. NULL without conversions."`
	ShareOfCampaign Null[Money]  `col:"share_of_campaign" id:"18" doc:"Share of the campaign's spend in the window, rounded to six decimals. NULL: the campaign spent nothing."`
	TargetCPA       Null[Money]  `col:"target_cpa" id:"19" doc:"US dollars per conversion that the campaign aims at now. NULL: none set, or never readable."`
	JudgedCPA       Null[Money]  `col:"judged_cpa" id:"20" doc:"US dollars per conversion that the source is measured by, rounded to six decimals: see target_origin."`
	TargetOrigin    Null[string] `col:"target_origin" id:"21" doc:"Where judged_cpa comes from: target_cpa, or the campaign's own CPA where that is higher (campaign_cpa_over_target) or no target is set (campaign_cpa)."`
	SpendInTargets  Null[Money]  `col:"spend_in_targets" id:"22" doc:"How many times judged_cpa was spent, rounded to six decimals."`
	CampaignStatus  Null[string] `col:"campaign_status" id:"23" doc:"Status of the campaign now, or deleted."`
	SourceMode      Null[string] `col:"source_mode" id:"24" doc:"block_list or allow_list, now."`
	ListRule        Null[string] `col:"list_rule" id:"25" doc:"blocked or allowed now. NULL: on neither list."`
	DefaultBid      Null[Money]  `col:"default_bid" id:"26" doc:"US dollars per click that the campaign offers now." precision:"12"`
	BidOverride     Null[Money]  `col:"bid_override" id:"27" doc:"US dollars per click offered to this source now. NULL: the default bid holds." precision:"12"`
}

// Source30ds are the sources over the performance window.
var Source30ds = Define[Source30d]("mart_source_30d", ByAccount,
	"A source of a campaign over the last 30 days that are known whole (the window of mart.threshold). The same rows "+
		"as the view mart.source_performance, ratios rounded.",
	AnswerOf("source_performance"))

// Marts are the answers that are written as Parquet too.
var Marts = []Mart{{CampaignDays.Table, "campaign_day"}, {Source30ds.Table, "source_performance"}}

// Documented are all tables with their marts, as the dictionary shows them.
func Documented() []*Table {
	all := slices.Clone(Tables)
	for _, m := range Marts {
		all = append(all, m.Table)
	}
	return all
}
