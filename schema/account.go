package schema

// AccountSnapshot has the account's balance and payment settings as they were read. A row is added if a value differs
// from the previous row.
type AccountSnapshot struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// When these values were first read; they held until the seen_at of the next row.
	SeenAt Instant `col:"seen_at" id:"2" key:"true"`
	// US dollars available. A balance, so do not add it up over rows.
	Balance Null[Money] `col:"balance" id:"3"`
	// card or prepaid wire, in the service's words.
	PaymentMode Null[string] `col:"payment_mode" id:"4"`
	// Average spend in US dollars a day over the last 7 days, as the service states it.
	AverageDailySpend Null[Money] `col:"average_daily_spend" id:"5"`
	// Days that the balance lasts at the pace of average_daily_spend, as the service states it.
	DaysLeft Null[Money] `col:"days_left" id:"6"`
	// low or depleted. NULL: no funds are needed.
	BalanceStatus Null[string] `col:"balance_status" id:"7"`
	// What to do about the balance, in the service's words.
	Message Null[string] `col:"message" id:"8"`
	// The three replies (me, limits, balance) as one JSON object.
	Raw Null[string] `col:"raw" id:"9"`
	// The service's own ID of the account that the API key acts on.
	AdvertiserID Null[string] `col:"advertiser_id" id:"11"`
	// Whether the card is charged automatically when the balance runs low. NULL: the service did not state it, as for
	// prepaid accounts.
	AutoFunding Null[bool] `col:"auto_funding" id:"12"`
	// US dollars of balance below which the card is charged.
	AutoFundingThreshold Null[Money] `col:"auto_funding_threshold" id:"13"`
	// US dollars that the card is charged each time.
	AutoFundingAmount Null[Money] `col:"auto_funding_amount" id:"14"`
	// Run that added the row.
	RunID string `col:"_run_id" id:"10"`
}

// AccountSnapshots holds the history of the account's money.
var AccountSnapshots = Define[AccountSnapshot]("account_snapshot", ByAccount,
	"History: main.account has the balance of now. The account's balance and pace each time something in it was "+
		"seen to differ: a balance is not to be added up over rows.")

// AccountLimit is the account's daily limit for one kind of change, and how much of the limit is used.
type AccountLimit struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// When these values were first read.
	SeenAt Instant `col:"seen_at" id:"2" key:"true"`
	// Kind of change that the budget is for, in the service's words.
	LimitKind string `col:"kind" id:"3" key:"true"`
	// Changes made since the reset.
	Used Null[int64] `col:"used" id:"4"`
	// Changes allowed a day. NULL: not limited, or unknown.
	Allowed Null[int64] `col:"allowed" id:"5"`
	// When the count starts at zero again.
	ResetsAt Null[Instant] `col:"resets_at" id:"6"`
	// Run that added the row.
	RunID string `col:"_run_id" id:"7"`
}

// AccountLimits holds the history of the change budgets.
var AccountLimits = Define[AccountLimit]("account_limit", ByAccount,
	"History: the daily change budgets of the API key's account each time one was seen to differ.")
