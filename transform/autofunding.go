package transform

import "spendsync/schema"

// autoFunding reads whether a card is charged automatically, the balance below which it is charged, and the amount. A
// missing or null value becomes NULL: prepaid accounts have no such settings.
func (r reader) autoFunding(snap *schema.AccountSnapshot) {
	names := func(name string) []string { return r.service.Names("auto_funding." + name) }
	keys := names("keys")
	v, _ := r.value(keys...)
	from, enabled := r, keys
	below, amount := prefixed(keys, names("below")), prefixed(keys, names("amount"))
	if fields, ok := v.Object(); ok {
		from = r.inside("auto_funding", fields)
		enabled, below, amount = names("enabled"), names("below"), names("amount")
	} else if v.Null() {
		enabled = prefixed(keys, names("enabled"))
	}
	snap.AutoFunding = readKeys(from, optional, yesNo, "auto_funding", enabled...)
	snap.AutoFundingThreshold = readKeys(from, optional, money, "auto_funding_threshold", below...)
	snap.AutoFundingAmount = readKeys(from, optional, money, "auto_funding_amount", amount...)
}

// prefixed returns every combination of an object's name and a key, for example auto_funding_amount. Some replies have
// such keys instead of an object with the keys.
func prefixed(objects, keys []string) (all []string) {
	for _, object := range objects {
		for _, key := range keys {
			all = append(all, object+"_"+key)
		}
	}
	return all
}
