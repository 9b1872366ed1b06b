package pagedata

import (
	"strings"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

// fatigue asks for the creatives that are shown now, those to replace first.
func (q *reader) fatigue(id string) page.Fatigue {
	f := page.Fatigue{Why: "No creative that is active now has enough impressions, in the recent window and in an " +
		"earlier one, to compare its CTR with its peak (thresholds fatigue_min_impressions and recent_days)."}
	rows := q.rows(`SELECT f.campaign_id, f.campaign_name, f.creative_id, f.title,
		CASE f.fatigue WHEN 'fell_with_campaign' THEN 'steady' ELSE f.fatigue END AS fatigue, f.age_days, f.ctr_recent,
		f.ctr_peak, f.decline, f.adjusted_decline, f.compared_with, f.z_score, f.impressions_recent, f.recent_to,
		f.fatigue = 'fell_with_campaign' AS fell_together,
		count(*) OVER () AS creatives, c.message, c.link, c.button1, c.button2, coalesce(c.icon_id, c.icon_url) AS icon,
		coalesce(c.image_id, c.image_url) AS image
FROM mart.creative_fatigue AS f LEFT JOIN main.creative_history AS c ON c.account_id = f.account_id AND
c.creative_id = f.creative_id AND c.is_current
WHERE f.account_id = %s AND f.fatigue <> 'too_little_data' AND coalesce(f.status, 'active') = 'active'
ORDER BY CASE f.fatigue WHEN 'exhausted' THEN 0 WHEN 'fatiguing' THEN 1 ELSE 2 END,
CASE WHEN f.fatigue IN ('steady', 'fell_with_campaign') THEN f.decline ELSE f.adjusted_decline END DESC, f.creative_id
LIMIT %d`, id, maxTired)
	rates := q.clickRates(id, rows)
	for _, r := range rows {
		t := page.Tired{Campaign: r.named("campaign_id", "campaign_name"), Creative: r.named("creative_id", "title"),
			State: r.text("fatigue"), Age: r.number("age_days"),
			CTR: r.number("ctr_recent"), Peak: r.number("ctr_peak"), Decline: r.number("decline"),
			Beside: r.number("adjusted_decline"), Siblings: r.text("compared_with") == "siblings",
			Together: r.bool("fell_together"),
			Push: page.Push{Message: r.text("message"), Link: r.text("link"), Button: r.text("button1"),
				Second: r.text("button2"), Icon: r.text("icon"), Image: r.text("image")},
			Z: r.number("z_score"), Impressions: r.number("impressions_recent")}
		to := r.date("recent_to")
		for d := to - maxRates + 1; d <= to; d++ {
			t.Days = append(t.Days, page.Point{Date: d, Value: rates[creativeDay{t.Campaign.ID, t.Creative.ID, d}]})
		}
		f.Rows, f.More = append(f.Rows, t), r.int("creatives")-len(rows)
	}
	return f
}

// creativeDay is a creative of a campaign on a day.
type creativeDay struct {
	campaign, creative string
	date               schema.Date
}

// clickRates returns the creatives' CTR over windows of recent_days that end on each day. A window
// with too few impressions has none.
func (q *reader) clickRates(id string, creatives []row) map[creativeDay]page.Number {
	rates := map[creativeDay]page.Number{}
	var keys []string
	for _, r := range creatives {
		keys = append(keys, schema.QuoteText(r.text("creative_id")))
	}
	if len(keys) == 0 {
		return rates
	}
	// Only the days that are drawn are read, and those that the first window reaches back to.
	back := q.row("SELECT t.value FROM mart.threshold AS t WHERE t.name = 'recent_days'").number("value")
	since := creatives[0].date("recent_to") - maxRates - schema.Date(back.V)
	for _, r := range q.rows(`WITH shown AS (
  SELECT a.campaign_id, a.creative_id, a.report_date, a.clicks, a.impressions FROM mart.creative_spend AS a
  WHERE a.account_id = %s AND a.creative_id IN (%s) AND a.impressions > 0 AND a.report_date > '%s'
), level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'recent_days')::INTEGER AS days, max(t.value) FILTER (WHERE t.name =
  'fatigue_min_impressions') AS enough FROM mart.threshold AS t
), summed AS (
  SELECT s.campaign_id, s.creative_id, s.report_date, sum(s.clicks) OVER back AS clicks,
  sum(s.impressions) OVER back AS impressions, l.enough
  FROM shown AS s CROSS JOIN level AS l
  WINDOW back AS (PARTITION BY s.campaign_id, s.creative_id ORDER BY s.report_date - DATE '2000-01-01' RANGE BETWEEN
  l.days - 1 PRECEDING AND CURRENT ROW)
)
SELECT s.campaign_id, s.creative_id, s.report_date, s.clicks::DOUBLE / s.impressions AS ctr FROM summed AS s WHERE
s.impressions >= s.enough`, id, strings.Join(keys, ", "), since) {
		rates[creativeDay{r.text("campaign_id"), r.text("creative_id"), r.date("report_date")}] = r.number("ctr")
	}
	return rates
}
