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
  bool_or(d.is_assumed) FILTER (WHERE d.spend > 0) AS assumed,
  CASE WHEN count(d.conversions) = count(*) THEN sum(d.conversions) END AS conversions,
  any_value(m.conversions_share) AS arrived,
  CASE WHEN count(*) FILTER (WHERE d.spend > 0 AND d.target_cpa IS NULL) = 0 THEN sum(d.conversions * d.target_cpa) END
  AS allowed,
  CASE WHEN count(p.revenue) = count(p.account_id) AND EXISTS (FROM main.payout AS y WHERE y.account_id = %s)
  THEN coalesce(sum(p.revenue), 0) END AS revenue
FROM mart.campaign_day AS d
LEFT JOIN mart.campaign_profit AS p ON p.account_id = d.account_id AND p.report_date = d.report_date AND
  p.campaign_id = d.campaign_id
LEFT JOIN mart.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
WHERE %s GROUP BY d.report_date ORDER BY d.report_date`,
		strings.Join(parts, ", "), id, window) {
		s.Days = append(s.Days, spendDay(r, len(top), s.Rest > 0, changes))
	}
	return s
}

func spendDay(r row, top int, hasRest bool, changes map[schema.Date]dayChanges) page.SpendDay {
	d := page.SpendDay{Date: r.date("report_date"), State: r.text("state"), Total: r.number("total"),
		Assumed: r.bool("assumed"), Conversions: r.number("conversions"), Arrived: r.number("arrived"),
		Allowed: r.number("allowed"), Revenue: r.number("revenue")}
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

// pacing asks how the newest day goes that was read: that of today, as a rule.
func (q *reader) pacing(id string) page.Pacing {
	p := page.Pacing{Why: "No campaign that spent has a daily limit that could be read, so there is no pace to hold " +
		"spend against."}
	rows := q.rows(`WITH paced AS (
  SELECT p.*, max(p.report_date) FILTER (WHERE p.pacing_state NOT IN ('too_early', 'unknown', 'no_limit') AND p.spend
    > 0) OVER () AS last_date
  FROM mart.daily_pacing AS p WHERE p.account_id = %s
), today AS (
  SELECT c.report_date AS today, epoch_us(c.last_read_at) AS as_of, coalesce((SELECT sum(s.spend) FROM
    mart.campaign_spend AS s WHERE s.account_id = c.account_id AND s.report_date = c.report_date), 0) AS spend_today,
    least(1, (epoch(c.last_read_at) - epoch(k.starts_at)) / (epoch(k.ends_at) - epoch(k.starts_at))) AS elapsed_today,
    -- If limits count by another day, no projection of the Chicago day exists.
    CASE WHEN k.limit_starts_at IS NULL THEN (SELECT CASE WHEN count(p.projected_spend) = count(*) FILTER (WHERE p.spend
      > 0) THEN sum(p.projected_spend) END FROM paced AS p WHERE p.report_date = c.report_date) END AS projected_today
  FROM ops.day_coverage AS c
  JOIN main.calendar AS k ON k.account_id = c.account_id AND k.report_date = c.report_date
  WHERE c.account_id = %s AND c.state = 'open' ORDER BY c.report_date DESC LIMIT 1
)
SELECT p.campaign_id, p.campaign_name, p.report_date, p.spend, p.daily_spend_limit, p.utilization, p.day_elapsed,
  p.projected_spend, p.pacing_state, p.delivery_status, p.advice, t.today, t.as_of, t.spend_today, t.elapsed_today,
  t.projected_today, count(*) OVER () AS campaigns
FROM (SELECT 1) LEFT JOIN today AS t ON true
LEFT JOIN paced AS p ON p.report_date = p.last_date AND p.daily_spend_limit > 0 AND p.spend > 0
ORDER BY CASE WHEN p.advice LIKE 'nothing%%' OR p.advice IS NULL THEN 1 ELSE 0 END, CASE p.pacing_state WHEN 'over'
THEN 0 WHEN 'limited' THEN 1 WHEN 'under' THEN 2 ELSE 3 END, p.spend DESC, p.campaign_id LIMIT %d`, id, id, maxPaces)
	for _, r := range rows {
		p.Today = page.Today{Date: r.nullDate("today"), AsOf: r.instant("as_of"), Spend: r.number("spend_today"),
			Elapsed: r.number("elapsed_today"), Projected: r.number("projected_today")}
		if !r["campaign_id"].Valid {
			continue
		}
		p.Rows = append(p.Rows, page.Pace{Campaign: r.named("campaign_id", "campaign_name"),
			Date: r.date("report_date"), Spend: r.number("spend"), Limit: r.number("daily_spend_limit"),
			Used: r.number("utilization"), Elapsed: r.number("day_elapsed"), Projected: r.number("projected_spend"),
			State: r.text("pacing_state"), Delivery: r.text("delivery_status"), Advice: r.text("advice")})
		p.More = r.int("campaigns") - len(rows)
	}
	q.hours(id, &p.Today)
	return p
}

// hours queries the hours of the open day. The usual spend by now counts only if every hour up to
// now is known.
func (q *reader) hours(id string, t *page.Today) {
	if !t.Date.Valid {
		return
	}
	usual, whole := 0.0, true
	for _, r := range q.rows(`SELECT h.hour, sum(h.spend) AS spend, sum(h.usual_spend) AS usual,
  min(epoch_us(h.hour_from)) + 3600000000 <= %d AS is_over
FROM mart.intraday_hourly AS h WHERE h.account_id = %s AND h.report_date = '%s' GROUP BY h.hour ORDER BY h.hour`,
		t.AsOf.UnixMicro(), id, t.Date.V) {
		h := page.Hour{Hour: r.int("hour"), Spend: r.number("spend"), Usual: r.number("usual")}
		if t.Hours = append(t.Hours, h); r.bool("is_over") {
			usual, whole = usual+h.Usual.V, whole && h.Usual.Known && h.Spend.Known
		} else {
			whole = whole && !h.Spend.Known
		}
	}
	if len(t.Hours) > 0 && whole && usual > 0 {
		t.UsualByNow = page.N(usual)
	}
}

func (q *reader) runway(id string) page.Runway {
	r := q.row(`SELECT r.balance, epoch_us(coalesce(r.balance_last_seen_at, r.balance_seen_at)) AS
		seen_at, r.balance_stop, r.days_known,
		r.mean_daily_spend, r.days_until_stop, epoch_us(r.stops_at) AS stops_at,
  r.campaigns_without_limit, r.full_limits_spend, r.days_at_full_limits, r.api_days_left, r.expected_daily_spend,
  r.is_auto_funded, r.is_below_warning, r.what_to_do, (SELECT t.value FROM
  mart.threshold AS t WHERE t.name = 'balance_warning') AS warning
FROM mart.budget_runway AS r WHERE r.account_id = %s`, id)
	v := page.Runway{
		Why:  "The account's balance has not been read yet: 'spendsync status' says which settings could not be read.",
		AsOf: r.instant("seen_at"), Balance: r.number("balance"), Stop: r.number("balance_stop"),
		Warning: r.number("warning"), Mean: r.number("mean_daily_spend"), MeanDays: r.number("days_known"),
		DaysAtMean: r.number("days_until_stop"), DaysAtFull: r.number("days_at_full_limits"),
		ServiceDaysLeft: r.number("api_days_left"), Unlimited: r.number("campaigns_without_limit"),
		Full: r.number("full_limits_spend"), Expected: r.number("expected_daily_spend"),
		AutoFunded: r.bool("is_auto_funded"), Warns: r.bool("is_below_warning"), Do: r.text("what_to_do"),
	}
	if at := r.instant("stops_at"); !at.IsZero() {
		v.StopsOn = schema.Some(schema.DateOf(at))
	}
	return v
}
