"""What most people would write: requests, DuckDB's read_json, INSERT OR REPLACE, COPY."""
import os

import duckdb
import requests

at = os.environ
window = {"start_date": at["FROM"], "end_date": at["TO"], "columns": at["COLUMNS"], "include_creatives": "true", "page_size": 10000}
os.makedirs(at["OUT"] + "/pages", exist_ok=True)
page, pages = 1, 1
while page <= pages:
    reply = requests.get(at["REPORT"] + "/ads/spend-report", params={**window, "page": page}, auth=(at["REPORT_USER"], at["REPORT_PASSWORD"]))
    reply.raise_for_status()
    open(f"{at['OUT']}/pages/{page:04}.json", "wb").write(reply.content)
    pages, page = reply.json()["pagination"]["total_pages"], page + 1
con = duckdb.connect(at["OUT"] + "/spend.duckdb")
con.execute("""CREATE TABLE IF NOT EXISTS spend (date DATE, campaign_id TEXT, creative_id TEXT, source_id TEXT,
    total_spend DECIMAL(18, 6), clicks BIGINT, impressions BIGINT, conversions BIGINT, PRIMARY KEY (date, creative_id, source_id))""")
con.execute(f"INSERT OR REPLACE INTO spend SELECT * REPLACE (coalesce(source_id, '') AS source_id) FROM (SELECT r.* FROM (SELECT unnest(data) AS r FROM read_json('{at['OUT']}/pages/*.json', maximum_object_size = 100000000)))")
con.execute(f"COPY spend TO '{at['OUT']}/spend.parquet' (FORMAT parquet, COMPRESSION zstd)")
