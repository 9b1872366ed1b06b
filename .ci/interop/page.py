"""Computes the numbers of the report page independently, from the Parquet files and with another version of DuckDB.

    page.py SPENDSYNC DATA_DIR

Sums and their ratios are computed here: days, campaigns, sources, money and runs. What a model derives from them (ranges,
verdicts, what is at stake) is compared with the views by TestReport_NumbersAgreeEverywhere. At the end the script
changes the numbers one at a time, and its own comparison must notice every change.
"""
import collections
import html.parser
import pathlib
import subprocess
import sys

import duckdb

SPENDSYNC, DATA = sys.argv[1:]


class Tables(html.parser.HTMLParser):
    """Tables of the page: name, key of the row, heading; None is unknown."""

    def __init__(self):
        super().__init__()
        self.rows, self.table, self.key, self.heads, self.place, self.in_head, self.is_heading = collections.defaultdict(dict), None, None, [], 0, False, False

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "table":
            self.table, self.heads = a.get("data-table", "").partition("-")[2], []
        elif tag in ("thead", "tbody"):
            self.in_head = tag == "thead"
        elif tag == "tr":
            self.key, self.place = a.get("data-key"), -1
            if self.key and self.table:
                self.rows[self.table].setdefault(self.key, {})
        elif tag in ("th", "td"):
            self.place, self.is_heading = self.place + 1, self.in_head
        elif self.table and self.key and self.place < len(self.heads) and (tag == "data" or a.get("class") == "u"):
            self.rows[self.table][self.key][self.heads[self.place]] = float(a["value"]) if tag == "data" else None

    def handle_data(self, text):
        if self.is_heading and self.table:
            self.heads.append(text)
            self.is_heading = False


page = Tables()
page.feed(subprocess.run([SPENDSYNC, "report", "--out", "-"], check=True, capture_output=True, text=True).stdout)
db = duckdb.connect()
for table in ("spend_daily", "ops_day_coverage", "ops_run", "account_snapshot", "payout_history"):
    if any(pathlib.Path(DATA, "parquet", table).rglob("*.parquet")):  # a table without rows has no file
        db.sql(f"CREATE VIEW {table} AS FROM read_parquet('{DATA}/parquet/{table}/**/*.parquet', hive_partitioning = false)")
db.sql("""CREATE TABLE whole AS SELECT c.report_date FROM ops_day_coverage AS c WHERE c.state IN ('complete', 'final')
  AND c.report_date > (SELECT max(report_date) FROM ops_day_coverage WHERE state IN ('complete', 'final')) - 30""")
db.sql("CREATE VIEW day30 AS SELECT s.* FROM spend_daily AS s SEMI JOIN whole USING (report_date)")
compared = []


def differs(table, key, heading, value):
    """Returns how a cell on the page differs from a value, or None."""
    got, value = page.rows[table][key][heading], None if value is None else float(value)
    if (got is None) != (value is None) or value is not None and abs(got - value) > 1e-9 * max(1, abs(value)):
        return f"{table} {key}, {heading}: the page has {got}, Parquet {value}"


def same(table, headings, sql):
    """Compares the cells of each row of a table on the page with the row of this key."""
    want = {key: values for key, *values in db.sql(sql).fetchall()}
    if not page.rows[table]:
        raise SystemExit(f"{table}: the page has no rows")
    for key, cells in page.rows[table].items():
        for heading, value in zip(headings, want.get(key, [])):
            if problem := differs(table, key, heading, value):
                raise SystemExit(problem)
            compared.append((table, key, heading, value))
    if not any(key in want for key in page.rows[table]):
        raise SystemExit(f"{table}: Parquet has no row of the page's")


same("days-1", ["Spend", "Rows"], "SELECT report_date::VARCHAR, spend, rows FROM ops_day_coverage")
same("spend-2", ["Spend", "Conversions so far"], """SELECT c.report_date::VARCHAR, coalesce(sum(s.spend), 0), sum(s.conversions) FROM ops_day_coverage AS c
  LEFT JOIN spend_daily AS s USING (report_date) GROUP BY c.report_date""")
same("campaigns-1", ["Spend", "CTR"], """SELECT campaign_id, sum(spend), sum(clicks)::DOUBLE / nullif(sum(impressions), 0)
  FROM day30 GROUP BY campaign_id""")
for table in ("sources-1", "sources-3"):
    if page.rows[table]:
        same(table, ["Spend", "Clicks", "Conv.", "CPA"], """SELECT campaign_id || ' ' || source_id, sum(spend), sum(clicks), sum(conversions),
          sum(spend)::DOUBLE / nullif(sum(conversions), 0) FROM day30 GROUP BY campaign_id, source_id""")
same("money-2", ["US dollars"], "SELECT 'balance', arg_max(balance, seen_at) FROM account_snapshot")
same("sync-1", ["Days planned", "proven", "changed", "Restatements", "Requests", "Retries"],
     "SELECT _run_id, days_planned, days_proven, days_changed, restatements, requests, retries FROM ops_run")
for table, key, heading, value in compared:
    cells = page.rows[table][key]
    was = cells[heading]
    cells[heading] = 1.0 if was is None else was + max(1e-6, abs(was) * 1e-6)
    if not differs(table, key, heading, value):
        raise SystemExit(f"{table} {key}, {heading}: {cells[heading]} in the place of {was} was not refused")
    cells[heading] = was
print("the page agrees with Parquet:", ", ".join(f"{table} {n}" for table, n in collections.Counter(c[0] for c in compared).items()))
