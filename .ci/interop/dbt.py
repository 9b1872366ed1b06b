"""Compares what dbt made with the warehouse: each report with the numbers of each day, and the metrics of the semantic
model, by day and campaign, with the warehouse's own sums.

    dbt.py SPENDSYNC DBT_DUCKDB DATA_DIR METRICS_CSV
"""
import csv
import json
import math
import os
import subprocess
import sys

import duckdb

REPORTS = ["account_report", "campaign_report", "ad_group_report", "ad_report", "url_report"]
# The numbers of a day. If a number is unknown in one row, it is unknown for the day.
DAYS = "SELECT {day}::VARCHAR AS day, sum(spend)::DECIMAL(38, 6)::VARCHAR AS spend" + "".join(
    f", CASE WHEN count({column}) = count(*) THEN sum({column})::BIGINT END AS {column}" for column in ["clicks", "impressions", "conversions"]
) + ", round(CASE WHEN count({value}) = count(*) THEN sum({value}) END::DOUBLE, 4) AS value FROM {table} GROUP BY ALL ORDER BY ALL"
SUMS = ["spend", "clicks", "impressions", "conversions", "conversions_expected"]
RATIOS = {
    "cpc": ("spend", "clicks"),
    "ctr": ("clicks", "impressions"),
    "conversion_rate": ("conversions_expected", "clicks"),
    "cpa": ("spend", "conversions"),
    "cpa_expected": ("spend", "conversions_expected"),
}
# The first four come from another view than the one that the semantic model reads.
BY_DAY = """SELECT d.report_date::VARCHAR AS day, d.campaign_id, d.spend::DOUBLE AS spend, d.clicks, d.impressions, d.conversions, s.conversions_expected
FROM mart.campaign_day AS d JOIN (SELECT report_date, campaign_id, sum(conversions_expected) AS conversions_expected FROM spend GROUP BY ALL) AS s
USING (report_date, campaign_id)"""


def ask(binary, data_dir, question):
    out = subprocess.run([binary, "query", "--format", "json", "-c", question], env={**os.environ, "SPENDSYNC_DATA_DIR": data_dir}, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def compare_metrics(binary, data_dir, path):
    with open(path, encoding="utf-8") as f:
        got = {(r["metric_time__day"][:10], r["campaign"]): r for r in csv.DictReader(f)}
    want = {(r["day"], r["campaign_id"]): r for r in ask(binary, data_dir, BY_DAY)}
    if not want or got.keys() != want.keys():
        raise SystemExit(f"the metrics have {len(got)} days of campaigns, the warehouse {len(want)}: {sorted(got.keys() ^ want.keys())[:3]}")
    for key, row in want.items():
        for ratio, (over, under) in RATIOS.items():
            known = row[under] and row[over] is not None  # conversions to come may not be known yet
            row[ratio] = float(row[over]) / float(row[under]) if known else None
        for name in SUMS + list(RATIOS):
            number = float(got[key][name]) if got[key][name] else None
            if (number is None) != (row[name] is None) or number is not None and not math.isclose(number, float(row[name]), rel_tol=1e-9, abs_tol=1e-9):
                raise SystemExit(f"metric {name} of {key} is {number}, the warehouse's {row[name]}")
    print(f"the {len(SUMS) + len(RATIOS)} metrics of dbt's semantic model are the warehouse's numbers, {len(want):,} days of campaigns")


def main(binary, made, data_dir, metrics):
    compare_metrics(binary, data_dir, metrics)
    con = duckdb.connect(made, read_only=True)
    total = 0
    want = [tuple(r.values()) for r in ask(binary, data_dir, DAYS.format(day="report_date", value="revenue", table="main.spend"))]
    for report in REPORTS:
        got = con.sql(DAYS.format(day="date_day", value="conversions_value", table="spendsync__" + report)).fetchall()
        if got and got[-1][0] > want[-1][0]:
            got.pop()  # the open day, which main.spend lacks
        if got != want:
            raise SystemExit(f"dbt's {report} has {len(got)} days, the warehouse {len(want)}: {[r for r in got if r not in set(want)][:3]}")
        rows = con.sql(f"SELECT count(*) FROM spendsync__{report}").fetchall()[0][0]
        platforms = con.sql(f"SELECT platform, count(*) FROM spendsync__{report}_union GROUP BY platform ORDER BY platform").fetchall()
        if platforms != [("facebook_ads", 1), ("google_ads", 1), ("push_ads", rows)]:
            raise SystemExit(f"the union of {report} has the platforms {platforms}")
        total += rows
    print(f"dbt's {len(REPORTS)} reports have the warehouse's numbers of each day, {total:,} rows, and union with those of two other platforms")


main(*sys.argv[1:])
