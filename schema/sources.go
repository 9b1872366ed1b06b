package schema

// SourceRule is one version of one rule of a campaign about a source. When a rule ends, it gets a version with
// is_deleted.
type SourceRule struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Campaign that has the rule.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	// Source that the rule is about.
	SourceID string `col:"source_id" id:"3" key:"true"`
	// blocked, allowed, bid_override, or optimized: source optimization decides about the source.
	Rule string `col:"rule" id:"4" key:"true"`
	Frame
	// Bid of a bid_override, in US dollars per click.
	Bid Null[Money] `col:"bid" id:"5" precision:"12"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"6"`
}

// The values of SourceRule.Rule.
const (
	RuleBlocked   = "blocked"
	RuleAllowed   = "allowed"
	RuleBid       = "bid_override"
	RuleOptimized = "optimized"
)

// SourceRuleHistory holds every version of every source rule.
var SourceRuleHistory = Define[SourceRule]("source_rule_history", ByAccount,
	"History: main.source_rule has the rules of now. Every rule of every campaign about a "+
		"source: blocked, allowed, a bid of its own, or left to source "+
		"optimization, with when it held. Bids that could not be read are no change.",
	DeletedAfter(1))

// SourceMode is one version of a campaign's source mode.
type SourceMode struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Campaign.
	CampaignID string `col:"campaign_id" id:"2" key:"true"`
	Frame
	// block_list: buys everywhere except blocked sources; allow_list: only from allowed ones.
	SourceMode Null[string] `col:"source_mode" id:"3"`
	// When the bids per source were last readable, as of version 11 of the tables. The views have the time of the last
	// reading.
	BidsLastReadAt Null[Instant] `col:"bids_last_read_at" id:"4" history:"no"`
	// JSON of the source settings when this version was first read, or when the JSON last gained a key.
	Raw Null[string] `col:"raw" id:"5" history:"no"`
	// Run that last changed the row.
	RunID string `col:"_run_id" id:"6"`
}

// SourceModeHistory holds every version of every campaign's source mode.
var SourceModeHistory = Define[SourceMode]("source_mode_history", ByAccount,
	"History: main.source_mode has the modes of now. How each campaign chooses its sources, "+
		"with when that held, and when its bids could last be read.",
	DeletedAfter(2))
