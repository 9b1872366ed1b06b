"""Reads the Parquet files with engines and data frames, as their users do, and compares.

    engines.py SPENDSYNC DATA_DIR [READER...]

A reader is given a table's folder, not a list of files: it finds the files and the
folders' keys itself. What it reads must agree with the DuckDB file on the rows, the
types, the nulls and the sum of every column. Then the engines that know SQL answer the
same two questions: a campaign's spend by day, 0 or unknown by ops_day_coverage, and one
day by the folder's key alone.
"""
import datetime
import json
import os
import subprocess
import sys
import time

import compare

CAMPAIGN_DAYS = """
SELECT c.report_date AS report_date, c.state AS state,
  CASE WHEN c.state IN ('open', 'partial', 'complete', 'final') THEN coalesce(sum(s.spend), 0) END AS spend
FROM {coverage} c
LEFT JOIN (SELECT * FROM {spend} WHERE campaign_id = '{campaign}') s
  ON s.account_id = c.account_id AND s.report_date = c.report_date
GROUP BY c.report_date, c.state ORDER BY c.report_date"""
BY_DAY = "by day, 0 or unknown"
ONE_DAY = "SELECT count(*) AS n, sum(spend) AS spend FROM {spend} WHERE day = DATE '{day}'"

# The readers' names of the types. The precision of DECIMAL(p,6) is added to the name.
SPELLED = {
    "spark": {"string": "VARCHAR", "bigint": "BIGINT", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE"},
    "chdb": {"String": "VARCHAR", "Int64": "BIGINT", "Bool": "BOOLEAN", "Date32": "DATE", "DateTime64(6, 'UTC')": "TIMESTAMP WITH TIME ZONE"},
    "arrow": {"string": "VARCHAR", "large_string": "VARCHAR", "string_view": "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN", "date32[day]": "DATE", "timestamp[us, tz=UTC]": "TIMESTAMP WITH TIME ZONE"},
    "polars": {"String": "VARCHAR", "Int64": "BIGINT", "Boolean": "BOOLEAN", "Date": "DATE", "Datetime(time_unit='us', time_zone='UTC')": "TIMESTAMP WITH TIME ZONE"},
}


def spelled(reader, kind):
    kind = str(kind).removesuffix("[pyarrow]")
    if kind in SPELLED[reader]:
        return SPELLED[reader][kind]
    digits = "".join(c if c.isdigit() else " " for c in kind.lower().removeprefix("decimal128").removeprefix("decimal")).split()
    return f"DECIMAL({digits[0]},{digits[1]})" if "ecimal" in kind and len(digits) == 2 else kind


def keys_of(table):
    return [part.split("=")[0] for part in table["files"][0].split("/") if "=" in part]


class PyArrow:
    """pyarrow.dataset: the folder is a dataset with Hive partitions."""

    def read(self, folder, table):
        import pyarrow.dataset
        t = pyarrow.dataset.dataset(folder, partitioning="hive").to_table()
        return {f.name: spelled("arrow", f.type) for f in t.schema}, t.to_pydict()


class Pandas:
    """pandas with Arrow's types: by default a whole number that may be NULL becomes a float."""

    def read(self, folder, table):
        import pandas
        f = pandas.read_parquet(folder, dtype_backend="pyarrow")
        missing = lambda v: None if v is pandas.NA else v.to_pydatetime() if isinstance(v, pandas.Timestamp) else v
        return {n: spelled("arrow", f.dtypes[n]) for n in f.columns}, {n: [missing(v) for v in f[n]] for n in f.columns}


class Polars:
    """polars: a pattern over the folders."""

    def __init__(self):
        import polars
        self.frames = polars.SQLContext(eager=True)

    def read(self, folder, table):
        import polars
        frame = polars.scan_parquet(os.path.join(folder, "**/*.parquet"), hive_partitioning=True)
        self.frames.register(table["name"], frame)
        frame = frame.collect()
        types = {n: f"DECIMAL({t.precision},{t.scale})" if t.base_type() == polars.Decimal else spelled("polars", t) for n, t in frame.schema.items()}
        return types, {n: frame[n].to_list() for n in frame.columns}

    def ask(self, sql):
        return [tuple(r) for r in self.frames.execute(sql).rows()]


class DataFusion:
    """DataFusion: the folder is a table with partition columns."""

    def __init__(self):
        import datafusion
        self.context = datafusion.SessionContext()

    def read(self, folder, table):
        import pyarrow
        kinds = {"account": pyarrow.string()}
        self.context.register_parquet(table["name"], folder, table_partition_cols=[(k, kinds.get(k, pyarrow.date32())) for k in keys_of(table)])
        t = self.context.table(table["name"]).to_arrow_table()
        return {f.name: spelled("arrow", f.type) for f in t.schema}, t.to_pydict()

    def ask(self, sql):
        return [tuple(r.values()) for r in self.context.sql(sql).to_arrow_table().to_pylist()]


class ClickHouse:
    """ClickHouse in the process (chdb): the function file over a pattern."""

    def __init__(self):
        import chdb.session
        self.session = chdb.session.Session()
        self.session.query("CREATE DATABASE IF NOT EXISTS ads")

    def read(self, folder, table):
        name = table["name"]
        self.session.query(f"CREATE VIEW ads.{name} AS SELECT * FROM file('{folder}/**/*.parquet', Parquet)")
        types = {}
        for line in json.loads(str(self.session.query(f"DESCRIBE ads.{name}", "JSON")))["data"]:
            kind = line["type"].removeprefix("LowCardinality(").removeprefix("Nullable(")
            types[line["name"]] = spelled("chdb", kind.removesuffix(")") if kind != line["type"] else kind)
        # Instants as microseconds: ClickHouse stores instants after the year 2299, but can't print them.
        asked = ", ".join(f"toUnixTimestamp64Micro({n}) AS {n}" if k.startswith("TIMESTAMP") else n for n, k in types.items())
        t = self.session.query(f"SELECT {asked} FROM ads.{name}", "ArrowTable")
        columns = t.to_pydict()
        return types, {n: [compare_text(v) for v in values] for n, values in columns.items()}

    def ask(self, sql):
        return [tuple(r.values()) for r in self.session.query(sql, "ArrowTable").to_pylist()]


def compare_text(value):
    return value.decode() if isinstance(value, bytes) else value


class Spark:
    """Spark: the folder is a partitioned table, found by the names of its folders."""

    def __init__(self):
        from pyspark.sql import SparkSession
        self.spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                      .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
                      .config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
                      .config("spark.log.level", "ERROR").getOrCreate())

    def read(self, folder, table):
        frame = self.spark.read.parquet(folder)
        frame.createOrReplaceTempView(table["name"])
        return {f.name: spelled("spark", f.dataType.simpleString()) for f in frame.schema.fields}, frame.toArrow().to_pydict()

    def ask(self, sql):
        return [tuple(r) for r in self.spark.sql(sql).collect()]


READERS = {"pyarrow.dataset": PyArrow, "pandas": Pandas, "polars": Polars, "datafusion": DataFusion, "chdb": ClickHouse, "pyspark": Spark}


def query(binary, data_dir, sql):
    out = subprocess.run([binary, "query", "--format", "json", "-c", sql], env={**os.environ, "SPENDSYNC_DATA_DIR": data_dir}, stdout=subprocess.PIPE, check=True).stdout
    return [tuple(r.values()) for r in json.loads(out)]


def normal(rows):
    """Rows as texts, so that 0, 0.000000 and Decimal('0E-6') are equal, and days are days."""
    def cell(v):
        if v is None or isinstance(v, str):
            return v
        if isinstance(v, (datetime.date, datetime.datetime)):
            return v.isoformat()[:10]
        return f"{v:.6f}"
    return [tuple(cell(v) for v in r) for r in rows]


def questions(binary, data_dir):
    """The questions with the DuckDB file's answers: a campaign that did not spend every day, a day in the middle."""
    where = {"coverage": "ops.day_coverage", "spend": "spend_daily"}
    campaign, days = query(binary, data_dir, "SELECT campaign_id, count(DISTINCT report_date) AS days FROM spend_daily WHERE spend > 0 GROUP BY ALL ORDER BY days, campaign_id LIMIT 1")[0]
    day = query(binary, data_dir, "SELECT max(report_date)::VARCHAR FROM ops.day_coverage WHERE state = 'complete'")[0][0]
    by_day = normal((d, s, None if v is None else float(v)) for d, s, v in query(binary, data_dir, CAMPAIGN_DAYS.format(campaign=campaign, **where)))
    unknown, none = sum(v is None for _, _, v in by_day), sum(v == "0.000000" for _, _, v in by_day)
    if not unknown or not none:
        raise SystemExit(f"campaign {campaign}: {unknown} days unknown, {none} days 0: the check needs a store that has both")
    one = query(binary, data_dir, f"SELECT count(*) AS n, sum(spend)::DOUBLE AS spend FROM spend_daily WHERE report_date = DATE '{day}'")
    return {BY_DAY: (CAMPAIGN_DAYS, {"campaign": campaign}, by_day), "one day by its folder": (ONE_DAY, {"day": day}, normal(one))}


def main(binary, data_dir, *names):
    data_dir = os.path.abspath(data_dir)
    tables = compare.published_tables(binary, data_dir)
    wants = {t["name"]: compare.published(binary, t, data_dir) for t in tables}
    asked = questions(binary, data_dir)
    if "ops_day_coverage" not in wants:
        del asked[BY_DAY]
        print("not asked: a campaign's spend by day, 0 or unknown: ops.day_coverage has no Parquet files")
    wrong = []
    for name in names or READERS:
        began, reader = time.monotonic(), READERS[name]()
        for t in tables:
            keys = keys_of(t)
            types, columns = reader.read(os.path.join(data_dir, "parquet", t["name"]), t)
            if sorted(set(columns) - {c["name"] for c in t["columns"]}) != sorted(keys):
                wrong.append(f"{t['name']}: {name} has {list(columns)}, not the columns and the keys {keys}")
                continue
            got = compare.summary(t, types, {c["name"]: columns[c["name"]] for c in t["columns"]})
            wrong += compare.differences(t, wants[t["name"]], got, name)  # types without NOT NULL
        if hasattr(reader, "ask"):
            at = (lambda table: "ads." + table) if name == "chdb" else (lambda table: table)
            for question, (sql, values, want) in asked.items():
                got = normal(reader.ask(sql.format(coverage=at("ops_day_coverage"), spend=at("spend_daily"), **values)))
                if got != want:
                    wrong.append(f"{name}, {question}: {[r for r in got if r not in want][:3]}, not {[r for r in want if r not in got][:3]}")
        print(f"{name:12} reads {len(tables)} tables{', and answers ' + ' and '.join(asked) if hasattr(reader, 'ask') else ''} ({time.monotonic() - began:.1f} s)", flush=True)
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
