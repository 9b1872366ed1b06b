package pagedata

import (
	"cmp"
	"slices"

	"spendsync/cmd/spendsync/page"
)

// campaigns asks which campaigns pay: those that lose most first, then those that spent
// most. It also gives what each spent a day, for the breaks.
func (q *reader) campaigns(id string) (v page.Campaigns, daily map[string]page.Number) {
	v.Why = "No campaign spent anything in the window of whole days, so there is nothing to judge."
	daily = map[string]page.Number{}
	rows := q.rows(`SELECT p.campaign_id, p.campaign_name, p.campaign_status, p.verdict, p.window_from, p.window_to,
  p.days_known, p.spend, p.conversions, p.cpa_expected, p.cpa_best_case, p.cpa_worst_case, p.target_cpa,
  p.cpa_to_target,
  p.excess_spend, p.profit, p.cpa_change, p.cpa_recent, p.cpa_before_at_age, p.change_verdict,
  CASE WHEN count(p.profit) OVER () = count(*) OVER () THEN sum(p.profit) OVER () END AS all_profit,
  count(p.profit) OVER () > 0 AS is_paid, sum(p.spend) OVER () AS all_spend,
  CASE WHEN count(p.conversions) OVER () = count(*) OVER () THEN
  sum(p.conversions) OVER () END AS all_conversions,
  sum(p.spend) OVER ()::DOUBLE / nullif(CASE WHEN count(p.conversions) OVER () = count(*) OVER () THEN
  sum((1e6 * p.conversions_expected)::BIGINT) OVER ()::DOUBLE / 1e6 END, 0) AS all_cpa
FROM mart.campaign_performance AS p
WHERE p.account_id = %s AND p.spend > 0
ORDER BY CASE WHEN p.verdict = 'loses' THEN p.excess_spend END DESC NULLS LAST, p.spend DESC, p.campaign_id`, id)
	for i, r := range rows {
		switch r.text("verdict") {
		case "pays":
			v.Paying++
		case "loses":
			v.Loses++
		case "unclear":
			v.Unclear++
		case "broken_tracking":
			v.Broke++
		default:
			v.Aimless++
		}
		p := payer(r)
		if days := r.number("days_known"); days.V > 0 {
			daily[p.Campaign.ID] = page.N(p.Spend.V / days.V)
		}
		if i < maxPayers {
			v.Rows = append(v.Rows, p)
		}
		v.From, v.To, v.Days = r.date("window_from"), r.date("window_to"), r.number("days_known")
		v.Spend, v.Conversions, v.CPA = r.number("all_spend"), r.number("all_conversions"), r.number("all_cpa")
		v.Profit, v.Paid = r.number("all_profit"), r.bool("is_paid")
	}
	v.More = len(rows) - len(v.Rows)
	return v, daily
}

func payer(r row) page.Payer {
	return page.Payer{Campaign: r.named("campaign_id", "campaign_name"), Status: r.text("campaign_status"),
		Verdict: r.text("verdict"), ChangeVerdict: r.text("change_verdict"), Spend: r.number("spend"),
		Conversions: r.number("conversions"), CPA: r.number("cpa_expected"), Best: r.number("cpa_best_case"),
		Worst: r.number("cpa_worst_case"), Target: r.number("target_cpa"), Ratio: r.number("cpa_to_target"),
		Excess: r.number("excess_spend"), Profit: r.number("profit"), Change: r.number("cpa_change"),
		CPARecent: r.number("cpa_recent"), CPABefore: r.number("cpa_before_at_age")}
}

// gravest puts the breaks that call for action before the others.
var gravest = map[string]int{"conversions_stopped": 0, "delivery_stopped": 1}

// breaks asks what broke, the gravest and costliest first.
func (q *reader) breaks(id string, daily map[string]page.Number) (v page.Breaks) {
	for _, r := range q.rows(`SELECT b.kind, b.campaign_id, b.campaign_name, b.since_date, b.observed, b.expected,
		b.delivery_status, b.what_to_do
FROM mart.breaks AS b WHERE b.account_id = %s ORDER BY b.kind, b.campaign_id`, id) {
		b := page.Break{Campaign: r.named("campaign_id", "campaign_name"), Kind: r.text("kind"),
			Since: r.date("since_date"), Observed: r.number("observed"), Expected: r.number("expected"),
			Delivery: r.text("delivery_status"), Do: r.text("what_to_do")}
		b.Daily = daily[b.Campaign.ID]
		v.Rows = append(v.Rows, b)
	}
	rank := func(kind string) int {
		if n, ok := gravest[kind]; ok {
			return n
		}
		return len(gravest)
	}
	slices.SortStableFunc(v.Rows, func(x, y page.Break) int {
		return cmp.Or(cmp.Compare(rank(x.Kind), rank(y.Kind)), -cmp.Compare(x.Daily.V, y.Daily.V))
	})
	return v
}
