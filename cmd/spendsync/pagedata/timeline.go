package pagedata

import (
	"strings"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

// What a line of change_log is about, as bids, limits and status are marked.
const (
	aboutBid    = "coalesce(c.field = 'default_bid' OR c.rule = 'bid_override', false)"
	aboutLimit  = "coalesce(c.field = 'daily_spend_limit', false)"
	aboutStatus = "coalesce(c.kind = 'campaign' AND c.field = 'status', false)"
)

// dayChanges are how many settings were first seen changed on a day.
type dayChanges struct{ bids, limits, statuses, other int }

// changesByDay leaves out delivery, which flips by itself.
func (q *reader) changesByDay(id string) map[schema.Date]dayChanges {
	days := map[schema.Date]dayChanges{}
	for _, r := range q.rows(`SELECT epoch_us(c.seen_at) AS seen_at, count(*) AS changes, count(*) FILTER (WHERE %s) AS
		bids, count(*) FILTER (WHERE %s) AS limits, count(*) FILTER (WHERE %s) AS statuses
FROM mart.change_log AS c WHERE c.account_id = %s AND c.kind <> 'delivery' GROUP BY c.seen_at`,
		aboutBid, aboutLimit, aboutStatus, id) {
		day := schema.DateOf(r.instant("seen_at"))
		d := days[day]
		d.bids, d.limits, d.statuses = d.bids+r.int("bids"), d.limits+r.int("limits"), d.statuses+r.int("statuses")
		d.other += r.int("changes") - r.int("bids") - r.int("limits") - r.int("statuses")
		days[day] = d
	}
	return days
}

// maxLaneDays is how many days the lanes of the settings span.
const maxLaneDays = 30

func (q *reader) timeline(id string) page.Timeline {
	v := page.Timeline{Why: "The settings of no campaign have been read yet: 'spendsync status' says what could " +
		"not be read."}
	to := schema.DateOf(q.row("SELECT epoch_us(max(c.last_read_at)) AS as_of FROM ops.day_coverage AS c WHERE "+
		"c.account_id = %s", id).instant("as_of"))
	v.From, v.To = to-maxLaneDays+1, to
	since := schema.InstantOf(v.From.Start())
	v.Changes, v.MoreRows = q.changes(id, since)
	v.Lanes, v.More = q.lanes(id, since, v.From)
	v.Unconfirmed = q.row("SELECT count(*) AS entities FROM mart.unconfirmed_settings AS u WHERE u.account_id = %s",
		id).number("entities")
	return v
}

// changes asks for the newest changes, the fields of one entity at one look in one line.
func (q *reader) changes(id string, since schema.Instant) (all []page.Change, more int) {
	rows := q.rows(`SELECT epoch_us(c.seen_at) AS seen_at, epoch_us(max(c.not_before)) AS not_before, c.kind,
		c.campaign_id, any_value(c.campaign_name) AS campaign_name,
  coalesce(c.creative_id, c.source_id, c.campaign_id) AS entity_id, c.change_type, coalesce(string_agg(c.field, ', '
  ORDER BY c.field), c.rule, '') AS fields,
  string_agg(c.field || ': ' || coalesce(c.old_value, 'none') || ' → ' || coalesce(c.new_value, 'none'), '; ' ORDER
  BY c.field) AS changed_values, count(*) OVER () AS changes
FROM mart.change_log AS c WHERE c.account_id = %s AND c.kind <> 'delivery' AND epoch_us(c.seen_at) >= %d
GROUP BY c.seen_at, c.kind, c.campaign_id, c.creative_id, c.source_id, c.rule, c.change_type
ORDER BY c.seen_at DESC, CASE c.kind WHEN 'campaign' THEN 0 WHEN 'source_rule' THEN 1 ELSE 2 END, c.campaign_id,
entity_id, c.rule LIMIT %d`, id, int64(since), maxChanges)
	for _, r := range rows {
		c := page.Change{SeenAt: r.instant("seen_at"), NotBefore: r.instant("not_before"),
			Campaign: r.named("campaign_id", "campaign_name"), Entity: r.text("kind"), EntityID: r.text("entity_id"),
			Kind: r.text("change_type"), Columns: r.text("fields"), Text: r.text("changed_values")}
		all, more = append(all, c), r.int("changes")-len(rows)
	}
	return all, more
}

// lanes returns the campaigns that changed last; if there are too few, it adds those with the
// highest spend.
func (q *reader) lanes(id string, since schema.Instant, from schema.Date) (all []page.Lane, more int) {
	var ids []string
	for _, r := range q.rows(`WITH changed AS (
  SELECT c.campaign_id, max(c.seen_at) AS seen_at, count(*) AS changes FROM mart.change_log AS c
  WHERE c.account_id = %[1]s AND c.kind <> 'delivery' AND epoch_us(c.seen_at) >= %[2]d GROUP BY c.campaign_id
)
SELECT d.campaign_id, arg_max(d.campaign_name, d.report_date) AS campaign_name, count(*) FILTER (WHERE
any_value(c.seen_at) IS NOT NULL) OVER () AS changed
FROM mart.campaign_day AS d LEFT JOIN changed AS c ON c.campaign_id = d.campaign_id
WHERE d.account_id = %[1]s AND d.report_date >= '%[3]s' AND d.settings_version IS NOT NULL
GROUP BY d.campaign_id ORDER BY any_value(c.seen_at) DESC NULLS LAST, any_value(c.changes) DESC NULLS LAST,
sum(d.spend) DESC NULLS LAST, d.campaign_id LIMIT %[4]d`, id, int64(since), from, maxLanes) {
		all, ids = append(all, page.Lane{Campaign: r.named("campaign_id", "campaign_name")}),
			append(ids, schema.QuoteText(r.text("campaign_id")))
		more = max(0, r.int("changed")-len(all))
	}
	if len(all) == 0 {
		return nil, 0
	}
	place := map[string]*page.Lane{}
	for i := range all {
		place[all[i].Campaign.ID] = &all[i]
	}
	for _, r := range q.rows(`SELECT d.campaign_id, d.report_date, CASE WHEN d.is_deleted THEN 'deleted' ELSE d.status
		END AS status, d.is_assumed
FROM mart.campaign_day AS d WHERE d.account_id = %s AND d.report_date >= '%s' AND d.campaign_id IN (%s) ORDER BY
d.campaign_id, d.report_date`, id, from, strings.Join(ids, ", ")) {
		l := place[r.text("campaign_id")]
		l.Spans = extend(l.Spans, page.Span{From: r.date("report_date"), To: r.date("report_date"),
			Status: r.text("status"), Assumed: r.bool("is_assumed")})
	}
	for _, r := range q.rows(`SELECT c.campaign_id, epoch_us(c.seen_at) AS seen_at, bool_or(%s) AS bid, bool_or(%s) AS
		spend_limit, bool_or(%s) AS status,
  bool_or(NOT %[1]s AND NOT %[2]s AND NOT %[3]s) AS other, count(*) AS changes
FROM mart.change_log AS c WHERE c.account_id = %[4]s AND c.kind <> 'delivery' AND epoch_us(c.seen_at) >= %[5]d AND
c.campaign_id IN (%[6]s)
GROUP BY c.campaign_id, c.seen_at ORDER BY c.campaign_id, c.seen_at`,
		aboutBid, aboutLimit, aboutStatus, id, int64(since), strings.Join(ids, ", ")) {
		l := place[r.text("campaign_id")]
		l.Marks = append(l.Marks, page.Mark{SeenAt: r.instant("seen_at"), Bid: r.bool("bid"),
			Limit: r.bool("spend_limit"), Status: r.bool("status"), Other: r.bool("other"), Changes: r.int("changes")})
	}
	return all, more
}

// extend lengthens the last span by a day, or starts a new one.
func extend(spans []page.Span, day page.Span) []page.Span {
	if n := len(spans); n > 0 && spans[n-1].To+1 == day.From && spans[n-1].Status == day.Status &&
		spans[n-1].Assumed == day.Assumed {
		spans[n-1].To = day.To
		return spans
	}
	return append(spans, day)
}
