"""Computes the numbers of the report page again, from the Parquet files and with another DuckDB.

    page.py SPENDSYNC DATA_DIR

Sums and their ratios are computed here: days, weeks, limits, restatements, campaigns, sources, bids, creatives, money and
runs. What a model derives from them (ranges, verdicts) is compared with the views by
TestReport_NumbersAreThoseOfTheQueries; of the shares of conversions still to come the view's are taken.
At the end each table's digits are changed, one at a time, and every change must be refused.
"""
import collections
import csv
import datetime
import html.parser
import io
import pathlib
import subprocess
import sys
import zoneinfo

import duckdb

SPENDSYNC, DATA = sys.argv[1:]


class Tables(html.parser.HTMLParser):
    """Tables of the page: name, then key of the row, then its cells; None is unknown."""

    def __init__(self):
        super().__init__()
        self.rows, self.table, self.key = collections.defaultdict(dict), None, None

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "table":
            self.table, self.key = a.get("data-table"), None
        elif tag == "tr":
            self.key = a.get("data-key")
            if self.key:
                self.rows[self.table].setdefault(self.key, [])
        elif self.table and self.key and tag == "data":
            self.rows[self.table][self.key].append(float(a["value"]))
        elif self.table and self.key and tag == "td" and a.get("class") == "n u":
            self.rows[self.table][self.key].append(None)


page = Tables()
page.feed(subprocess.run([SPENDSYNC, "report", "--out", "-"], check=True, capture_output=True, text=True).stdout)
db, stored = duckdb.connect(), set()
for table in ("spend_daily", "ops_day_coverage", "ops_run", "spend_change", "account_snapshot", "campaign_history", "payout_history"):
    if any(pathlib.Path(DATA, "parquet", table).rglob("*.parquet")):  # a table without rows has no file
        db.sql(f"CREATE VIEW {table} AS FROM read_parquet('{DATA}/parquet/{table}/**/*.parquet', hive_partitioning = false)")
        stored.add(table)
db.sql("""CREATE TABLE whole AS SELECT c.report_date FROM ops_day_coverage AS c WHERE c.state IN ('complete', 'final')
  AND c.report_date > (SELECT max(report_date) FROM ops_day_coverage WHERE state IN ('complete', 'final')) - 30""")
db.sql("CREATE VIEW day30 AS SELECT s.* FROM spend_daily AS s SEMI JOIN whole USING (report_date)")

checked = collections.Counter()


compared = []


def differs(table, key, place, value):
    """Returns how a cell on the page differs from a value, or None."""
    got, value = page.rows[table][key][place], None if value is None else float(value)
    if (got is None) != (value is None) or value is not None and abs(got - value) > 1e-9 * max(1, abs(value)):
        return f"{table} {key}, cell {place}: the page has {got}, Parquet {value}"


def same(table, places, want):
    """Compares the cells at places of each row of a table on the page with the row of this key: of SQL, or of a dict."""
    if isinstance(want, str):
        want = {key: values for key, *values in db.sql(want).fetchall()}
    if not page.rows[table]:
        raise SystemExit(f"{table}: the page has no rows")
    for key, cells in page.rows[table].items():
        if key not in want:
            raise SystemExit(f"{table} {key}: Parquet has no such row")
        for place, value in zip(places or range(max(len(cells), len(want[key]))), want[key]):
            if place >= len(cells):
                raise SystemExit(f"{table} {key}: the page has no cell {place}")
            if problem := differs(table, key, place, value):
                raise SystemExit(problem)
            compared.append((table, key, place, value))
            checked[table] += 1
        if places is None and len(cells) != len(want[key]):
            raise SystemExit(f"{table} {key}: the page has {len(cells)} cells, Parquet {len(want[key])}")


same("coverage", [0, 1], "SELECT report_date::VARCHAR, spend, rows FROM ops_day_coverage")
paid = "payout_history" in stored and bool(db.sql("SELECT 1 FROM payout_history LIMIT 1").fetchall())
same("spend", [0], """SELECT c.report_date::VARCHAR, coalesce(sum(s.spend), 0) FROM ops_day_coverage AS c
  LEFT JOIN spend_daily AS s USING (report_date) GROUP BY c.report_date""")
same("spend", [-4], "SELECT report_date::VARCHAR, sum(conversions) FROM spend_daily GROUP BY report_date")
same("campaigns", [0, 1] + [6 if paid else 5], """SELECT d.campaign_id, sum(d.spend), sum(d.conversions), any_value(h.target_cpa) FROM day30 AS d
  LEFT JOIN campaign_history AS h ON h.campaign_id = d.campaign_id AND h.is_current GROUP BY d.campaign_id""")
same("sources", [0, 1, 2, 3], """SELECT campaign_id || ' ' || source_id, sum(spend), sum(clicks), sum(conversions),
  sum(spend)::DOUBLE / nullif(sum(conversions), 0) FROM day30 GROUP BY campaign_id, source_id""")
same("bids", [2, 5, 6, 7], """SELECT campaign_id || ' ' || source_id, sum(spend)::DOUBLE / nullif(sum(clicks), 0), sum(clicks), sum(conversions),
  sum(spend) FROM day30 GROUP BY campaign_id, source_id""")
same("fatigue", [1, -1], """SELECT creative_id, sum(clicks)::DOUBLE / sum(impressions), sum(impressions) FROM day30
  WHERE report_date > (SELECT max(report_date) - 7 FROM whole) GROUP BY creative_id""")
page.rows["money"] = {"balance": page.rows["runway"]["balance"]}
same("money", [0], "SELECT 'balance', arg_max(balance, seen_at) FROM account_snapshot")
same("runs", [1, 2, 3, 4, 5, 6], "SELECT _run_id, days_planned, days_proven, days_changed, restatements, requests, retries FROM ops_run")
if paid:
    db.sql("""CREATE TABLE payout AS SELECT from_date, to_date, campaign_id, payout FROM payout_history
      WHERE is_current AND NOT is_deleted AND creative_id = '' AND source_id = ''""")
    same("campaigns", [2], """SELECT d.campaign_id, sum(d.conversions * p.payout) - sum(d.spend) FROM day30 AS d JOIN payout AS p
      ON p.campaign_id = d.campaign_id AND d.report_date >= p.from_date AND (p.to_date IS NULL OR d.report_date < p.to_date) GROUP BY d.campaign_id""")

# Limits of the campaigns that spent, by the settings at the end of the day in Chicago.
chicago, second = zoneinfo.ZoneInfo("America/Chicago"), 1_000_000
ends = {}
for (day,) in db.sql("SELECT report_date FROM ops_day_coverage").fetchall():
    ends[day.isoformat()] = second * int(datetime.datetime.combine(day + datetime.timedelta(days=1), datetime.time(), chicago).timestamp())
versions = collections.defaultdict(list)
for campaign, number, since, until, limit in db.sql("""SELECT campaign_id, version_no, epoch_us(valid_from), epoch_us(valid_to), daily_spend_limit
  FROM campaign_history""").fetchall():
    versions[campaign].append((0 if number == 1 else since, until, limit))
limits = collections.defaultdict(list)
for day, campaign in db.sql("SELECT report_date::VARCHAR, campaign_id FROM spend_daily GROUP BY ALL HAVING sum(spend) > 0").fetchall():
    limits[day].append(next((limit for since, until, limit in versions[campaign] if since < ends[day] <= until), None))
same("spend", [-2, -1], {day: [None if None in of or not of else sum(of), of.count(None)] for day, of in ((d, limits[d]) for d in ends)})

# The CPA of the week that ends on each day, or its profit a day, with the conversions to come.
shares = {r["report_date"]: float(r["conversions_share"]) if r["conversions_share"] else 1.0 for r in csv.DictReader(io.StringIO(subprocess.run(
    [SPENDSYNC, "query", "mart.day_maturity", "--format", "csv"], check=True, capture_output=True, text=True).stdout))}
sums = {day: values for day, *values in db.sql("""SELECT report_date::VARCHAR, sum(spend)::DOUBLE,
  CASE WHEN count(conversions) = count(*) THEN sum(conversions)::DOUBLE END FROM spend_daily GROUP BY ALL""").fetchall()}
earned = dict(db.sql("""SELECT d.report_date::VARCHAR, sum(d.conversions * p.payout)::DOUBLE FROM spend_daily AS d JOIN payout AS p
  ON p.campaign_id = d.campaign_id AND d.report_date >= p.from_date AND (p.to_date IS NULL OR d.report_date < p.to_date)
  GROUP BY ALL""").fetchall()) if paid else {}
weeks, listed = {}, sorted(page.rows["spend"])
for i, day in enumerate(listed):
    week = listed[max(0, i - 6):i + 1]
    weeks[day] = [None]
    if len(week) == 7 and all(d in shares and sums.get(d, [0, 0])[1] is not None for d in week):
        spend, conversions = (sum(sums.get(d, [0, 0])[k] for d in week) for k in (0, 1))
        arrived = sum(shares[d] * sums.get(d, [0, 0])[0] for d in week)
        if paid and arrived > 0:
            weeks[day] = [spend * (sum(earned.get(d, 0) for d in week) / arrived - 1) / 7]
        elif not paid and conversions > 0 and spend > 0:
            weeks[day] = [arrived / conversions]
if any(values != [None] for values in weeks.values()):
    same("spend", [-3], weeks)

# What the service changed of each day, by the age at which it was seen: of spend and of conversions.
deltas = collections.defaultdict(dict)
for day, seen, spend, conversions in db.sql("""SELECT report_date, epoch_us(seen_at), sum(coalesce(new_spend, 0) - coalesce(old_spend, 0)),
  sum(coalesce(new_conversions, 0) - coalesce(old_conversions, 0)) FROM spend_change GROUP BY ALL""").fetchall() if "spend_change" in stored else []:
    age = (datetime.datetime.fromtimestamp(seen / second, chicago).date() - day).days
    bucket = next(i for i, last in enumerate([1, 2, 3, 4, 5, 6, 7, 14, 21, 10_000]) if age <= last)
    before = deltas[day.isoformat()].get(bucket, (0, 0))
    deltas[day.isoformat()][bucket] = before[0] + spend, before[1] + conversions
if page.rows["restated"]:
    same("restated", None, {day: [n for bucket in sorted(deltas[day]) for n in deltas[day][bucket]] for day in page.rows["restated"]})

for table, key, place, value in compared:
    cells = page.rows[table][key]
    was = cells[place]
    cells[place] = 1.0 if was is None else was + max(1e-6, abs(was) * 1e-6)
    if not differs(table, key, place, value):
        raise SystemExit(f"{table} {key}, cell {place}: {cells[place]} in the place of {was} was not refused")
    cells[place] = was
print("the page agrees with Parquet:", ", ".join(f"{table} {n}" for table, n in checked.items()))
