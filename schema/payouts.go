package schema

// Payout is one version of one line of the operator's payouts: how much a conversion earns the advertiser, from which
// day on, for which campaign, creative or source.
type Payout struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// First Chicago day to which the payout applies.
	FromDate Date `col:"from_date" id:"2" key:"true"`
	// Campaign to which the payout applies; empty: any.
	CampaignID string `col:"campaign_id" id:"3" key:"true"`
	// Creative to which the payout applies; empty: any.
	CreativeID string `col:"creative_id" id:"4" key:"true"`
	// Source to which the payout applies; empty: any.
	SourceID string `col:"source_id" id:"5" key:"true"`
	Frame
	// Last Chicago day to which the payout applies. NULL: no end.
	ToDate Null[Date] `col:"to_date" id:"6"`
	// US dollars that a conversion earns.
	Payout Null[Money] `col:"payout" id:"7"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"8"`
}

// PayoutHistory holds every version of every payout. Payouts come from the operator's file; the service does not know
// them.
var PayoutHistory = Define[Payout]("payout_history", ByAccount,
	"History: main.payout has the payouts of now. What a conversion earns, line by line as "+
		"the file of SPENDSYNC_PAYOUTS had it, with when it did. A line that is "+
		"no longer in the file has a version with is_deleted.",
	DeletedAfter(1))
