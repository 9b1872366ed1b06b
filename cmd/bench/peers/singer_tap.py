"""Singer: a tap of the SDK, piped into target-duckdb. Called with "tap" it is the tap."""
import json
import os
import subprocess
import sys

at = os.environ


def tap():
    from singer_sdk import RESTStream, Tap
    from singer_sdk import typing as th
    from singer_sdk.authenticators import BasicAuthenticator
    from singer_sdk.pagination import BasePageNumberPaginator

    class Pages(BasePageNumberPaginator):
        def has_more(self, response):
            p = response.json()["pagination"]
            return p["page"] < p["total_pages"]

    class Spend(RESTStream):
        name, path, records_jsonpath, url_base = "spend", "/ads/spend-report", "$.data[*]", at["REPORT"]
        primary_keys = ("date", "creative_id", "source_id")
        schema = th.PropertiesList(
            *(th.Property(n, th.StringType) for n in ("date", "campaign_id", "campaign_name", "creative_id", "source_id")),
            th.Property("total_spend", th.NumberType), *(th.Property(n, th.IntegerType) for n in ("clicks", "impressions", "conversions"))).to_dict()

        @property
        def authenticator(self):
            return BasicAuthenticator(username=at["REPORT_USER"], password=at["REPORT_PASSWORD"])

        def post_process(self, row, context=None):
            return {**row, "source_id": row["source_id"] or "-"}

        def get_new_paginator(self):
            return Pages(1)

        def get_url_params(self, context, next_page_token):
            return {"start_date": at["FROM"], "end_date": at["TO"], "columns": at["COLUMNS"], "include_creatives": "true", "page_size": 10000, "page": next_page_token or 1}

    class TapSpend(Tap):
        name, config_jsonschema = "tap-spend", th.PropertiesList().to_dict()

        def discover_streams(self):
            return [Spend(self)]

    TapSpend.cli(args=["--config=ENV"])


if sys.argv[1:] == ["tap"]:
    tap()
else:
    with open(at["OUT"] + "/target.json", "w") as f:
        json.dump({"path": at["OUT"] + "/spend.duckdb", "filepath": at["OUT"] + "/spend.duckdb", "default_target_schema": "ads"}, f)
    source = subprocess.Popen([sys.executable, __file__, "tap"], stdout=subprocess.PIPE)
    target = subprocess.run([os.path.dirname(sys.executable) + "/target-duckdb", "--config", at["OUT"] + "/target.json"], stdin=source.stdout, stdout=subprocess.DEVNULL)
    sys.exit(source.wait() or target.returncode)
