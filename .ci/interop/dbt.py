"""Holds what dbt made to the warehouse: each of its reports to the view of that name, row by row.

    dbt.py SPENDSYNC DBT_DUCKDB DATA_DIR
"""
import json
import os
import subprocess
import sys

import duckdb

FIRST = "date_day::VARCHAR AS date_day, "
LAST = "clicks, impressions, spend::VARCHAR AS spend, conversions, round(conversions_value, 6) AS conversions_value FROM {} ORDER BY ALL"
REPORTS = {
    "account_report": "account_id, ",
    "campaign_report": "campaign_id, campaign_name, ",
    "ad_group_report": "campaign_id, campaign_name, ad_group_id, ad_group_name, ",
    "ad_report": "campaign_id, campaign_name, ad_id, ad_name, ",
    "url_report": "campaign_id, campaign_name, base_url, url_host, url_path, utm_source, utm_medium, utm_campaign, utm_content, utm_term, ",
}


def main(binary, made, data_dir):
    con = duckdb.connect(made, read_only=True)
    total = 0
    for report, dimensions in REPORTS.items():
        question = "SELECT " + FIRST + dimensions + LAST
        out = subprocess.run([binary, "query", "--format", "json", "-c", question.format("mart." + report)], env={**os.environ, "SPENDSYNC_DATA_DIR": data_dir}, stdout=subprocess.PIPE, check=True).stdout
        want = [tuple(r.values()) for r in json.loads(out)]
        got = con.sql(question.format("spendsync__" + report)).fetchall()
        if not want or got != want:
            raise SystemExit(f"dbt's {report} has {len(got)} rows, the warehouse's {len(want)}: {[r for r in got if r not in set(want)][:3]}")
        platforms = con.sql(f"SELECT platform, count(*) FROM spendsync__{report}_union GROUP BY platform ORDER BY platform").fetchall()
        if platforms != [("facebook_ads", 1), ("google_ads", 1), ("push_ads", len(want))]:
            raise SystemExit(f"the union of {report} has the platforms {platforms}")
        total += len(want)
    print(f"dbt's {len(REPORTS)} reports are those of mart, {total:,} rows, and union with those of two other platforms")


main(*sys.argv[1:])
