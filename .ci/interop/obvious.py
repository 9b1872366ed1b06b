"""Answers sixty natural questions with the SQL that anyone would write, and with SQL that avoids the traps of the raw
tables, for readers in UTC, Chicago and Tokyo while it is the same day there. The layout of the store must make the
obvious SQL right, except for at most six questions: those that bypass the views, and those about days without spend
among lost days. If the right answer is unknown, for example the conversions still to come of days that were read once,
the obvious SQL must not give one.

    obvious.py DATA_DIR...
"""
import decimal
import sys

import duckdb

# Common part of the right SQL: days that are over in Chicago, and current versions of the settings.
WITH = """
WITH t AS (SELECT (now() AT TIME ZONE 'America/Chicago')::DATE AS today),
last AS (SELECT account_id, max(report_date) AS day FROM ops.day_coverage, t WHERE report_date < today AND state IN ('complete', 'final') GROUP BY ALL),
s AS (SELECT d.*, m.conversions_share, d.conversions / m.conversions_share AS expected
  FROM spend_daily AS d CROSS JOIN t LEFT JOIN int.day_maturity AS m USING (account_id, report_date) WHERE d.report_date < t.today),
c AS (SELECT * FROM campaign_history WHERE is_current AND NOT is_deleted),
k AS (SELECT * FROM creative_history WHERE is_current AND NOT is_deleted),
r AS (SELECT * FROM source_rule_history WHERE is_current AND NOT is_deleted)
"""
# A condition on the last complete day follows.
LAST = "SELECT d.* FROM s AS d JOIN last AS l ON l.account_id = d.account_id AND "

# The question, the obvious SQL, the right SQL (after WITH).
QUESTIONS = [
    ("spend yesterday", "SELECT sum(spend) FROM spend WHERE report_date = current_date - 1", f"SELECT sum(spend) FROM ({LAST} report_date = day)"),
    ("spend yesterday, by today", "SELECT sum(spend) FROM spend JOIN today USING (account_id) WHERE report_date = last_whole_date", f"SELECT sum(spend) FROM ({LAST} report_date = day)"),
    ("clicks yesterday", "SELECT sum(clicks) FROM spend JOIN today USING (account_id) WHERE report_date = yesterday", f"SELECT sum(clicks) FROM ({LAST} report_date = day)"),
    ("spend in all", "SELECT sum(spend) FROM spend", "SELECT sum(spend) FROM s"),
    ("spend in all, from the raw table", "SELECT sum(spend) FROM spend_daily", "SELECT sum(spend) FROM s"),
    ("spend by day", "SELECT report_date, sum(spend) FROM spend GROUP BY 1", "SELECT report_date, sum(spend) FROM s GROUP BY 1"),
    ("spend by campaign", "SELECT campaign_id, sum(spend) FROM spend GROUP BY 1", "SELECT campaign_id, sum(spend) FROM s GROUP BY 1"),
    ("spend by campaign and name", "SELECT c.campaign_id, c.name, sum(s.spend) FROM spend s JOIN campaign c USING (account_id, campaign_id) GROUP BY ALL", "SELECT c.campaign_id, c.name, sum(s.spend) FROM s JOIN c USING (account_id, campaign_id) GROUP BY ALL"),
    ("spend by name, joined with the history", "SELECT h.campaign_id, sum(s.spend) FROM spend_daily s JOIN campaign_history h USING (account_id, campaign_id) GROUP BY 1", "SELECT campaign_id, sum(spend) FROM s GROUP BY 1"),
    ("spend of the last 7 days", "SELECT sum(spend) FROM spend WHERE report_date >= current_date - 7", f"SELECT sum(spend) FROM ({LAST} report_date > day - 7)"),
    ("spend of the last 7 days, by today", "SELECT sum(spend) FROM spend JOIN today USING (account_id) WHERE report_date > last_whole_date - 7", f"SELECT sum(spend) FROM ({LAST} report_date > day - 7)"),
    ("spend of the last 30 days", "SELECT sum(spend) FROM spend JOIN today USING (account_id) WHERE report_date > last_whole_date - 30", f"SELECT sum(spend) FROM ({LAST} report_date > day - 30)"),
    ("spend this month", "SELECT sum(spend) FROM spend JOIN today USING (account_id) WHERE report_date BETWEEN month_from AND month_to", "SELECT sum(spend) FROM s, t WHERE date_trunc('month', report_date) = date_trunc('month', today)"),
    ("spend this month, by the clock", "SELECT sum(spend) FROM spend WHERE date_trunc('month', report_date) = date_trunc('month', current_date)", "SELECT sum(spend) FROM s, t WHERE date_trunc('month', report_date) = date_trunc('month', today)"),
    ("spend last month", "SELECT sum(spend) FROM spend JOIN today USING (account_id) WHERE report_date BETWEEN last_month_from AND last_month_to", "SELECT sum(spend) FROM s, t WHERE date_trunc('month', report_date) = date_trunc('month', today) - INTERVAL 1 MONTH"),
    ("spend by month", "SELECT date_trunc('month', report_date), sum(spend) FROM spend GROUP BY 1", "SELECT date_trunc('month', report_date), sum(spend) FROM s GROUP BY 1"),
    ("spend by week", "SELECT date_trunc('week', report_date), sum(spend) FROM spend GROUP BY 1", "SELECT date_trunc('week', report_date), sum(spend) FROM s GROUP BY 1"),
    ("average spend a day", "SELECT sum(spend) / count(DISTINCT report_date) FROM spend", "SELECT sum(spend) / count(DISTINCT report_date) FROM s"),
    ("spend by weekday", "SELECT isodow(report_date), sum(spend) / count(DISTINCT report_date) FROM spend GROUP BY 1", "SELECT isodow(report_date), sum(spend) / count(DISTINCT report_date) FROM s GROUP BY 1"),
    ("most expensive day", "SELECT report_date, sum(spend) AS x FROM spend GROUP BY 1 ORDER BY x DESC LIMIT 1", "SELECT report_date, sum(spend) AS x FROM s GROUP BY 1 ORDER BY x DESC LIMIT 1"),
    ("ten most expensive sources", "SELECT source_id, sum(spend) AS x FROM spend GROUP BY 1 ORDER BY x DESC LIMIT 10", "SELECT source_id, sum(spend) AS x FROM s GROUP BY 1 ORDER BY x DESC LIMIT 10"),
    ("share of the ten most expensive sources", "SELECT sum(x) FILTER (n <= 10) / sum(x) FROM (SELECT sum(spend) AS x, row_number() OVER (ORDER BY sum(spend) DESC) AS n FROM spend GROUP BY source_id)", "SELECT (SELECT sum(x) FROM (SELECT sum(spend) AS x FROM s GROUP BY source_id ORDER BY x DESC LIMIT 10)) / (SELECT sum(spend) FROM s)"),
    ("spend by creative", "SELECT creative_id, sum(spend) FROM spend GROUP BY 1", "SELECT creative_id, sum(spend) FROM s GROUP BY 1"),
    ("spend by title", "SELECT k.title, sum(s.spend) FROM spend s JOIN creative k USING (account_id, creative_id) GROUP BY 1", "SELECT k.title, sum(s.spend) FROM s JOIN k USING (account_id, creative_id) GROUP BY 1"),
    ("spend by country", "SELECT country, sum(spend) FROM spend GROUP BY 1", "SELECT country, sum(spend) FROM (SELECT a.country, s.spend FROM s LEFT JOIN mart.campaign_day AS a USING (account_id, report_date, campaign_id)) GROUP BY 1"),
    ("spend by bid", "SELECT default_bid, sum(spend) FROM spend GROUP BY 1", "SELECT default_bid, sum(spend) FROM (SELECT a.default_bid, s.spend FROM s LEFT JOIN mart.campaign_day AS a USING (account_id, report_date, campaign_id)) GROUP BY 1"),
    ("spend by today's target", "SELECT c.target_cpa, sum(s.spend) FROM spend s JOIN campaign c USING (account_id, campaign_id) GROUP BY 1", "SELECT target_cpa, sum(spend) FROM (SELECT a.target_cpa, s.spend FROM s LEFT JOIN mart.campaign_day AS a USING (account_id, report_date, campaign_id)) GROUP BY 1"),
    ("active campaigns", "SELECT count(*) FROM campaign WHERE status = 'active'", "SELECT count(*) FROM c WHERE status = 'active'"),
    ("campaigns by status", "SELECT status, count(*) FROM campaign GROUP BY 1", "SELECT status, count(*) FROM c GROUP BY 1"),
    ("active campaigns, from the history", "SELECT count(*) FROM campaign_history WHERE status = 'active'", "SELECT count(*) FROM c WHERE status = 'active'"),
    ("campaigns that spent in the last 7 days", "SELECT count(DISTINCT campaign_id) FROM spend JOIN today USING (account_id) WHERE report_date > last_whole_date - 7 AND spend > 0", f"SELECT count(DISTINCT campaign_id) FROM ({LAST} report_date > day - 7) WHERE spend > 0"),
    ("active campaigns without spend yesterday", "SELECT c.campaign_id FROM campaign c JOIN today t USING (account_id) WHERE c.status = 'active' AND c.campaign_id NOT IN (SELECT campaign_id FROM spend s JOIN today USING (account_id) WHERE report_date = last_whole_date AND s.spend > 0)", f"SELECT campaign_id FROM c WHERE status = 'active' AND campaign_id NOT IN (SELECT campaign_id FROM ({LAST} report_date = day) WHERE spend > 0)"),
    ("campaigns without a target", "SELECT count(*) FROM campaign WHERE target_cpa IS NULL", "SELECT count(*) FROM c WHERE target_cpa IS NULL"),
    ("highest bid", "SELECT max(default_bid) FROM campaign WHERE status = 'active'", "SELECT max(default_bid) FROM c WHERE status = 'active'"),
    ("creatives by status", "SELECT status, count(*) FROM creative GROUP BY 1", "SELECT status, count(*) FROM k GROUP BY 1"),
    ("creatives a campaign", "SELECT campaign_id, count(*) FROM creative GROUP BY 1", "SELECT campaign_id, count(*) FROM k GROUP BY 1"),
    ("blocked sources", "SELECT count(DISTINCT source_id) FROM source_rule WHERE rule = 'blocked'", "SELECT count(DISTINCT source_id) FROM r WHERE rule = 'blocked'"),
    ("blocked sources by campaign", "SELECT campaign_id, count(*) FROM source_rule WHERE rule = 'blocked' GROUP BY 1", "SELECT campaign_id, count(*) FROM r WHERE rule = 'blocked' GROUP BY 1"),
    ("spend at sources that are blocked now", "SELECT sum(s.spend) FROM spend s JOIN source_rule r USING (account_id, campaign_id, source_id) WHERE r.rule = 'blocked'", "SELECT sum(s.spend) FROM s WHERE (account_id, campaign_id, source_id) IN (SELECT (account_id, campaign_id, source_id) FROM r WHERE rule = 'blocked')"),
    ("sources in all", "SELECT count(DISTINCT source_id) FROM source", "SELECT count(DISTINCT source_id) FROM spend_daily WHERE source_id <> ''"),
    ("new sources of the week", "SELECT count(*) FROM source JOIN today USING (account_id) WHERE first_report_date > last_whole_date - 7", "SELECT count(*) FROM (SELECT account_id, source_id, min(report_date) AS first FROM spend_daily WHERE source_id <> '' GROUP BY ALL) JOIN last USING (account_id) WHERE first > day - 7"),
    ("balance", "SELECT account_id, balance FROM account", "SELECT account_id, arg_max(balance, seen_at) FROM account_snapshot GROUP BY 1"),
    ("price of a click", "SELECT sum(spend) / sum(clicks) FROM spend", "SELECT sum(spend) / sum(clicks) FROM s"),
    ("price of a click by campaign", "SELECT campaign_id, sum(spend) / nullif(sum(clicks), 0) FROM spend GROUP BY 1", "SELECT campaign_id, sum(spend) / nullif(sum(clicks), 0) FROM s GROUP BY 1"),
    ("price of a click by campaign, averaged", "SELECT campaign_id, avg(spend / nullif(clicks, 0)) FROM spend GROUP BY 1", "SELECT campaign_id, sum(spend) / nullif(sum(clicks), 0) FROM s GROUP BY 1"),
    ("click rate by creative", "SELECT creative_id, sum(clicks) / nullif(sum(impressions), 0) FROM spend GROUP BY 1", "SELECT creative_id, sum(clicks) / nullif(sum(impressions), 0) FROM s GROUP BY 1"),
    ("impressions by day", "SELECT report_date, sum(impressions) FROM spend GROUP BY 1", "SELECT report_date, sum(impressions) FROM s GROUP BY 1"),
    ("CPA", "SELECT sum(spend) / sum(conversions_expected) FROM spend", "SELECT sum(spend) / sum(expected) FROM s"),
    ("CPA, as it stands", "SELECT sum(spend) / sum(conversions) FROM spend", "SELECT sum(spend) / sum(expected) FROM s"),
    ("CPA of the last 7 days", "SELECT sum(spend) / sum(conversions_expected) FROM spend JOIN today USING (account_id) WHERE report_date > last_whole_date - 7", f"SELECT sum(spend) / sum(expected) FROM ({LAST} report_date > day - 7)"),
    ("CPA of the last 7 days, as it stands", "SELECT sum(spend) / sum(conversions) FROM spend JOIN today USING (account_id) WHERE report_date > last_whole_date - 7", f"SELECT sum(spend) / sum(expected) FROM ({LAST} report_date > day - 7)"),
    ("CPA by campaign", "SELECT campaign_id, sum(spend) / nullif(sum(conversions_expected), 0) FROM spend GROUP BY 1", "SELECT campaign_id, sum(spend) / nullif(sum(expected), 0) FROM s GROUP BY 1"),
    ("CPA by week", "SELECT date_trunc('week', report_date), sum(spend) / nullif(sum(conversions_expected), 0) FROM spend GROUP BY 1", "SELECT date_trunc('week', report_date), sum(spend) / nullif(sum(expected), 0) FROM s GROUP BY 1"),
    ("CPA by source", "SELECT source_id, sum(spend) / nullif(sum(conversions_expected), 0) FROM spend GROUP BY 1", "SELECT source_id, sum(spend) / nullif(sum(expected), 0) FROM s GROUP BY 1"),
    ("campaigns over their target", "SELECT campaign_id FROM spend JOIN campaign c USING (account_id, campaign_id) GROUP BY campaign_id, c.target_cpa HAVING sum(spend) > c.target_cpa * sum(conversions_expected)", "SELECT campaign_id FROM s JOIN c USING (account_id, campaign_id) GROUP BY campaign_id, c.target_cpa HAVING sum(spend) > c.target_cpa * sum(expected)"),
    ("spend without a conversion", "SELECT sum(x) FROM (SELECT sum(spend) AS x FROM spend GROUP BY campaign_id, source_id HAVING sum(conversions) = 0)", "SELECT sum(x) FROM (SELECT sum(spend) AS x FROM s GROUP BY campaign_id, source_id HAVING coalesce(sum(conversions), 0) = 0)"),
    ("days without spend", "SELECT count(*) FROM calendar c JOIN today t USING (account_id) WHERE c.report_date BETWEEN (SELECT min(report_date) FROM spend) AND t.last_whole_date AND c.report_date NOT IN (SELECT report_date FROM spend)", "SELECT count(*) FROM ops.day_coverage JOIN last USING (account_id) WHERE state IN ('complete', 'final') AND report_date <= day AND rows = 0"),
    ("how fresh", "SELECT account_id, last_whole_date FROM today", "SELECT account_id, day FROM last"),
    ("campaigns changed in the last 7 days", "SELECT count(DISTINCT campaign_id) FROM campaign_history JOIN today USING (account_id) WHERE change_type = 'changed' AND valid_from >= today - 7", "SELECT count(DISTINCT campaign_id) FROM campaign_history AS h JOIN calendar AS d USING (account_id), t WHERE h.change_type = 'changed' AND d.report_date = today - 7 AND h.valid_from >= d.starts_at"),
    ("spend by account", "SELECT account_id, sum(spend) FROM spend GROUP BY 1", "SELECT account_id, sum(spend) FROM s GROUP BY 1"),
]


def value_of(v):
    return round(float(v), 6) if isinstance(v, (int, float, decimal.Decimal)) and not isinstance(v, bool) else str(v)


def rows_of(con, sql):
    return sorted([tuple(value_of(v) for v in row) for row in con.execute(sql).fetchall()], key=repr)


def main(*stores):
    wrong = []
    for data_dir in stores:
        con = duckdb.connect(f"{data_dir}/warehouse.duckdb", read_only=True)
        right, unknown, zones, days = 0, 0, ["UTC", "America/Chicago", "Asia/Tokyo"], {}
        for zone in zones:
            con.execute(f"SET TimeZone = '{zone}'")
            days[zone] = con.execute("SELECT current_date").fetchone()
        # In the other zones, it is another day now.
        zones = [zone for zone in zones if days[zone] == days["America/Chicago"]]
        for name, obvious, want in QUESTIONS:
            con.execute("SET TimeZone = 'UTC'")
            want = rows_of(con, WITH + want)
            if want == [("None",)]:
                unknown += 1
                continue
            differing = []
            for zone in zones:
                con.execute(f"SET TimeZone = '{zone}'")
                if rows_of(con, obvious) != want:
                    differing.append(zone)
            if not differing:
                right += 1
                continue
            con.execute("SET TimeZone = 'UTC'")
            print(f"  {name}: another number ({', '.join(differing)}): {rows_of(con, obvious)[:2]} for {want[:2]}")
        con.close()
        print(f"{data_dir}: {len(QUESTIONS)} obvious statements, {right} right in {', '.join(zones)}, {unknown} of what nobody knows")
        if len(QUESTIONS) - right - unknown > 6:
            wrong.append(data_dir)
    if wrong:
        raise SystemExit(f"more than six obvious statements are wrong in {', '.join(wrong)}")


main(*sys.argv[1:])
