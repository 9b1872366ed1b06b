"""Holds what dbt made to the warehouse: its report to mart.ad_report, row by row.

    dbt.py SPENDSYNC DBT_DUCKDB DATA_DIR
"""
import json
import os
import subprocess
import sys

import duckdb

REPORT = "SELECT date_day::VARCHAR, campaign_id, campaign_name, ad_id, ad_name, clicks, impressions, spend::VARCHAR, conversions, conversions_value FROM {} ORDER BY ALL"


def main(binary, made, data_dir):
    out = subprocess.run([binary, "query", "--format", "json", "-c", REPORT.format("mart.ad_report")], env={**os.environ, "SPENDSYNC_DATA_DIR": data_dir}, stdout=subprocess.PIPE, check=True).stdout
    want = [tuple(r.values()) for r in json.loads(out)]
    con = duckdb.connect(made, read_only=True)
    got = con.sql(REPORT.format("spendsync__ad_report")).fetchall()
    if not want or got != want:
        raise SystemExit(f"dbt's report has {len(got)} rows, the warehouse's {len(want)}: {[r for r in got if r not in set(want)][:3]}")
    platforms = con.sql("SELECT platform, count(*) FROM spendsync__ad_report_union GROUP BY platform ORDER BY platform").fetchall()
    if platforms != [("facebook_ads", 1), ("google_ads", 1), ("push_ads", len(want))]:
        raise SystemExit(f"the union has the platforms {platforms}")
    print(f"dbt's report is mart.ad_report, {len(want):,} rows, and unions with those of two other platforms")


main(*sys.argv[1:])
