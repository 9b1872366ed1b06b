"""Computes the numbers of the report page again, from the Parquet files and with another DuckDB.

    page.py SPENDSYNC DATA_DIR

Sums and their ratios are computed here: days, campaigns, sources, bids, creatives, money and runs. What a model
derives from them (ranges, shares still to come, verdicts) is compared with the views by TestReport_NumbersAreThoseOfTheQueries.
"""
import collections
import html.parser
import subprocess
import sys

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
db = duckdb.connect()
for table in ("spend_daily", "ops_day_coverage", "ops_run", "account_snapshot", "campaign_history", "payout_history"):
    db.sql(f"CREATE VIEW {table} AS FROM read_parquet('{DATA}/parquet/{table}/**/*.parquet', hive_partitioning = false)")
db.sql("""CREATE TABLE whole AS SELECT c.report_date FROM ops_day_coverage AS c WHERE c.state IN ('complete', 'final')
  AND c.report_date > (SELECT max(report_date) FROM ops_day_coverage WHERE state IN ('complete', 'final')) - 30""")
db.sql("CREATE VIEW day30 AS SELECT s.* FROM spend_daily AS s SEMI JOIN whole USING (report_date)")

checked = collections.Counter()


def same(table, places, sql):
    """Compares the cells at places of each row of a table on the page with the row of this key."""
    want = {key: values for key, *values in db.sql(sql).fetchall()}
    if not page.rows[table]:
        raise SystemExit(f"{table}: the page has no rows")
    for key, cells in page.rows[table].items():
        if key not in want:
            raise SystemExit(f"{table} {key}: Parquet has no such row")
        for place, value in zip(places, want[key]):
            got = cells[place]
            value = None if value is None else float(value)
            if (got is None) != (value is None) or value is not None and abs(got - value) > 1e-9 * max(1, abs(value)):
                raise SystemExit(f"{table} {key}, cell {place}: the page has {got}, Parquet {value}")
            checked[table] += 1


same("coverage", [0, 1], "SELECT report_date::VARCHAR, spend, rows FROM ops_day_coverage")
paid = bool(db.sql("SELECT 1 FROM payout_history LIMIT 1").fetchall())
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
print("the page agrees with Parquet:", ", ".join(f"{table} {n}" for table, n in checked.items()))
