package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/page"
	"spendsync/load"
	"spendsync/schema"
)

// How much a report draws and lists; the rest is counted.
const (
	reportDays      = 45  // columns of the spend chart and the newest change of settings
	reportWeeks     = 26  // lines of the calendar
	reportCampaigns = 6   // parts of a day's column with a colour of their own
	reportPaces     = 12  // campaigns against their limit
	reportSources   = 45  // sources to block, to scale, and of neither kind, each
	reportTired     = 8   // creatives
	reportRates     = 30  // days of a creative's CTR
	reportBids      = 120 // bids
	reportRestated  = 21  // days of the heat map
	reportLanes     = 10  // campaigns with a lane
	reportChanges   = 60  // changes of settings
	reportRuns      = 30  // runs of the sync
)

// reportViews are the views that a report asks.
var reportViews = []string{"ad_report", "bid_vs_cpc", "budget_runway", "campaign_day", "change_log", "creative_fatigue", "daily_pacing", "data_quality",
	"performance_window", "restatements", "settlement", "source_block_candidates", "source_performance", "source_scale_candidates", "threshold", "wasted_spend"}

// asker asks the published warehouse, and after the first error nothing more.
type asker struct {
	ctx     context.Context
	session *load.Session
	err     error
}

// reportRow is one row of an answer, by column.
type reportRow map[string]schema.Null[string]

func (q *asker) rows(sql string, args ...any) []reportRow {
	if q.err != nil {
		return nil
	}
	a, err := q.session.Query(q.ctx, fmt.Sprintf(sql, args...))
	if err != nil {
		q.err = err
		return nil
	}
	var all []reportRow
	for _, r := range a.Rows {
		row := reportRow{}
		for i, c := range a.Columns {
			row[c] = r[i]
		}
		all = append(all, row)
	}
	return all
}

// one is the only row of an answer, or an empty one.
func (q *asker) one(sql string, args ...any) reportRow {
	if rows := q.rows(sql, args...); len(rows) > 0 {
		return rows[0]
	}
	return reportRow{}
}

func (r reportRow) text(column string) string        { return r[column].V }
func (r reportRow) number(column string) page.Number { return page.ParseNumber(r[column]) }
func (r reportRow) is(column string) bool            { return r[column].V == "true" }

func (r reportRow) int(column string) int {
	n, _ := strconv.Atoi(r[column].V)
	return n
}

// instant reads microseconds since 1970, as epoch_us gives them.
func (r reportRow) instant(column string) time.Time {
	us, err := strconv.ParseInt(r[column].V, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func (r reportRow) date(column string) schema.Date {
	d, _ := schema.ParseDate(r[column].V)
	return d
}

func (r reportRow) maybeDate(column string) schema.Null[schema.Date] {
	d, err := schema.ParseDate(r[column].V)
	return schema.Null[schema.Date]{V: d, Valid: err == nil}
}

func (r reportRow) named(id, name string) page.Named {
	return page.Named{ID: r[id].V, Name: r[name].V}
}

// readReport reads all that a report shows, of one generation.
func readReport(ctx context.Context, dir, account string, o load.Options) (r page.Report, err error) {
	m, err := load.ReadManifest(dir)
	if err != nil {
		return r, err
	}
	s, err := load.OpenSession(ctx, dir, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	q := &asker{ctx: ctx, session: s}
	if err := q.haveViews(dir); err != nil {
		return r, err
	}
	names, err := q.accounts(account)
	if err != nil {
		return r, err
	}
	r = page.Report{Version: version(), Schema: m.SchemaVersion}
	for _, t := range q.rows("SELECT t.name, t.value, t.unit, t.meaning FROM mart.threshold AS t ORDER BY t.name") {
		r.Thresholds = append(r.Thresholds, page.Threshold{Name: t.text("name"), Unit: t.text("unit"), Meaning: t.text("meaning"), Value: t.number("value")})
	}
	for _, name := range names {
		r.Accounts = append(r.Accounts, q.account(name))
	}
	return r, q.err
}

// accounts are the accounts of the warehouse, or the one asked for.
func (q *asker) accounts(account string) (names []string, err error) {
	for _, r := range q.rows("SELECT DISTINCT c.account_id FROM ops.day_coverage AS c ORDER BY c.account_id") {
		names = append(names, r.text("account_id"))
	}
	if account == "" || q.err != nil {
		return names, q.err
	}
	if !slices.Contains(names, account) {
		return nil, exit.Usagef("--account %q: the warehouse has %s", account, strings.Join(names, ", "))
	}
	return []string{account}, nil
}

// haveViews says which views a warehouse lacks that an older binary published.
func (q *asker) haveViews(dir string) error {
	have := map[string]bool{}
	for _, r := range q.rows("SELECT v.view_name FROM duckdb_views() AS v WHERE v.schema_name = 'mart'") {
		have[r.text("view_name")] = true
	}
	var lacks []string
	for _, v := range reportViews {
		if !have[v] {
			lacks = append(lacks, "mart."+v)
		}
	}
	if q.err == nil && len(lacks) > 0 {
		return exit.Usagef("the warehouse in %s was published by another version of spendsync and lacks %s: run 'spendsync rebuild', which makes it anew with this version's views",
			dir, strings.Join(lacks, ", "))
	}
	return q.err
}

func (q *asker) account(name string) page.Account {
	id := schema.QuoteText(name)
	a := page.Account{Name: name, Coverage: q.coverage(id), Spend: q.spend(id), Pacing: q.pacing(id), Sources: q.sources(id), Fatigue: q.fatigue(id),
		Bids: q.bids(id), Runway: q.runway(id), Restated: q.restated(id), Timeline: q.timeline(id), Health: q.health(id)}
	a.Fresh = q.freshness(id)
	a.Headline = q.headline(id, a)
	return a
}

func (q *asker) freshness(id string) page.Freshness {
	r := q.one(`SELECT epoch_us(max(c.last_read_at)) AS as_of, max(c.report_date) FILTER (WHERE c.state IN ('complete', 'final')) AS last_whole
FROM ops.day_coverage AS c WHERE c.account_id = %s`, id)
	run := q.one("SELECT r._run_id AS id, r.version FROM ops.run AS r WHERE r.account_id = %s ORDER BY r._run_id DESC LIMIT 1", id)
	return page.Freshness{AsOf: r.instant("as_of"), LastWhole: r.maybeDate("last_whole"), RunID: run.text("id"), Version: run.text("version")}
}

// headline repeats what the sections found, and asks for the recent window.
func (q *asker) headline(id string, a page.Account) page.Headline {
	r := q.one(`WITH day AS (
  SELECT d.report_date, sum(d.spend) AS spend,
    sum(d.spend) FILTER (WHERE d.target_cpa IS NOT NULL AND d.conversions IS NOT NULL) AS aimed,
    sum(d.conversions) FILTER (WHERE d.target_cpa IS NOT NULL) AS conversions,
    sum(d.conversions * d.target_cpa) AS allowed
  FROM mart.campaign_day AS d
  WHERE d.account_id = %[1]s AND d.coverage_state IN ('complete', 'final')
    AND d.report_date > (SELECT max(c.report_date) FROM ops.day_coverage AS c WHERE c.account_id = %[1]s AND c.state IN ('complete', 'final'))
      - (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'recent_days')::INTEGER
  GROUP BY d.report_date
)
SELECT arg_max(d.spend, d.report_date) AS spend, sum(d.spend)::DOUBLE / count(*) AS mean_spend, count(*) AS days,
  sum(d.aimed)::DOUBLE / nullif(sum(d.conversions), 0) AS cpa, sum(d.allowed)::DOUBLE / nullif(sum(d.conversions), 0) AS allowed_cpa, sum(d.conversions) AS conversions
FROM day AS d`, id)
	h := page.Headline{
		Spend: r.number("spend"), MeanSpend: r.number("mean_spend"), MeanDays: r.int("days"), CPA: r.number("cpa"), AllowedCPA: r.number("allowed_cpa"),
		CPAConversions: r.number("conversions"), DaysLeft: a.Runway.DaysAtMean, Balance: a.Runway.Balance, StopBalance: a.Runway.Stop,
		SourcesToBlock: a.Sources.Block, Excess: a.Sources.Excess,
	}
	h.WindowDays = q.one("SELECT t.value FROM mart.threshold AS t WHERE t.name = 'performance_days'").number("value")
	gaps := q.one(`SELECT count(*) FILTER (WHERE c.state IN ('missing', 'partial')) AS gaps, count(*) FILTER (WHERE c.state = 'lost') AS lost
FROM ops.day_coverage AS c WHERE c.account_id = %s`, id)
	h.Gaps, h.Lost = gaps.int("gaps"), gaps.int("lost")
	return h
}

// whatToDo is what a day's state asks for.
var whatToDo = map[string]string{
	schema.StateFinal: "nothing", schema.StateComplete: "nothing; it may still be restated", schema.StateOpen: "nothing; the day goes on",
	schema.StatePartial: "run spendsync sync: it was last read before it was over", schema.StateMissing: "run spendsync sync while it can be asked for",
	schema.StateLost: "leave it out of averages: it can no longer be asked for",
}

func (q *asker) coverage(id string) page.Coverage {
	rows := q.rows(`SELECT c.report_date, c.state, c.spend, c.rows, epoch_us(c.last_read_at) AS read_at, c.days_until_unreachable
FROM ops.day_coverage AS c WHERE c.account_id = %s ORDER BY c.report_date`, id)
	c := page.Coverage{Why: "No day of the report has been planned yet: run 'spendsync sync'."}
	if n := reportWeeks * 7; len(rows) > n {
		c.Earlier, rows = len(rows)-n, rows[len(rows)-n:]
	}
	for _, r := range rows {
		d := page.Day{Date: r.date("report_date"), State: r.text("state"), Spend: r.number("spend"), Rows: r.number("rows"), ReadAt: r.instant("read_at"),
			Left: r.number("days_until_unreachable"), Do: whatToDo[r.text("state")]}
		if d.State == schema.StatePartial && d.Left.V == 0 {
			d.Do = "leave it out of averages: it is known in part and can no longer be asked for"
		}
		c.Days = append(c.Days, d)
	}
	return c
}

// spend asks for each day's parts. Limits add up only where every campaign that
// spent has one.
func (q *asker) spend(id string) page.Spend {
	s := page.Spend{Why: "No campaign has a day in the warehouse yet: run 'spendsync sync'."}
	window := fmt.Sprintf(`d.account_id = %[1]s AND d.report_date > (SELECT max(c.report_date) FROM ops.day_coverage AS c WHERE c.account_id = %[1]s) - %[2]d`, id, reportDays)
	top := q.rows(`SELECT d.campaign_id, arg_max(d.campaign_name, d.report_date) AS campaign_name, count(*) OVER () AS campaigns
FROM mart.campaign_day AS d WHERE %s GROUP BY d.campaign_id HAVING sum(d.spend) > 0 ORDER BY sum(d.spend) DESC, d.campaign_id LIMIT %d`, window, reportCampaigns)
	var parts []string
	for i, r := range top {
		s.Campaigns = append(s.Campaigns, r.named("campaign_id", "campaign_name"))
		s.Rest = r.int("campaigns") - len(top)
		parts = append(parts, fmt.Sprintf("sum(d.spend) FILTER (WHERE d.campaign_id = %s) AS part%d", schema.QuoteText(r.text("campaign_id")), i))
	}
	if len(top) == 0 {
		return s
	}
	changes := q.changesByDay(id)
	for _, r := range q.rows(`SELECT d.report_date, any_value(d.coverage_state) AS state, bool_or(d.is_covered) AS covered, sum(d.spend) AS total, %s,
  sum(d.daily_spend_limit) FILTER (WHERE d.spend > 0) AS limits, count(*) FILTER (WHERE d.spend > 0 AND d.daily_spend_limit IS NULL) AS unlimited,
  bool_or(d.is_assumed) FILTER (WHERE d.spend > 0) AS assumed
FROM mart.campaign_day AS d WHERE %s GROUP BY d.report_date ORDER BY d.report_date`, strings.Join(parts, ", "), window) {
		s.Days = append(s.Days, spendDay(r, len(top), s.Rest > 0, changes))
	}
	return s
}

func spendDay(r reportRow, top int, hasRest bool, changes map[schema.Date]dayChanges) page.SpendDay {
	d := page.SpendDay{Date: r.date("report_date"), State: r.text("state"), Total: r.number("total"), Assumed: r.is("assumed")}
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
	if r.is("covered") {
		if d.Unlimited = r.number("unlimited"); d.Unlimited.V == 0 {
			d.Limit = r.number("limits")
		}
	}
	c := changes[d.Date]
	d.Bids, d.Limits, d.Statuses, d.Other = c.bids, c.limits, c.statuses, c.other
	return d
}

func (q *asker) pacing(id string) page.Pacing {
	p := page.Pacing{Why: "No campaign that spent has a daily limit that could be read, so there is no pace to hold spend against."}
	rows := q.rows(`WITH day AS (
  SELECT max(p.report_date) AS report_date FROM mart.daily_pacing AS p
  WHERE p.account_id = %[1]s AND p.pacing_state NOT IN ('too_early', 'unknown', 'no_limit') AND p.spend > 0
)
SELECT p.campaign_id, p.campaign_name, p.report_date, p.spend, p.daily_spend_limit, p.utilization, p.day_elapsed, p.projected_spend, p.pacing_state, count(*) OVER () AS campaigns
FROM mart.daily_pacing AS p JOIN day AS d ON d.report_date = p.report_date
WHERE p.account_id = %[1]s AND p.daily_spend_limit > 0 AND p.spend > 0
ORDER BY CASE p.pacing_state WHEN 'over' THEN 0 WHEN 'limited' THEN 1 WHEN 'under' THEN 2 ELSE 3 END, p.spend DESC, p.campaign_id LIMIT %[2]d`, id, reportPaces)
	for _, r := range rows {
		p.Rows = append(p.Rows, page.Pace{Campaign: r.named("campaign_id", "campaign_name"), Date: r.date("report_date"), Spend: r.number("spend"), Limit: r.number("daily_spend_limit"),
			Used: r.number("utilization"), Elapsed: r.number("day_elapsed"), Projected: r.number("projected_spend"), State: r.text("pacing_state")})
		p.More = r.int("campaigns") - len(rows)
	}
	return p
}

func (q *asker) sources(id string) page.Sources {
	s := page.Sources{Why: "No source spent anything in the window of whole days, so there is nothing to judge."}
	rows := q.rows(`WITH judged AS (
  SELECT p.*, b.excess_spend, CASE WHEN b.source_id IS NOT NULL THEN 'block' WHEN c.source_id IS NOT NULL THEN 'scale' ELSE '' END AS verdict, count(*) OVER () AS sources
  FROM mart.source_performance AS p
  LEFT JOIN mart.source_block_candidates AS b ON b.account_id = p.account_id AND b.campaign_id = p.campaign_id AND b.source_id = p.source_id
  LEFT JOIN mart.source_scale_candidates AS c ON c.account_id = p.account_id AND c.campaign_id = p.campaign_id AND c.source_id = p.source_id
  WHERE p.account_id = %s AND p.spend > 0
)
SELECT j.campaign_id, j.campaign_name, j.source_id, j.window_from, j.window_to, j.spend, j.clicks, j.conversions, j.cpa, j.cpa_best_case, j.cpa_worst_case,
  j.judged_cpa, j.target_origin, j.excess_spend, j.verdict, j.sources
FROM judged AS j
QUALIFY row_number() OVER (PARTITION BY j.verdict ORDER BY j.excess_spend DESC, j.spend DESC, j.campaign_id, j.source_id) <= %d
ORDER BY CASE j.verdict WHEN 'block' THEN 0 WHEN 'scale' THEN 1 ELSE 2 END, j.excess_spend DESC, j.spend DESC, j.campaign_id, j.source_id`, id, reportSources)
	for _, r := range rows {
		s.Rows = append(s.Rows, page.Source{Campaign: r.named("campaign_id", "campaign_name"), Source: r.text("source_id"), Spend: r.number("spend"), Clicks: r.number("clicks"),
			Conversions: r.number("conversions"), CPA: r.number("cpa"), Best: r.number("cpa_best_case"), Worst: r.number("cpa_worst_case"), Target: r.number("judged_cpa"),
			TargetOrigin: r.text("target_origin"), Excess: r.number("excess_spend"), Verdict: r.text("verdict")})
		s.From, s.To, s.More = r.date("window_from"), r.date("window_to"), r.int("sources")-len(rows)
	}
	w := q.one("SELECT sum(w.sources_to_block) AS block, sum(w.excess_spend) AS excess FROM mart.wasted_spend AS w WHERE w.account_id = %s", id)
	s.Block, s.Excess = w.number("block"), w.number("excess")
	s.Scale = q.one("SELECT count(*) AS n FROM mart.source_scale_candidates AS c WHERE c.account_id = %s", id).number("n")
	return s
}

// fatigue asks for the creatives that are shown now, those to replace first.
func (q *asker) fatigue(id string) page.Fatigue {
	f := page.Fatigue{Why: "No creative that is active now has enough impressions, in the recent window and in an earlier one, to compare its CTR with its peak (thresholds fatigue_min_impressions and recent_days)."}
	rows := q.rows(`SELECT f.campaign_id, f.campaign_name, f.creative_id, f.title, f.fatigue, f.age_days, f.ctr_recent, f.ctr_peak, f.decline, f.z_score, f.impressions_recent, f.recent_to, count(*) OVER () AS creatives
FROM mart.creative_fatigue AS f
WHERE f.account_id = %s AND f.fatigue <> 'too_little_data' AND coalesce(f.status, 'active') = 'active'
ORDER BY CASE f.fatigue WHEN 'exhausted' THEN 0 WHEN 'fatiguing' THEN 1 ELSE 2 END, f.decline DESC, f.creative_id LIMIT %d`, id, reportTired)
	rates := q.clickRates(id, rows)
	for _, r := range rows {
		t := page.Tired{Campaign: r.named("campaign_id", "campaign_name"), Creative: r.named("creative_id", "title"), State: r.text("fatigue"), Age: r.number("age_days"),
			CTR: r.number("ctr_recent"), Peak: r.number("ctr_peak"), Decline: r.number("decline"), Z: r.number("z_score"), Impressions: r.number("impressions_recent")}
		to := r.date("recent_to")
		for d := to - reportRates + 1; d <= to; d++ {
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

// clickRates are the creatives' CTR over windows of recent_days that end on each
// day. A window with too few impressions to say has none.
func (q *asker) clickRates(id string, creatives []reportRow) map[creativeDay]page.Number {
	rates := map[creativeDay]page.Number{}
	var keys []string
	for _, r := range creatives {
		keys = append(keys, "("+schema.QuoteText(r.text("campaign_id"))+", "+schema.QuoteText(r.text("creative_id"))+")")
	}
	if len(keys) == 0 {
		return rates
	}
	for _, r := range q.rows(`WITH shown AS (
  SELECT a.campaign_id, a.ad_id, a.date_day, a.clicks, a.impressions FROM mart.ad_report AS a
  JOIN ops.day_coverage AS c ON c.account_id = a.account_id AND c.report_date = a.date_day AND c.state IN ('complete', 'final')
  WHERE a.account_id = %s AND (a.campaign_id, a.ad_id) IN (%s) AND a.impressions > 0
), level AS (
  SELECT max(t.value) FILTER (WHERE t.name = 'recent_days')::INTEGER AS days, max(t.value) FILTER (WHERE t.name = 'fatigue_min_impressions') AS enough FROM mart.threshold AS t
), summed AS (
  SELECT s.campaign_id, s.ad_id, s.date_day, sum(s.clicks) OVER back AS clicks, sum(s.impressions) OVER back AS impressions, l.enough
  FROM shown AS s CROSS JOIN level AS l
  WINDOW back AS (PARTITION BY s.campaign_id, s.ad_id ORDER BY s.date_day - DATE '2000-01-01' RANGE BETWEEN l.days - 1 PRECEDING AND CURRENT ROW)
)
SELECT s.campaign_id, s.ad_id, s.date_day, s.clicks::DOUBLE / s.impressions AS ctr FROM summed AS s WHERE s.impressions >= s.enough`, id, strings.Join(keys, ", ")) {
		rates[creativeDay{r.text("campaign_id"), r.text("ad_id"), r.date("date_day")}] = r.number("ctr")
	}
	return rates
}

// bids asks for the bids whose clicks cost most beyond what they bring.
func (q *asker) bids(id string) page.Bids {
	b := page.Bids{Why: "No source had a click in the window of whole days, so no bid can be compared with what a click cost."}
	rows := q.rows(`SELECT b.campaign_id, b.campaign_name, b.source_id, b.mean_bid, b.bid_now, b.bid_origin, b.cpc, b.cpc_to_bid, b.cpc_at_target, b.clicks, b.conversions, b.spend, b.bid_state,
  epoch_us(b.bids_last_read_at) AS read_at, count(*) OVER () AS bids
FROM mart.bid_vs_cpc AS b
WHERE b.account_id = %s AND b.clicks > 0
ORDER BY b.conversions >= (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_min_conversions') AND b.cpc > b.cpc_at_target DESC NULLS LAST, b.spend DESC, b.campaign_id, b.source_id LIMIT %d`, id, reportBids)
	for _, r := range rows {
		b.Rows = append(b.Rows, page.Bid{Campaign: r.named("campaign_id", "campaign_name"), Source: r.text("source_id"), Origin: r.text("bid_origin"), Bid: r.number("mean_bid"), Now: r.number("bid_now"),
			CPC: r.number("cpc"), Ratio: r.number("cpc_to_bid"), BreakEven: r.number("cpc_at_target"), Clicks: r.number("clicks"), Conversions: r.number("conversions"), Spend: r.number("spend"),
			Stale: r.text("bid_state") != "read", ReadAt: r.instant("read_at")})
		b.More = r.int("bids") - len(rows)
	}
	b.Enough = q.one("SELECT t.value FROM mart.threshold AS t WHERE t.name = 'scale_min_conversions'").number("value")
	return b
}

// health leaves out the checks that measure how long ago something was: a page says
// as of when it holds, and does not change while nobody syncs.
func (q *asker) health(id string) page.Health {
	h := page.Health{Why: "No run has been published yet: run 'spendsync sync'."}
	for _, r := range q.rows(`SELECT r._run_id AS id, r.command, epoch_us(r.started_at) AS started_at, (epoch_us(r.finished_at) - epoch_us(r.started_at)) / 1e6 AS seconds, r.exit_code, r.outcome, r.message,
  r.days_planned, r.days_proven, r.days_changed, r.restatements, r.requests, r.retries, count(*) OVER () AS runs
FROM ops.run AS r WHERE r.account_id = %s ORDER BY r._run_id DESC LIMIT %d`, id, reportRuns) {
		h.Runs = append(h.Runs, page.Run{ID: r.text("id"), Command: r.text("command"), Outcome: r.text("outcome"), Message: r.text("message"), Started: r.instant("started_at"), Seconds: r.number("seconds"),
			ExitCode: r.int("exit_code"), Planned: r.number("days_planned"), Proven: r.number("days_proven"), Changed: r.number("days_changed"), Restated: r.number("restatements"),
			Requests: r.number("requests"), Retries: r.number("retries")})
		h.More = r.int("runs") - len(h.Runs)
	}
	slices.Reverse(h.Runs)
	for _, r := range q.rows(`SELECT d.check_name, d.severity, d.passed, d.value, d.threshold, d.unit, d.what_to_do FROM mart.data_quality AS d
WHERE d.account_id = %s AND d.unit <> 'hours' ORDER BY d.passed NULLS LAST, CASE d.severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, d.check_name`, id) {
		c := page.Check{Name: r.text("check_name"), Severity: r.text("severity"), Known: r["passed"].Valid, Passed: r.is("passed"), Value: r.number("value"), Threshold: r.number("threshold"), Unit: r.text("unit"), Do: r.text("what_to_do")}
		if c.Known && c.Passed {
			h.Passed++
		}
		h.Checks = append(h.Checks, c)
	}
	return h
}
