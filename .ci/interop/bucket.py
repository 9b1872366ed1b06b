"""Reads a bucket that 'spendsync push' has written with independent tools, as queries/README.md says, and compares
the answers with spendsync's.
    bucket.py SPENDSYNC ENDPOINT BUCKET/PREFIX"""
import json
import os
import subprocess
import sys

import duckdb
import duckdb_extension_httpfs
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs

spendsync, endpoint, where = sys.argv[1:]
want = json.loads(subprocess.check_output([spendsync, "query", "--from", "s3://" + where, "--format", "json", "-c",
                                           "SELECT sum(spend)::VARCHAR AS spend FROM spend_daily"]))[0]["spend"]
storage = pyarrow.fs.S3FileSystem(endpoint_override=endpoint)
pointer = json.load(storage.open_input_stream(where + "/current.json"))
size = storage.get_file_info(where + "/" + pointer["warehouse"]["name"]).size
assert size == pointer["warehouse"]["bytes"], (size, pointer["warehouse"])
days = ds.dataset(where + "/parquet/spend_daily", filesystem=storage)
got = str(pc.sum(days.to_table(columns=["spend"])["spend"]))
assert got == want, ("pyarrow", got, want)
days = pl.scan_parquet("s3://" + where + "/parquet/spend_daily/*/*/*.parquet", hive_partitioning=False,
                       storage_options={"aws_endpoint_url": endpoint, "aws_allow_http": "true"})
got = str(days.select(pl.col("spend").sum()).collect().item())
assert got == want, ("polars", got, want)
db = duckdb.connect()
folder = os.path.join(os.path.dirname(duckdb_extension_httpfs.__file__), "extensions", "v" + duckdb.__version__)
db.sql(f"LOAD '{folder}/httpfs.duckdb_extension'")  # INSTALL httpfs, where extensions.duckdb.org answers
db.sql(f"""CREATE SECRET (TYPE s3, KEY_ID '{os.environ["AWS_ACCESS_KEY_ID"]}', SECRET
    '{os.environ["AWS_SECRET_ACCESS_KEY"]}', REGION '{os.environ["AWS_REGION"]}', URL_STYLE 'path', USE_SSL false,
    ENDPOINT '{endpoint.removeprefix("http://")}')""")
name = db.sql(f"SELECT warehouse.name FROM read_json('s3://{where}/current.json')").fetchone()[0]
db.sql(f"ATTACH 's3://{where}/{name}' AS spend (READ_ONLY)")
got = str(db.sql("SELECT sum(spend) FROM spend.spend_daily").fetchone()[0])
assert name == pointer["warehouse"]["name"] and got == want, ("DuckDB", name, got, want)
# The lines of queries/README.md in DuckDB's command line. They name the provider credential_chain, an extension that
# can't be installed here, so the keys are given instead.
cli = os.path.join(os.path.dirname(sys.executable), "duckdb")
lines = f"""LOAD '{folder}/httpfs.duckdb_extension'; CREATE SECRET (TYPE s3, KEY_ID '{os.environ["AWS_ACCESS_KEY_ID"]}',
    SECRET '{os.environ["AWS_SECRET_ACCESS_KEY"]}', REGION 'us-east-1', URL_STYLE 'path', USE_SSL false, ENDPOINT '{endpoint.removeprefix("http://")}');
ATTACH 's3://{where}/{name}' AS spend (READ_ONLY);
SELECT sum(spend)::VARCHAR FROM spend.spend_daily;"""
got = subprocess.check_output([cli, "-noheader", "-list"], input=lines, text=True).split()[-1]
assert got == want, ("the DuckDB CLI", got, want)
print(f"generation {pointer['generation']}: DuckDB, its command line, pyarrow, polars and spendsync read {want}")
