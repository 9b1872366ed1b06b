package pagedata

import (
	"fmt"
	"math"
	"strings"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

// spend asks for each day's parts. Limits add up only where every campaign that
// spent has one.
func (q *reader) spend(id string) page.Spend {
	s := page.Spend{Why: "No campaign has a day in the warehouse yet: run 'spendsync sync'."}
	window :=
		fmt.Sprintf(`d.account_id = %[1]s AND d.report_date > (SELECT max(c.report_date) FROM ops.day_coverage AS c `+
			`WHERE c.account_id = %[1]s) - %[2]d`, id, maxDays)
	top := q.rows(`SELECT d.campaign_id, arg_max(d.campaign_name, d.report_date) AS campaign_name, count(*) OVER () AS
		campaigns
FROM mart.campaign_day AS d WHERE %s GROUP BY d.campaign_id HAVING sum(d.spend) > 0 ORDER BY sum(d.spend) DESC,
d.campaign_id LIMIT %d`, window, maxCampaigns)
	var parts []string
	for i, r := range top {
		s.Campaigns = append(s.Campaigns, r.named("campaign_id", "campaign_name"))
		s.Rest = r.int("campaigns") - len(top)
		parts = append(parts, fmt.Sprintf("sum(d.spend) FILTER (WHERE d.campaign_id = %s) AS part%d",
			schema.QuoteText(r.text("campaign_id")), i))
	}
	if len(top) == 0 {
		return s
	}
	changes := q.changesByDay(id)
	for _, r := range q.rows(`SELECT d.report_date, any_value(d.coverage_state) AS state, bool_or(d.is_covered) AS
		covered, sum(d.spend) AS total, %s,
  sum(d.daily_spend_limit) FILTER (WHERE d.spend > 0) AS limits, count(*) FILTER (WHERE d.spend > 0 AND
  d.daily_spend_limit IS NULL) AS unlimited,
  bool_or(d.is_assumed) FILTER (WHERE d.spend > 0) AS assumed
FROM mart.campaign_day AS d WHERE %s GROUP BY d.report_date ORDER BY d.report_date`,
		strings.Join(parts, ", "), window) {
		s.Days = append(s.Days, spendDay(r, len(top), s.Rest > 0, changes))
	}
	return s
}

func spendDay(r row, top int, hasRest bool, changes map[schema.Date]dayChanges) page.SpendDay {
	d := page.SpendDay{Date: r.date("report_date"), State: r.text("state"), Total: r.number("total"),
		Assumed: r.bool("assumed")}
	rest := d.Total.V
	for i := range top {
		p := r.number(fmt.Sprintf("part%d", i))
		if !p.Known && d.Total.Known {
			p = page.N(0) // covered, and no row: none
		}
		d.Parts, rest = append(d.Parts, p), rest-p.V
	}
	if hasRest {
		n := page.Number{}
		if d.Total.Known {
			n = page.N(max(0, math.Round(rest*1e6)/1e6))
		}
		d.Parts = append(d.Parts, n)
	}
	if r.bool("covered") {
		if d.Unlimited = r.number("unlimited"); d.Unlimited.V == 0 {
			d.Limit = r.number("limits")
		}
	}
	c := changes[d.Date]
	d.Bids, d.Limits, d.Statuses, d.Other = c.bids, c.limits, c.statuses, c.other
	return d
}

func (q *reader) pacing(id string) page.Pacing {
	p := page.Pacing{Why: "No campaign that spent has a daily limit that could be read, so there is no pace to hold " +
		"spend against."}
	rows := q.rows(`WITH day AS (
  SELECT max(p.report_date) AS report_date FROM mart.daily_pacing AS p
  WHERE p.account_id = %[1]s AND p.pacing_state NOT IN ('too_early', 'unknown', 'no_limit') AND p.spend > 0
)
SELECT p.campaign_id, p.campaign_name, p.report_date, p.spend, p.daily_spend_limit, p.utilization, p.day_elapsed,
p.projected_spend, p.pacing_state, count(*) OVER () AS campaigns
FROM mart.daily_pacing AS p JOIN day AS d ON d.report_date = p.report_date
WHERE p.account_id = %[1]s AND p.daily_spend_limit > 0 AND p.spend > 0
ORDER BY CASE p.pacing_state WHEN 'over' THEN 0 WHEN 'limited' THEN 1 WHEN 'under' THEN 2 ELSE 3 END, p.spend DESC,
p.campaign_id LIMIT %[2]d`, id, maxPaces)
	for _, r := range rows {
		p.Rows = append(p.Rows, page.Pace{Campaign: r.named("campaign_id", "campaign_name"),
			Date: r.date("report_date"), Spend: r.number("spend"), Limit: r.number("daily_spend_limit"),
			Used: r.number("utilization"), Elapsed: r.number("day_elapsed"), Projected: r.number("projected_spend"),
			State: r.text("pacing_state")})
		p.More = r.int("campaigns") - len(rows)
	}
	return p
}

func (q *reader) runway(id string) page.Runway {
	r := q.row(`SELECT r.balance, epoch_us(r.balance_seen_at) AS seen_at, r.balance_stop, r.days_known,
		r.mean_daily_spend, r.days_until_stop, epoch_us(r.stops_at) AS stops_at,
  r.campaigns_without_limit, r.full_limits_spend, r.days_at_full_limits, r.api_days_left, (SELECT t.value FROM
  mart.threshold AS t WHERE t.name = 'balance_warning') AS warning
FROM mart.budget_runway AS r WHERE r.account_id = %s`, id)
	v := page.Runway{
		Why:  "The account's balance has not been read yet: 'spendsync status' says which settings could not be read.",
		AsOf: r.instant("seen_at"), Balance: r.number("balance"), Stop: r.number("balance_stop"),
		Warning: r.number("warning"), Mean: r.number("mean_daily_spend"), MeanDays: r.number("days_known"),
		DaysAtMean: r.number("days_until_stop"), DaysAtFull: r.number("days_at_full_limits"),
		ServiceDaysLeft: r.number("api_days_left"), Unlimited: r.number("campaigns_without_limit"),
		Full: r.number("full_limits_spend"),
	}
	if at := r.instant("stops_at"); !at.IsZero() {
		v.StopsOn = schema.Some(schema.DateOf(at))
	}
	return v
}
