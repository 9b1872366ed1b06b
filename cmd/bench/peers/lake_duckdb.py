"""A lake with DuckDB's own Iceberg writer: restated days, and tables without days, are deleted and inserted in one transaction."""
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
space = "lake." + at["NAMESPACE"]
con.execute(f"CREATE SCHEMA IF NOT EXISTS {space}")
there = {r[0] for r in con.execute("SELECT table_name FROM information_schema.tables WHERE table_catalog = 'lake' AND table_schema = ?",
                                   [at["NAMESPACE"]]).fetchall()}
if there and not days:  # whether something is to be done
    con.execute(f"SELECT max(_changed_at) FROM {space}.spend_daily").fetchone()
else:
    con.execute("BEGIN")
    for name, source in (t.split("=") for t in at["TABLES"].split()):
        source = ("store.main." if "." not in source else "store.") + source
        by_day = "report_date" in {c[0] for c in con.execute(f"DESCRIBE {source}").fetchall()}
        if name not in there:
            con.execute(f"CREATE TABLE {space}.{name} AS FROM {source} {'ORDER BY report_date' if by_day else ''}")
            continue
        where = f"WHERE report_date IN ({days})" if by_day else ""
        con.execute(f"DELETE FROM {space}.{name} {where}")
        con.execute(f"INSERT INTO {space}.{name} FROM {source} {where}")
    con.execute("COMMIT")
