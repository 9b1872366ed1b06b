"""PyAirbyte: a declared source, run in the process, into its DuckDB cache."""
import os

import airbyte

at = os.environ
PAGE = {"type": "PageIncrement", "page_size": 10000, "start_from_page": 1, "inject_on_first_request": True}
TYPES = {"date": "string", "campaign_id": "string", "campaign_name": "string", "creative_id": "string", "source_id": ["null", "string"],
         "total_spend": "number", "clicks": "integer", "impressions": "integer", "conversions": "integer"}
MANIFEST = {
    "version": "6.0.0", "type": "DeclarativeSource", "check": {"type": "CheckStream", "stream_names": ["spend"]},
    "spec": {"type": "Spec", "connection_specification": {"type": "object", "properties": {}}},
    "streams": [{
        "type": "DeclarativeStream", "name": "spend", "primary_key": ["date", "creative_id", "source_id"],
        "schema_loader": {"type": "InlineSchemaLoader", "schema": {"type": "object", "properties": {n: {"type": t} for n, t in TYPES.items()}}},
        "transformations": [{"type": "AddFields", "fields": [{"path": ["source_id"], "value": "{{ record['source_id'] or '' }}", "value_type": "string"}]}],
        "retriever": {
            "type": "SimpleRetriever",
            "requester": {
                "type": "HttpRequester", "url_base": at["REPORT"], "path": "/ads/spend-report", "http_method": "GET",
                "authenticator": {"type": "BasicHttpAuthenticator", "username": at["REPORT_USER"], "password": at["REPORT_PASSWORD"]},
                "request_parameters": {"start_date": at["FROM"], "end_date": at["TO"], "columns": at["COLUMNS"], "include_creatives": "true"},
            },
            "record_selector": {"type": "RecordSelector", "extractor": {"type": "DpathExtractor", "field_path": ["data"]}},
            "paginator": {"type": "DefaultPaginator", "pagination_strategy": PAGE,
                          "page_token_option": {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "page"},
                          "page_size_option": {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "page_size"}},
        },
    }],
}
source = airbyte.get_source("source-declarative-manifest", config={}, source_manifest=MANIFEST)
source.select_all_streams()
source.read(cache=airbyte.caches.DuckDBCache(db_path=at["OUT"] + "/spend.duckdb"), write_strategy="merge")
