package pagedata

import (
	"context"
	"errors"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/page"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// How much a report draws and lists; the rest is counted.
const (
	maxDays      = 45  // columns of the spend chart and the newest change of settings
	maxWeeks     = 26  // lines of the calendar
	maxCampaigns = 6   // parts of a day's column with a color of their own
	maxPaces     = 12  // campaigns against their limit
	maxPayers    = 15  // campaigns that pay or do not
	maxSources   = 30  // sources to block, to scale, left to the service, and of neither kind, each
	maxTired     = 8   // creatives
	maxRates     = 30  // days of a creative's CTR
	maxBids      = 120 // bids
	maxFactors   = 10  // ages of the factors of conversions
	maxRestated  = 21  // days of the heat map
	maxLanes     = 10  // campaigns with a lane
	maxChanges   = 60  // changes of settings
	maxRuns      = 30  // runs of the sync
)

// Kept are those that several questions or views ask: they are answered once, each after those that it asks.
var Kept = []duck.Kept{{View: "threshold"}, {View: "intraday_hourly"}, {View: "day_curve"}, {View: "day_maturity"},
	{View: "campaign_day"}, {View: "campaign_performance"}, {View: "break_day"}, {View: "breaks"}, {View: "change_log"},
	{View: "source_window"}, {View: "source_performance", Where: "spend > 0 OR clicks > 0"}, {View: "source_judgement"}}

// Read reads all that a report shows, of one generation.
func Read(ctx context.Context, dir, account string, o load.Options) (page.Page, error) {
	return read(ctx, dir, account, o, nil, parts{})
}

// read reads the report. It takes known parts as they are, and adds all of its parts to now.
func read(ctx context.Context, dir, account string, o load.Options, known, now parts) (r page.Page, err error) {
	m, err := manifest.Read(dir)
	if err != nil {
		return r, err
	}
	s, err := duck.OpenSession(ctx, dir, o.DuckDB)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	q := &reader{ctx: ctx, session: s}
	names, err := s.Accounts(ctx, account)
	if err != nil {
		return r, err
	}
	r = page.Page{Version: o.Version, Schema: m.SchemaVersion}
	for _, t := range q.rows("SELECT t.name, t.value, t.unit, t.meaning FROM mart.threshold AS t ORDER BY t.name") {
		r.Thresholds = append(r.Thresholds, page.Threshold{Name: t.text("name"), Unit: t.text("unit"),
			Meaning: t.text("meaning"), Value: t.number("value")})
	}
	for _, name := range names {
		key := keyOf(m, name, o)
		a, is := known[key]
		if !is {
			a = q.keepAndRead(name)
		}
		if key != "" {
			now[key] = a
		}
		r.Accounts = append(r.Accounts, a)
	}
	return r, ofThisVersion(q.err, dir)
}

// keepAndRead reads an account's part of the report.
func (q *reader) keepAndRead(name string) page.Account {
	if q.err == nil {
		q.err = q.session.Keep(q.ctx, name, Kept)
	}
	return q.account(name)
}

// ofThisVersion turns an error about a view or a column that the warehouse lacks into one that says why.
func ofThisVersion(err error, dir string) error {
	if duck.IsUnknownName(err) {
		return exit.Advise(exit.Usagef("the warehouse in %s was published by another version of spendsync: %v", dir,
			err), "run 'spendsync rebuild', which gives it this version's views; the next sync does so, too")
	}
	return err
}

func (q *reader) account(name string) page.Account {
	id := schema.QuoteText(name)
	campaigns, daily := q.campaigns(id)
	sources, blocked := q.sources(id)
	a := page.Account{
		Name: name, Campaigns: campaigns, Breaks: q.breaks(id, daily), Sources: sources, Bids: q.bids(id, blocked),
		Pacing: q.pacing(id), Runway: q.runway(id), Fatigue: q.fatigue(id), Coverage: q.coverage(id),
		Spend: q.spend(id), Restated: q.restated(id), Timeline: q.timeline(id), Health: q.health(id),
	}
	a.Fresh = q.freshness(id)
	a.Headline = q.headline(id, a)
	return a
}

func (q *reader) freshness(id string) page.Freshness {
	r := q.row(`SELECT epoch_us(max(c.last_read_at)) AS as_of, max(c.report_date) FILTER (WHERE c.state IN ('complete',
		'final')) AS last_whole
FROM ops.day_coverage AS c WHERE c.account_id = %s`, id)
	run := q.row("SELECT r._run_id AS id, r.version FROM ops.run AS r WHERE r.account_id = %s ORDER BY r._run_id "+
		"DESC LIMIT 1", id)
	return page.Freshness{AsOf: r.instant("as_of"), LastWhole: r.nullDate("last_whole"), RunID: run.text("id"),
		Version: run.text("version")}
}

// headline repeats what the sections found, and asks for the recent window.
func (q *reader) headline(id string, a page.Account) page.Headline {
	r := q.row(`WITH day AS (
  SELECT d.report_date, sum(d.spend) AS spend,
    (sum(d.spend) FILTER (WHERE d.target_cpa IS NOT NULL AND d.conversions IS NOT NULL))::DOUBLE
      * coalesce(any_value(m.conversions_share), 1) AS arrived,
    sum(d.conversions) FILTER (WHERE d.target_cpa IS NOT NULL) AS conversions,
    sum(d.conversions * d.target_cpa) AS allowed
  FROM mart.campaign_day AS d
  LEFT JOIN mart.day_maturity AS m ON m.account_id = d.account_id AND m.report_date = d.report_date
  WHERE d.account_id = %[1]s AND d.coverage_state IN ('complete', 'final')
    AND d.report_date > (SELECT max(c.report_date) FROM ops.day_coverage AS c WHERE c.account_id = %[1]s AND c.state
    IN ('complete', 'final'))
      - (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'recent_days')::INTEGER
  GROUP BY d.report_date
)
SELECT arg_max(d.spend, d.report_date) AS spend, sum(d.spend)::DOUBLE / count(*) AS mean_spend, count(*) AS days,
  sum(d.arrived ORDER BY d.report_date) / nullif(sum(d.conversions), 0) AS cpa,
  sum(d.allowed)::DOUBLE / nullif(sum(d.conversions), 0)
  AS allowed_cpa, sum(d.conversions) AS conversions
FROM day AS d`, id)
	h := page.Headline{
		Spend: r.number("spend"), MeanSpend: r.number("mean_spend"), MeanDays: r.int("days"), CPA: r.number("cpa"),
		AllowedCPA:     r.number("allowed_cpa"),
		CPAConversions: r.number("conversions"), DaysLeft: a.Runway.DaysAtMean, Balance: a.Runway.Balance,
		StopBalance: a.Runway.Stop,
	}
	gaps := q.row(`SELECT count(*) FILTER (WHERE c.state IN ('missing', 'partial')) AS gaps, count(*) FILTER (WHERE
		c.state = 'lost') AS lost
FROM ops.day_coverage AS c WHERE c.account_id = %s`, id)
	h.Gaps, h.Lost = gaps.int("gaps"), gaps.int("lost")
	return h
}
