package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

func (q *asker) runway(id string) page.Runway {
	r := q.one(`SELECT r.balance, epoch_us(r.balance_seen_at) AS seen_at, r.balance_stop, r.days_known, r.mean_daily_spend, r.days_until_stop, epoch_us(r.stops_at) AS stops_at,
  r.campaigns_without_limit, r.full_limits_spend, r.days_at_full_limits, r.api_days_left, (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'balance_warning') AS warning
FROM mart.budget_runway AS r WHERE r.account_id = %s`, id)
	v := page.Runway{
		Why:  "The account's balance has not been read yet: 'spendsync status' says which settings could not be read.",
		AsOf: r.instant("seen_at"), Balance: r.number("balance"), Stop: r.number("balance_stop"), Warning: r.number("warning"), Mean: r.number("mean_daily_spend"), MeanDays: r.number("days_known"),
		DaysAtMean: r.number("days_until_stop"), DaysAtFull: r.number("days_at_full_limits"), ServiceDaysLeft: r.number("api_days_left"), Unlimited: r.number("campaigns_without_limit"),
		Full: r.number("full_limits_spend"),
	}
	if at := r.instant("stops_at"); !at.IsZero() {
		v.StopsOn = schema.Some(schema.DateOf(at))
	}
	return v
}

// restatedAges are the columns of the heat map: the first and the last age in days
// of each.
var restatedAges = [][2]int{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 14}, {15, 21}, {22, 32}}

// restated asks for the differences seen at each age. A cell is unknown where
// nobody looked at that age, or not yet.
func (q *asker) restated(id string) page.Restated {
	v := page.Restated{Why: "No finished day has been seen to change yet. The first look at a day cannot show a change, so this fills as syncs go on."}
	for _, a := range restatedAges {
		name := fmt.Sprint(a[0])
		if a[0] != a[1] {
			name = fmt.Sprintf("%d–%d", a[0], a[1])
		}
		v.Ages = append(v.Ages, name)
	}
	changed := q.restatements(id)
	if len(changed) == 0 {
		return v
	}
	looked := q.looks(id)
	for _, r := range q.rows("SELECT c.report_date FROM ops.day_coverage AS c WHERE c.account_id = %s AND c.state IN ('complete', 'final') ORDER BY c.report_date DESC LIMIT %d", id, reportRestated) {
		d := page.RestatedDay{Date: r.date("report_date")}
		for i := range restatedAges {
			k := restatedKey{d.Date, i}
			c, seen := changed[k]
			c.Seen, c.Unknown = seen, !seen && !looked[k]
			d.Cells = append(d.Cells, c)
		}
		v.Days = append(v.Days, d)
	}
	slices.Reverse(v.Days)
	days := map[schema.Date]bool{}
	for k := range changed {
		days[k.date] = true
	}
	v.Changed = len(days)
	q.settlement(id, &v)
	return v
}

type restatedKey struct {
	date schema.Date
	age  int // place in restatedAges
}

// ageAt is the place in restatedAges of the age that a day had at an instant, or -1.
func ageAt(day schema.Date, at time.Time) int {
	age := int(schema.DateOf(at) - day)
	return slices.IndexFunc(restatedAges, func(a [2]int) bool { return a[0] <= age && age <= a[1] })
}

// looks are the ages at which each day was read again: only then could a change be
// seen. The first read of a day that was over is none.
func (q *asker) looks(id string) map[restatedKey]bool {
	looked, whole := map[restatedKey]bool{}, map[schema.Date]bool{}
	for _, r := range q.rows(`SELECT s.unit, epoch_us(s.started_at) AS read_at FROM ops.step AS s
JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date::VARCHAR = s.unit
WHERE s.account_id = %s AND s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged') AND c.state IN ('complete', 'final')
ORDER BY s.started_at, s._run_id`, id) {
		day := r.date("unit")
		i := ageAt(day, r.instant("read_at"))
		if i < 0 {
			continue // the day was going on
		}
		if whole[day] {
			looked[restatedKey{day, i}] = true
		}
		whole[day] = true
	}
	return looked
}

func (q *asker) restatements(id string) map[restatedKey]page.RestatedCell {
	changed := map[restatedKey]page.RestatedCell{}
	buckets := "CASE"
	for i, a := range restatedAges {
		buckets += fmt.Sprintf(" WHEN s.age_days <= %d THEN %d", a[1], i)
	}
	for _, r := range q.rows(`WITH day AS (
  SELECT d.report_date, sum(d.conversions) AS conversions FROM mart.campaign_day AS d WHERE d.account_id = %[1]s GROUP BY d.report_date
), seen AS (
  SELECT r.*, d.conversions - sum(r.conversions_change) OVER (PARTITION BY r.report_date ORDER BY r.seen_at DESC) AS conversions_before
  FROM mart.restatements AS r LEFT JOIN day AS d ON d.report_date = r.report_date
  WHERE r.account_id = %[1]s
)
SELECT s.report_date, %[2]s ELSE %[3]d END AS age, sum(s.spend_change) AS spend_change, sum(s.conversions_change) AS conversions_change,
  sum(s.spend_change)::DOUBLE / nullif(arg_min(s.spend_before, s.seen_at), 0)::DOUBLE AS spend_share,
  sum(s.conversions_change)::DOUBLE / nullif(arg_min(s.conversions_before, s.seen_at), 0) AS conversions_share,
  sum(s.rows_inserted + s.rows_updated + s.rows_deleted) AS lines
FROM seen AS s GROUP BY ALL`, id, buckets, len(restatedAges)-1) {
		changed[restatedKey{r.date("report_date"), r.int("age")}] = page.RestatedCell{
			Spend: r.number("spend_share"), SpendDelta: r.number("spend_change"), Conversions: r.number("conversions_share"),
			ConversionsDelta: r.number("conversions_change"), Lines: r.number("lines"),
		}
	}
	return changed
}

// settlement asks how much of the final numbers is there at the youngest age that
// is known, and from which age on all of it.
func (q *asker) settlement(id string, v *page.Restated) {
	r := q.one(`SELECT s.age_days, s.spend_share, s.conversions_share, s.settled_age_days, s.days_followed, (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'settled_share') AS share
FROM mart.settlement AS s WHERE s.account_id = %s AND s.days_followed > 0 ORDER BY s.age_days LIMIT 1`, id)
	v.SettledAge, v.FirstAge, v.FirstSpend, v.FirstConversions = r.number("settled_age_days"), r.number("age_days"), r.number("spend_share"), r.number("conversions_share")
	v.Followed, v.Share = r.number("days_followed"), r.number("share")
}

// What a line of change_log is about, as bids, limits and status are marked.
const (
	aboutBid    = "coalesce(c.field = 'default_bid' OR c.rule = 'bid_override', false)"
	aboutLimit  = "coalesce(c.field = 'daily_spend_limit', false)"
	aboutStatus = "coalesce(c.kind = 'campaign' AND c.field = 'status', false)"
)

// dayChanges are how many settings were first seen changed on a day.
type dayChanges struct{ bids, limits, statuses, other int }

// changesByDay leaves out delivery, which flips by itself.
func (q *asker) changesByDay(id string) map[schema.Date]dayChanges {
	days := map[schema.Date]dayChanges{}
	for _, r := range q.rows(`SELECT epoch_us(c.seen_at) AS seen_at, count(*) AS changes, count(*) FILTER (WHERE %s) AS bids, count(*) FILTER (WHERE %s) AS limits, count(*) FILTER (WHERE %s) AS statuses
FROM mart.change_log AS c WHERE c.account_id = %s AND c.kind <> 'delivery' GROUP BY c.seen_at`, aboutBid, aboutLimit, aboutStatus, id) {
		day := schema.DateOf(r.instant("seen_at"))
		d := days[day]
		d.bids, d.limits, d.statuses = d.bids+r.int("bids"), d.limits+r.int("limits"), d.statuses+r.int("statuses")
		d.other += r.int("changes") - r.int("bids") - r.int("limits") - r.int("statuses")
		days[day] = d
	}
	return days
}

// reportLaneDays is how many days the lanes of the settings span.
const reportLaneDays = 30

func (q *asker) timeline(id string) page.Timeline {
	v := page.Timeline{Why: "The settings of no campaign have been read yet: 'spendsync status' says what could not be read."}
	to := schema.DateOf(q.one("SELECT epoch_us(max(c.last_read_at)) AS as_of FROM ops.day_coverage AS c WHERE c.account_id = %s", id).instant("as_of"))
	v.From, v.To = to-reportLaneDays+1, to
	since := schema.InstantOf(v.From.Start())
	v.Changes, v.MoreRows = q.changes(id, since)
	v.Lanes, v.More = q.lanes(id, since, v.From)
	return v
}

// changes asks for the newest changes, the fields of one thing at one look in one line.
func (q *asker) changes(id string, since schema.Instant) (all []page.Change, more int) {
	rows := q.rows(`SELECT epoch_us(c.seen_at) AS seen_at, epoch_us(max(c.not_before)) AS not_before, c.kind, c.campaign_id, any_value(c.campaign_name) AS campaign_name,
  coalesce(c.creative_id, c.source_id, c.campaign_id) AS thing, c.change_type, coalesce(string_agg(c.field, ', ' ORDER BY c.field), c.rule, '') AS fields,
  string_agg(c.field || ': ' || coalesce(c.old_value, 'none') || ' → ' || coalesce(c.new_value, 'none'), '; ' ORDER BY c.field) AS told, count(*) OVER () AS changes
FROM mart.change_log AS c WHERE c.account_id = %s AND c.kind <> 'delivery' AND epoch_us(c.seen_at) >= %d
GROUP BY c.seen_at, c.kind, c.campaign_id, c.creative_id, c.source_id, c.rule, c.change_type
ORDER BY c.seen_at DESC, CASE c.kind WHEN 'campaign' THEN 0 WHEN 'source_rule' THEN 1 ELSE 2 END, c.campaign_id, thing, c.rule LIMIT %d`, id, int64(since), reportChanges)
	for _, r := range rows {
		c := page.Change{SeenAt: r.instant("seen_at"), NotBefore: r.instant("not_before"), Campaign: r.named("campaign_id", "campaign_name"), Entity: r.text("kind"), EntityID: r.text("thing"),
			Kind: r.text("change_type"), Columns: r.text("fields"), Text: r.text("told")}
		all, more = append(all, c), r.int("changes")-len(rows)
	}
	return all, more
}

// lanes are the campaigns that changed last, and where too few did, those that
// spent most.
func (q *asker) lanes(id string, since schema.Instant, from schema.Date) (all []page.Lane, more int) {
	var ids []string
	for _, r := range q.rows(`WITH changed AS (
  SELECT c.campaign_id, max(c.seen_at) AS seen_at, count(*) AS changes FROM mart.change_log AS c
  WHERE c.account_id = %[1]s AND c.kind <> 'delivery' AND epoch_us(c.seen_at) >= %[2]d GROUP BY c.campaign_id
)
SELECT d.campaign_id, arg_max(d.campaign_name, d.report_date) AS campaign_name, count(*) FILTER (WHERE any_value(c.seen_at) IS NOT NULL) OVER () AS changed
FROM mart.campaign_day AS d LEFT JOIN changed AS c ON c.campaign_id = d.campaign_id
WHERE d.account_id = %[1]s AND d.report_date >= '%[3]s' AND d.settings_version IS NOT NULL
GROUP BY d.campaign_id ORDER BY any_value(c.seen_at) DESC NULLS LAST, any_value(c.changes) DESC NULLS LAST, sum(d.spend) DESC NULLS LAST, d.campaign_id LIMIT %[4]d`, id, int64(since), from, reportLanes) {
		all, ids = append(all, page.Lane{Campaign: r.named("campaign_id", "campaign_name")}), append(ids, schema.QuoteText(r.text("campaign_id")))
		more = max(0, r.int("changed")-len(all))
	}
	if len(all) == 0 {
		return nil, 0
	}
	place := map[string]*page.Lane{}
	for i := range all {
		place[all[i].Campaign.ID] = &all[i]
	}
	for _, r := range q.rows(`SELECT d.campaign_id, d.report_date, CASE WHEN d.is_deleted THEN 'deleted' ELSE d.status END AS status, d.is_assumed
FROM mart.campaign_day AS d WHERE d.account_id = %s AND d.report_date >= '%s' AND d.campaign_id IN (%s) ORDER BY d.campaign_id, d.report_date`, id, from, strings.Join(ids, ", ")) {
		l := place[r.text("campaign_id")]
		l.Spans = extend(l.Spans, page.Span{From: r.date("report_date"), To: r.date("report_date"), Status: r.text("status"), Assumed: r.is("is_assumed")})
	}
	for _, r := range q.rows(`SELECT c.campaign_id, epoch_us(c.seen_at) AS seen_at, bool_or(%s) AS bid, bool_or(%s) AS spend_limit, bool_or(%s) AS status,
  bool_or(NOT %[1]s AND NOT %[2]s AND NOT %[3]s) AS other, count(*) AS changes
FROM mart.change_log AS c WHERE c.account_id = %[4]s AND c.kind <> 'delivery' AND epoch_us(c.seen_at) >= %[5]d AND c.campaign_id IN (%[6]s)
GROUP BY c.campaign_id, c.seen_at ORDER BY c.campaign_id, c.seen_at`, aboutBid, aboutLimit, aboutStatus, id, int64(since), strings.Join(ids, ", ")) {
		l := place[r.text("campaign_id")]
		l.Marks = append(l.Marks, page.Mark{SeenAt: r.instant("seen_at"), Bid: r.is("bid"), Limit: r.is("spend_limit"), Status: r.is("status"), Other: r.is("other"), Changes: r.int("changes")})
	}
	return all, more
}

// extend lengthens the last span by a day, or begins a new one.
func extend(spans []page.Span, day page.Span) []page.Span {
	if n := len(spans); n > 0 && spans[n-1].To+1 == day.From && spans[n-1].Status == day.Status && spans[n-1].Assumed == day.Assumed {
		spans[n-1].To = day.To
		return spans
	}
	return append(spans, day)
}
