package schema

// TrackerDay is what the operator's tracker counted on one of its days, of one campaign and source.
type TrackerDay struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Day as the export has it: of the time zone that the tracker reports in, which may not be Chicago.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// Campaign of the account, as the export names it.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Source as the export names it. Empty: the tracker was not passed one.
	SourceID string `col:"source_id" id:"4" key:"true"`
	// Clicks that arrived at the tracker. NULL: the export has none.
	Clicks Null[int64] `col:"clicks" id:"5"`
	// Conversions of every state. NULL: the export gives neither them nor each state.
	Conversions Null[int64] `col:"conversions" id:"6"`
	// Conversions that are approved. NULL: the export does not tell.
	Approved Null[int64] `col:"approved" id:"7"`
	// Conversions on which nobody has decided yet. NULL: the export does not tell.
	Held Null[int64] `col:"held" id:"8"`
	// Conversions that were refused. NULL: the export does not tell.
	Refused Null[int64] `col:"refused" id:"9"`
	// US dollars that they earned; of an export with a row for each state, those of the approved ones. NULL: the
	// export does not tell.
	Revenue Null[Money] `col:"revenue" id:"10"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"11"`
}

// TrackerDaily keeps the days of the tracker's export. A newer export replaces whole days.
var TrackerDaily = Define[TrackerDay]("tracker_daily", ByDay,
	"Raw: its days begin at midnight of the tracker's time zone, so a day of it is a day of spend_daily only if the "+
		"tracker reports in America/Chicago. What the operator's own tracker counted, as the export that "+
		"SPENDSYNC_PAYOUTS names had it. A newer export replaces the days that it has; other days stay. Ask "+
		"spendsync query tracker, which adds up several days.")
