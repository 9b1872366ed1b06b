"""Reads the lake with independent engines, and compares with a DuckDB file.

    lake.py --pins                     prints the snapshots that lake_generation names
    lake.py --compact                  has Spark merge the files of spend_daily
    lake.py WAREHOUSE.DUCKDB [PINS]    compares every table, now or as of those snapshots

DuckDB's Iceberg extension, pyiceberg and Spark each read every table; columns, types and
rows must be those of the DuckDB file: nothing on one side alone, each row as often.
"""
import json
import os
import sys
import time

import duckdb

from published import NAMED

NAMESPACE = os.environ["SPENDSYNC_LAKE_NAMESPACE"]
CATALOG = os.environ["SPENDSYNC_LAKE_CATALOG"]
WAREHOUSE = os.environ["SPENDSYNC_LAKE_WAREHOUSE"]
STORAGE = os.environ["SPENDSYNC_LAKE_S3_ENDPOINT"]
KEY, SECRET, REGION = (os.environ[n] for n in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"))

CREDENTIAL = os.environ.get("SPENDSYNC_LAKE_CREDENTIAL", "")  # of OAuth2; empty: the catalog asks for none
TOKENS = CATALOG + "/v1/oauth/tokens"

MARKER = "lake_generation"


class PyIceberg:
    def __init__(self):
        from pyiceberg.catalog import load_catalog
        login = {"credential": CREDENTIAL, "oauth2-server-uri": TOKENS} if CREDENTIAL else {}
        self.catalog = load_catalog("lake", **login, **{
            "type": "rest", "uri": CATALOG, "warehouse": WAREHOUSE, "s3.endpoint": STORAGE, "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET, "s3.region": REGION, "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})

    def names(self):
        return sorted(name[-1] for name in self.catalog.list_tables(NAMESPACE))

    def read(self, name, snapshot):
        return self.catalog.load_table((NAMESPACE, name)).scan(snapshot_id=snapshot or None).to_arrow()


class DuckDB:
    def __init__(self):
        import duckdb_extension_avro
        import duckdb_extension_httpfs
        import duckdb_extension_iceberg
        self.con = duckdb.connect(config={"allow_unsigned_extensions": "false"})
        for module in (duckdb_extension_httpfs, duckdb_extension_avro, duckdb_extension_iceberg):
            name = module.__name__.removeprefix("duckdb_extension_")
            folder = os.path.join(os.path.dirname(module.__file__), "extensions", "v" + duckdb.__version__)
            self.con.execute(f"LOAD '{folder}/{name}.duckdb_extension'")
        self.con.execute(f"CREATE SECRET s (TYPE s3, KEY_ID '{KEY}', SECRET '{SECRET}', REGION '{REGION}', "
                         f"ENDPOINT '{STORAGE.removeprefix('http://')}', URL_STYLE 'path', USE_SSL false)")
        login = "AUTHORIZATION_TYPE 'none'"
        if CREDENTIAL:
            name, _, secret = CREDENTIAL.partition(":")
            self.con.execute(f"CREATE SECRET c (TYPE iceberg, CLIENT_ID '{name}', CLIENT_SECRET '{secret}', OAUTH2_SERVER_URI '{TOKENS}')")
            login = "SECRET c"
        self.con.execute(f"ATTACH '{WAREHOUSE}' AS lake (TYPE iceberg, ENDPOINT '{CATALOG}', {login})")
        self.con.execute("SET TimeZone = 'UTC'")

    def read(self, name, snapshot):
        at = f" AT (VERSION => {snapshot})" if snapshot else ""
        return self.con.execute(f"FROM lake.{NAMESPACE}.{name}{at}").to_arrow_table()


class Spark:
    def __init__(self):
        from pyspark.sql import SparkSession
        jars = os.environ["LAKE_JARS"]
        runtime = [os.path.join(jars, f) for f in os.listdir(jars) if f.startswith(("iceberg-spark-runtime", "iceberg-aws-bundle"))]
        settings = {
            "spark.jars": ",".join(runtime), "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1", "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "rest",
            "spark.sql.catalog.lake.uri": CATALOG, "spark.sql.catalog.lake.warehouse": WAREHOUSE,
        }
        storage = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.endpoint": STORAGE, "s3.path-style-access": "true"}
        settings |= {"spark.sql.catalog.lake." + name: value for name, value in storage.items()}
        if CREDENTIAL:
            settings |= {"spark.sql.catalog.lake.credential": CREDENTIAL, "spark.sql.catalog.lake.oauth2-server-uri": TOKENS}
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()

    def read(self, name, snapshot):
        at = f" VERSION AS OF {snapshot}" if snapshot else ""
        return self.spark.sql(f"SELECT * FROM lake.{NAMESPACE}.{name}{at}").toArrow()


class Trino:
    """Trino, only if LAKE_TRINO has its address: it takes 800 MB and Java 24."""

    def __init__(self):
        import trino
        host, port = os.environ["LAKE_TRINO"].split(":")
        self.cursor = trino.dbapi.connect(host=host, port=int(port), user="ci", catalog="lake", schema=NAMESPACE, timezone="UTC").cursor()

    def read(self, name, snapshot):
        import pyarrow
        at = f" FOR VERSION AS OF {snapshot}" if snapshot else ""
        rows = self.cursor.execute(f"SELECT * FROM {name}{at}").fetchall()
        columns = {d[0]: spelled(d[1]) for d in self.cursor.description}
        return pyarrow.table([pyarrow.array(v, t) for v, t in zip(zip(*rows) if rows else [[]] * len(columns), columns.values())], names=list(columns))


def spelled(kind):
    """Arrow's type for one of Trino's."""
    import pyarrow
    if kind.startswith("decimal"):
        return pyarrow.decimal128(*(int(n) for n in kind[len("decimal("):-1].split(",")))
    return {"varchar": pyarrow.string(), "bigint": pyarrow.int64(), "integer": pyarrow.int32(), "boolean": pyarrow.bool_(), "date": pyarrow.date32(),
            "double": pyarrow.float64(), "timestamp(6) with time zone": pyarrow.timestamp("us", "UTC")}[kind]


READERS = {f"DuckDB {duckdb.__version__}": DuckDB, "pyiceberg": PyIceberg, "Spark": Spark}
if os.environ.get("LAKE_TRINO"):
    READERS["Trino"] = Trino


def pins(catalog):
    """The snapshot of each table, as lake_generation names them."""
    rows = catalog.read(MARKER, None).to_pylist()
    if len(rows) != 1:
        raise SystemExit(f"{MARKER} has {len(rows)} rows for one account")
    return json.loads(rows[0]["snapshots"])


def different(con, name, got):
    """The differences between a reader's rows and those of the DuckDB file, which con has attached as w."""
    con.register("got", got)
    table = "w." + NAMED.get(name, "main." + name)
    want = {c: t for c, t, *_ in con.execute(f"DESCRIBE FROM {table}").fetchall()}
    have = {c: t for c, t, *_ in con.execute("DESCRIBE got").fetchall()}
    if name.startswith("mart_"):  # some of the columns of a view, with the types of files
        want = {c: have[c] for c in have if c in want}
    if want != have:
        return f"columns {have}, not {want}"
    columns = ", ".join(f'CAST("{c}" AS {t}) AS "{c}"' for c, t in want.items())
    counts = [con.execute(f"SELECT count(*) FROM (SELECT {columns} FROM {a} EXCEPT ALL SELECT {columns} FROM {b})").fetchone()[0]
              for a, b in (("got", table), (table, "got"))]
    return f"{counts[0]} rows that the DuckDB file lacks, {counts[1]} that it alone has" if any(counts) else ""


def main(warehouse, pinned=None):
    snapshots = json.load(open(pinned)) if pinned else {}
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"ATTACH '{warehouse}' AS w (READ_ONLY)")
    names = [n for n in PyIceberg().names() if n != MARKER]
    if "spend_daily" not in names or "ops_day_coverage" not in names:
        raise SystemExit(f"the lake has only {names}")
    wrong = []
    for reader, make in READERS.items():
        began, engine, rows = time.monotonic(), make(), 0
        for name in names:
            got = engine.read(name, snapshots.get(name))
            rows += got.num_rows
            if difference := different(con, name, got):
                wrong.append(f"{name}: {reader} reads {difference}")
        print(f"{reader:12} reads {len(names)} tables, {rows:,} rows ({time.monotonic() - began:.1f} s)", flush=True)
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    if sys.argv[1:] == ["--compact"]:
        spark = Spark().spark
        print(spark.sql(f"CALL lake.system.rewrite_data_files(table => '{NAMESPACE}.spend_daily', "
                        "options => map('rewrite-all', 'true'))").collect())
    elif sys.argv[1:] == ["--pins"]:
        print(json.dumps(pins(PyIceberg())))
    else:
        main(*sys.argv[1:])
