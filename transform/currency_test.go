package transform

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/schema"
)

// TestCurrency_OfAnEntityRefusesItsAmounts: an amount in another currency is never stored as dollars. Its column is
// unread, so the last known amount remains. Columns without amounts are read.
func TestCurrency_OfAnEntityRefusesItsAmounts(t *testing.T) {
	none := schema.Null[schema.Money]{}
	for currency, foreign := range map[string]bool{`"EUR"`: true, `"USD"`: false, `"usd"`: false, `null`: false} {
		wantRefused := func(what string, all []*FieldError, unread, unset []string, columns ...string) {
			t.Helper()
			for _, column := range columns {
				isRefused := slices.ContainsFunc(all, func(e *FieldError) bool {
					return e.Column == column && errors.Is(e.Err, ErrCurrency) && strings.Contains(e.Err.Error(), "USD")
				})
				if isRefused != foreign || slices.Contains(unread, column) != foreign {
					t.Errorf("%s in %s, %s: refused %t, unread %v", what, currency, column, isRefused, unread)
				}
				if foreign && slices.Contains(unset, column) {
					t.Errorf("%s in %s: %s is taken as not set", what, currency, column)
				}
			}
		}
		body := with(t, with(t, sampleCampaign, "currency", currency), "target_cpa", "null")
		row, read, err := Campaign(Reply{Own: entity(t, "C1000001", body)}, settings)
		if err != nil || !row.Name.Valid {
			t.Fatal(row, err)
		}
		if known := sampleCampaignRow(); foreign && (row.DefaultBid != none || row.DailySpendLimit != none) ||
			!foreign && (row.DefaultBid != known.DefaultBid || row.DailySpendLimit != known.DailySpendLimit) {
			t.Errorf("in %s: bid %v, limit %v", currency, row.DefaultBid, row.DailySpendLimit)
		}
		wantRefused("campaign", read.Refused, read.Unread, slices.Concat(read.Null, read.Missing, read.Blank),
			"default_bid", "daily_spend_limit", "target_cpa")

		balance := with(t, `{"payment_mode":"card","average_daily_spend":null,"days_left":2,"balance":5,`+
			`"auto_funding_threshold":3,"auto_funding_amount":7}`, "currency", currency)
		all := Account(entity(t, "", sampleMe), entity(t, "", sampleLimits), entity(t, "", balance), seenAt, settings)
		for _, m := range []schema.Null[schema.Money]{all.Snapshot.Balance, all.Snapshot.AutoFundingThreshold,
			all.Snapshot.AutoFundingAmount} {
			if m.Valid == foreign {
				t.Errorf("balance in %s: %+v", currency, all.Snapshot)
			}
		}
		wantRefused("balance", all.Refused, all.Unread, slices.Concat(all.Null, all.Missing, all.Blank), "balance",
			"average_daily_spend")

		rules := map[bool]int{true: 1, false: 2}[foreign]
		for _, body := range []string{
			`{"mode":"block","blocked":["S2"],"bid_overrides":[{"id":"S1","bid":0.5}],"currency":` + currency + `}`,
			`{"mode":"block","bid_overrides":[{"id":"S1","bid":0.5,"currency":` + currency + `},{"id":"S2","bid":1}]}`,
		} {
			s, err := Sources(entity(t, "C1000001", body), "C1000001", settings)
			if err != nil || s.Kinds[schema.RuleBid] == foreign || len(s.Rules) != rules ||
				foreign && s.Rules[0].SourceID != "S2" {
				t.Errorf("%s: rules %+v, bids are read: %t, error %v", body, s.Rules, s.Kinds[schema.RuleBid], err)
			}
		}
		l := sample()
		l.Currency = extract.Value(currency)
		if became := AppendSpend(&schema.SpendRows{}, page(l), run, NewInterner()); (became.Stray != nil) != foreign ||
			foreign && !errors.Is(became.Stray, ErrCurrency) {
			t.Errorf("a row in %s: %v", currency, became.Stray)
		}
	}
}
