"""A lake with DuckDB's own Iceberg writer: restated days are deleted and inserted in one transaction."""
import os

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg

at = os.environ
con = duckdb.connect()
con.execute("SET TimeZone = 'UTC'")
for module in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
    name = module.__name__.removeprefix("duckdb_extension_")
    con.execute(f"LOAD '{os.path.dirname(module.__file__)}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
con.execute(f"CREATE SECRET s (TYPE s3, KEY_ID 'lake', SECRET 'lake', REGION 'us-east-1', ENDPOINT '{at['STORAGE'].removeprefix('http://')}', "
            "URL_STYLE 'path', USE_SSL false)")
con.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{at['CATALOG']}', AUTHORIZATION_TYPE 'none')")
con.execute(f"ATTACH '{at['DUCKDB']}' AS store (READ_ONLY)")
days = ", ".join(repr(d) for d in at["DAYS"].split())
con.execute("CREATE SCHEMA IF NOT EXISTS lake.duck")
there = con.execute("SELECT count(*) FROM information_schema.tables WHERE table_catalog = 'lake' AND table_schema = 'duck' AND table_name = 'spend_daily'").fetchone()[0]
if not there:
    con.execute("CREATE TABLE lake.duck.spend_daily AS FROM store.spend_daily ORDER BY report_date")
elif days:
    con.execute("BEGIN")
    con.execute(f"DELETE FROM lake.duck.spend_daily WHERE report_date IN ({days})")
    con.execute(f"INSERT INTO lake.duck.spend_daily FROM store.spend_daily WHERE report_date IN ({days})")
    con.execute("COMMIT")
else:  # whether something is to be done
    con.execute("SELECT max(_changed_at) FROM lake.duck.spend_daily").fetchone()
