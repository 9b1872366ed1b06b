package transform

import "spendsync/schema"

// The keys for whether and how a card is charged when the balance runs low: an object under one of the first, with
// members named by the others, or members of the balance itself.
var (
	autoFundingKeys = []string{"auto_funding", "autofunding", "auto_fund", "auto_recharge", "auto_reload",
		"auto_top_up"}
	autoOnKeys    = []string{"enabled", "is_enabled", "active", "on"}
	autoBelowKeys = []string{"threshold", "balance_threshold", "minimum_balance", "min_balance", "below",
		"when_below"}
	autoAmountKeys = []string{"amount", "charge_amount", "recharge_amount", "top_up_amount"}
)

// autoFunding reads whether the card is charged when the balance runs low, below what and
// with how much. What is missing or null is NULL: prepaid accounts have none of it.
func (r reader) autoFunding(snap *schema.AccountSnapshot) {
	v, _ := r.value("", autoFundingKeys...)
	in, on, below, amount := r, autoFundingKeys, prefixed(autoBelowKeys), prefixed(autoAmountKeys)
	if fields, ok := v.Fields(); ok {
		in, on, below, amount = r.inside(fields), autoOnKeys, autoBelowKeys, autoAmountKeys
	} else if v.Null() {
		on = prefixed(autoOnKeys)
	}
	snap.AutoFunding = read(in, optional, yesNo, "auto_funding", on...)
	snap.AutoFundingThreshold = read(in, optional, money, "auto_funding_threshold", below...)
	snap.AutoFundingAmount = read(in, optional, money, "auto_funding_amount", amount...)
}

// prefixed are the keys where they are not within an object of their own.
func prefixed(keys []string) (all []string) {
	for _, of := range autoFundingKeys {
		for _, key := range keys {
			all = append(all, of+"_"+key)
		}
	}
	return all
}
