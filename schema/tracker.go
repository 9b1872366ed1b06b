package schema

// TrackerDay is what the operator's tracker counted for one campaign and source on one day in the tracker's time zone.
type TrackerDay struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Day in the export, in the tracker's time zone, which may not be Chicago's.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// Campaign, as the export names it.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Source, as the export names it. Empty: the tracker did not receive one.
	SourceID string `col:"source_id" id:"4" key:"true"`
	// Clicks that arrived at the tracker. NULL: the export does not have them.
	Clicks Null[int64] `col:"clicks" id:"5"`
	// Conversions in any state. NULL: the export has neither their total nor a number for each state.
	Conversions Null[int64] `col:"conversions" id:"6"`
	// Approved conversions. NULL: the export does not have them.
	Approved Null[int64] `col:"approved" id:"7"`
	// Conversions that are still undecided. NULL: the export does not have them.
	Held Null[int64] `col:"held" id:"8"`
	// Refused conversions. NULL: the export does not have them.
	Refused Null[int64] `col:"refused" id:"9"`
	// US dollars earned by the conversions; by the approved conversions if the export has a row for each state. NULL:
	// the export has no revenue.
	Revenue Null[Money] `col:"revenue" id:"10"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"11"`
}

// TrackerDaily holds the days of the exports of the operator's tracker. A newer export replaces all rows of the days
// that it has.
var TrackerDaily = Define[TrackerDay]("tracker_daily", ByDay,
	"Raw: its days begin at midnight of the tracker's time zone, so a day of it is a day of spend_daily only if the "+
		"tracker reports in America/Chicago. What the operator's own tracker counted, as the export that "+
		"SPENDSYNC_PAYOUTS names had it. A newer export replaces the days that it has; other days stay. Ask "+
		"spendsync query tracker, which adds up several days.")
