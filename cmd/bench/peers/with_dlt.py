"""dlt's rest_api source, declared."""
import os

import dlt
from dlt.sources.rest_api import rest_api_source

at = os.environ
source = rest_api_source({
    "client": {"base_url": at["REPORT"] + "/", "auth": {"type": "http_basic", "username": at["REPORT_USER"], "password": at["REPORT_PASSWORD"]},
               "paginator": {"type": "page_number", "base_page": 1, "total_path": "pagination.total_pages"}},
    "resources": [{
        "name": "spend", "write_disposition": "merge", "primary_key": ["date", "creative_id", "source_id"],
        "processing_steps": [{"map": lambda r: {**r, "source_id": r["source_id"] or ""}}],
        "columns": {"total_spend": {"data_type": "decimal", "precision": 18, "scale": 6}},
        "endpoint": {"path": "ads/spend-report", "data_selector": "data", "params": {
            "start_date": at["FROM"], "end_date": at["TO"], "columns": at["COLUMNS"], "include_creatives": "true", "page_size": 10000}},
    }],
})
pipeline = dlt.pipeline("spend", pipelines_dir=at["OUT"] + "/state", destination=dlt.destinations.duckdb(at["OUT"] + "/spend.duckdb"), dataset_name="ads")
pipeline.run(source)
