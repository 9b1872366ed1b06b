"""dlt as its performance guide says: Arrow tables, Parquet files between the steps, merged by key."""
import os

import dlt
import pyarrow
from dlt.sources.helpers import requests

at = os.environ


@dlt.resource(name="spend", write_disposition="merge", primary_key=("date", "creative_id", "source_id"))
def spend():
    window = {"start_date": at["FROM"], "end_date": at["TO"], "columns": at["COLUMNS"], "include_creatives": "true", "page_size": 10000}
    page, pages = 1, 1
    while page <= pages:
        reply = requests.get(at["REPORT"] + "/ads/spend-report", params={**window, "page": page}, auth=(at["REPORT_USER"], at["REPORT_PASSWORD"]))
        body = reply.json()
        yield pyarrow.Table.from_pylist([{**r, "source_id": r["source_id"] or ""} for r in body["data"]])
        pages, page = body["pagination"]["total_pages"], page + 1


pipeline = dlt.pipeline("spend", pipelines_dir=at["OUT"] + "/state", destination=dlt.destinations.duckdb(at["OUT"] + "/spend.duckdb"), dataset_name="ads")
pipeline.run(spend(), loader_file_format="parquet")
