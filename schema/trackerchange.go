package schema

// TrackerChange is one row of a tracker's day that differs between the stored day and a later export of the day.
type TrackerChange struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Day of the tracker whose numbers changed.
	ReportDate Date `col:"report_date" id:"2" key:"true"`
	// Campaign of the row, as the file names it.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Source of the row, as the file names it.
	SourceID string `col:"source_id" id:"4" key:"true"`
	// When the later file was read.
	SeenAt Instant `col:"seen_at" id:"5" key:"true"`
	// insert: the row appeared; update: its numbers changed; delete: it vanished.
	Op string `col:"op" id:"6"`
	// Name of the later file, without its folder.
	File string `col:"file" id:"7"`
	// Clicks before.
	OldClicks Null[int64] `col:"old_clicks" id:"8"`
	// Clicks after.
	NewClicks Null[int64] `col:"new_clicks" id:"9"`
	// Conversions in any state before.
	OldConversions Null[int64] `col:"old_conversions" id:"10"`
	// Conversions in any state after.
	NewConversions Null[int64] `col:"new_conversions" id:"11"`
	// Approved conversions before.
	OldApproved Null[int64] `col:"old_approved" id:"12"`
	// Approved conversions after.
	NewApproved Null[int64] `col:"new_approved" id:"13"`
	// Undecided conversions before.
	OldHeld Null[int64] `col:"old_held" id:"14"`
	// Undecided conversions after.
	NewHeld Null[int64] `col:"new_held" id:"15"`
	// Refused conversions before.
	OldRefused Null[int64] `col:"old_refused" id:"16"`
	// Refused conversions after.
	NewRefused Null[int64] `col:"new_refused" id:"17"`
	// US dollars earned before.
	OldRevenue Null[Money] `col:"old_revenue" id:"18"`
	// US dollars earned after.
	NewRevenue Null[Money] `col:"new_revenue" id:"19"`
	// Run that read the later file.
	RunID string `col:"_run_id" id:"20"`
}

// TrackerChanges holds every difference between a stored day of the tracker and a later export. Rows are only added.
var TrackerChanges = Define[TrackerChange]("tracker_change", BySeen,
	"History: what changed, not what was counted. Every difference between a day of tracker_daily as stored and as a "+
		"later file has it: old and new numbers, when they were read, and of which file. The first file of a day "+
		"writes no line.",
	Since(11))
