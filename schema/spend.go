package schema

// Spend is what one creative spent at one source on one Chicago day.
//
// On a covered day a missing row means zero. On any other day it means unknown; see [DayCoverage].
type Spend struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" compress:"dictionary"`
	// Chicago calendar day of the spend.
	ReportDate Date `col:"report_date" id:"2" key:"true" compress:"rle"`
	// Campaign of the spend.
	CampaignID string `col:"campaign_id" id:"3" key:"true" compress:"dictionary"`
	// Creative that was shown. Empty text: the report names none.
	CreativeID string `col:"creative_id" id:"4" key:"true" compress:"dictionary"`
	// Traffic source that was paid. Empty text: the report names none, as for creatives without spend.
	SourceID string `col:"source_id" id:"5" key:"true" encoding:"delta" compress:"fsst"`
	// Name of the campaign as of when the day's file was last written. Empty text: it was not known.
	CampaignName string `col:"campaign_name" id:"6" compress:"dictionary"`
	// US dollars, exact.
	Spend Money `col:"spend" id:"7" compress:"bitpacking"`
	// Clicks. NULL: the report gave no number; 0: there were none.
	Clicks Null[int64] `col:"clicks" id:"8" compress:"bitpacking"`
	// Impressions. NULL: the report gave no number; 0: there were none.
	Impressions Null[int64] `col:"impressions" id:"9" encoding:"plain" compress:"bitpacking"`
	// Conversions so far; more arrive for days. NULL: the report gave none, or not a whole number; 0: none yet.
	Conversions Null[int64] `col:"conversions" id:"10" compress:"bitpacking"`
	// When the row was first read.
	FirstSeenAt Instant `col:"_first_seen_at" id:"11" compress:"rle"`
	// When a read last found a changed value in the row.
	ChangedAt Instant `col:"_changed_at" id:"12" compress:"rle"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"13" compress:"dictionary"`
}

// SpendDaily holds the rows of each day from the day's last proven read, one row per creative and source. A read is
// proven if evidence shows that no row is missing. A proven read replaces all rows of the day.
var SpendDaily = Define[Spend]("spend_daily", ByDay,
	"Raw: main.spend has the days that were over, with names, settings and the conversions still to come. Spend per "+
		"Chicago day, campaign, creative and source, as the service last reported it, the open day included. "+
		"On a day covered by ops.day_coverage a missing row means zero; on any other day it means unknown.",
	From(Replies), Large(), Dropped(DroppedColumn{12, "conversions_fractional", 14}))

// ReplyRules is the version of the rules by which replies of the report become rows of [SpendDaily]. Raise it whenever
// the same reply may give different rows. Stored replies of days that the report still covers are then decoded again.
// Replies of older days are not, so decoding them may give other rows than the stored ones.
const ReplyRules = "4"

// CampaignSpend is what one campaign spent on one Chicago day: sums of [Spend].
type CampaignSpend struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Chicago calendar day of the spend.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// Campaign of the spend.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Name of the campaign in the report; if there are several, the last in alphabetical order.
	CampaignName string `col:"campaign_name" id:"4"`
	// Number of rows of spend_daily in the sums.
	Rows int64 `col:"rows" id:"5"`
	// US dollars, exact.
	Spend Money `col:"spend" id:"6"`
	// Sum of the known clicks. NULL: no row has any.
	Clicks Null[int64] `col:"clicks" id:"7"`
	// Sum of the known impressions. NULL: no row has any.
	Impressions Null[int64] `col:"impressions" id:"8"`
	// Sum of the known conversions. NULL: no row has any.
	Conversions Null[int64] `col:"conversions" id:"9"`
	// Number of rows whose clicks are known. If it is less than rows, the sum is too small.
	RowsWithClicks int64 `col:"rows_with_clicks" id:"10"`
	// Number of rows whose impressions are known. If it is less than rows, the sum is too small.
	RowsWithImpressions int64 `col:"rows_with_impressions" id:"11"`
	// Number of rows whose conversions are known. If it is less than rows, the sum is too small.
	RowsWithConversions int64 `col:"rows_with_conversions" id:"12"`
}

// CampaignSpends holds the sums of spend_daily by day and campaign. It has about a hundredth as many rows as
// spend_daily, for queries over the entire history.
var CampaignSpends = Define[CampaignSpend]("int.campaign_spend", Summed,
	"Spend per Chicago day and campaign: the sums of spend_daily, kept beside it so that questions about long spans "+
		"are answered at once. "+
		"mart.campaign_day has the days without spend and the settings, too.",
	SumsOf(CampaignSpendSQL), Since(12))

// CampaignSpendSQL returns the query that computes rows of [CampaignSpends] from the rows of spend_daily that meet a
// condition.
func CampaignSpendSQL(where string) string {
	return `SELECT account_id, report_date, campaign_id, max(campaign_name) AS campaign_name, count(*) AS "rows",
		sum(spend)::DECIMAL(18,6) AS spend,
  sum(clicks)::BIGINT AS clicks, sum(impressions)::BIGINT AS impressions, sum(conversions)::BIGINT AS conversions,
  count(clicks) AS rows_with_clicks, count(impressions) AS rows_with_impressions, count(conversions) AS
  rows_with_conversions
FROM main.spend_daily WHERE ` + where + ` GROUP BY account_id, report_date, campaign_id`
}

// SpendChange is one row of a finished day that differs between the stored day and a later read of the day.
type SpendChange struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Chicago calendar day whose numbers changed.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// Campaign of the row.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Creative of the row.
	CreativeID string `col:"creative_id" id:"4" key:"true"`
	// Source of the row.
	SourceID string `col:"source_id" id:"5" key:"true"`
	// When the difference was read. The change itself happened between the previous read of the day and this read.
	SeenAt Instant `col:"seen_at" id:"6" key:"true"`
	// insert: the row appeared; update: its numbers changed; delete: it vanished.
	Op string `col:"op" id:"7"`
	// US dollars before. NULL on insert.
	OldSpend Null[Money] `col:"old_spend" id:"8"`
	// US dollars after. NULL on delete.
	NewSpend Null[Money] `col:"new_spend" id:"9"`
	// Clicks before.
	OldClicks Null[int64] `col:"old_clicks" id:"10"`
	// Clicks after.
	NewClicks Null[int64] `col:"new_clicks" id:"11"`
	// Impressions before.
	OldImpressions Null[int64] `col:"old_impressions" id:"12"`
	// Impressions after.
	NewImpressions Null[int64] `col:"new_impressions" id:"13"`
	// Conversions before.
	OldConversions Null[int64] `col:"old_conversions" id:"14"`
	// Conversions after.
	NewConversions Null[int64] `col:"new_conversions" id:"15"`
	// Run that saw the change.
	RunID string `col:"_run_id" id:"16"`
}

// The values of SpendChange.Op.
const (
	OpInsert = "insert"
	OpUpdate = "update"
	OpDelete = "delete"
)

// SpendChanges holds every difference between a finished day as stored and as read again. Rows are only added.
var SpendChanges = Define[SpendChange]("spend_change", BySeen,
	"History: what changed, not what was spent. Every difference between a finished day as stored and "+
		"as read again: old and new numbers, and when they were seen. "+
		"The first read of a day and the growth of a day that was not over write no line; rows of a day "+
		"that was known to be empty do.",
	Dropped(DroppedColumn{12, "old_conversions_fractional", 17}, DroppedColumn{12, "new_conversions_fractional", 18}))
