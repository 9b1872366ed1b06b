"""Reads every published table with independent readers, and compares.

    compare.py SPENDSYNC DATA_DIR

pyarrow, polars, a newer DuckDB and hyparquet read the Parquet files; SPENDSYNC
asks the DuckDB file. All must agree on the rows, the types, the nulls and the
sum of every column (of texts: of their CRC-32).
"""
import datetime
import decimal
import json
import os
import subprocess
import sys
import zlib

import duckdb
import polars
import pyarrow.parquet

EPOCH = datetime.date(1970, 1, 1)
INSTANT = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MICROSECOND = datetime.timedelta(microseconds=1)


def number(value):
    """The number that a value adds to its column's sum."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, decimal.Decimal):
        return int(value.scaleb(6))
    if isinstance(value, datetime.datetime):
        return (value - INSTANT) // MICROSECOND
    if isinstance(value, datetime.date):
        return (value - EPOCH).days
    return zlib.crc32(value.encode())


def summary(table, types, columns):
    """What one reader found: the number of rows, and the type, nulls and sum of each column."""
    names = [c["name"] for c in table["columns"]]
    if list(columns) != names:
        raise SystemExit(f"{table['name']}: the columns are {list(columns)}, not {names}")
    return {
        "rows": len(columns[names[0]]),
        "columns": {
            n: {"types": [types[n]], "nulls": sum(v is None for v in columns[n]), "sum": str(sum(number(v) for v in columns[n] if v is not None))}
            for n in names
        },
    }


def with_pyarrow(table):
    tables = [pyarrow.parquet.ParquetFile(f).read() for f in table["files"]]
    if any(t.schema != tables[0].schema for t in tables):
        raise SystemExit(f"{table['name']}: its files have different schemas")
    t = pyarrow.concat_tables(tables)
    spelled = {"string": "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN", "date32[day]": "DATE", "timestamp[us, tz=UTC]": "TIMESTAMP WITH TIME ZONE"}
    types = {}
    for field, column in zip(t.schema, table["columns"]):
        kind = str(field.type).replace("decimal128", "DECIMAL").replace(", 6)", ",6)")
        types[field.name] = spelled.get(str(field.type), kind) + ("" if field.nullable else " NOT NULL")
        if field.metadata is None or field.metadata[b"PARQUET:field_id"] != str(column["field_id"]).encode():
            raise SystemExit(f"{table['name']}.{field.name}: field id {field.metadata}, not {column['field_id']}")
    for path in table["files"]:
        statistics(path, by_duckdb(table))
    return summary(table, types, {n: t.column(n).to_pylist() for n in t.column_names})


def by_duckdb(table):
    """Whether DuckDB wrote the table (a mart): it declares no column NOT NULL and states no sort order."""
    return table["name"].startswith("mart_")


def statistics(path, but_texts):
    """Every column of every row group must have a minimum and a maximum, by which readers skip row groups."""
    m = pyarrow.parquet.ParquetFile(path).metadata
    for g in range(m.num_row_groups):
        for c in range(m.num_columns):
            chunk = m.row_group(g).column(c)
            s = chunk.statistics
            if but_texts and chunk.physical_type == "BYTE_ARRAY":
                continue
            if s is None or s.null_count is None or (not s.has_min_max and s.null_count < chunk.num_values):
                raise SystemExit(f"{path}: column {chunk.path_in_schema} has no statistics")


def with_polars(table):
    frame = polars.concat([polars.read_parquet(f, hive_partitioning=False) for f in table["files"]])
    spelled = {"String": "VARCHAR", "Int64": "BIGINT", "Boolean": "BOOLEAN", "Date": "DATE", "Datetime(time_unit='us', time_zone='UTC')": "TIMESTAMP WITH TIME ZONE"}
    types = {}
    for n, t in frame.schema.items():
        types[n] = spelled.get(str(t)) or f"DECIMAL({t.precision},{t.scale})"
    return summary(table, types, {n: frame[n].to_list() for n in frame.columns})


def with_duckdb(table):
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    # As users read them: a pattern over folders, with the folders' keys as columns.
    rows = con.execute("SELECT * FROM read_parquet(?, hive_partitioning = true)", [table["files"]])
    keys = {part.split("=")[0] for part in table["files"][0].split("/") if "=" in part}
    names = [d[0] for d in rows.description]
    if set(names) - {c["name"] for c in table["columns"]} != keys:
        raise SystemExit(f"{table['name']}: the folders' keys {keys} are not beside the columns {names}")
    types = {d[0]: str(d[1]) for d in rows.description}
    values = list(zip(*rows.fetchall())) or [[] for _ in names]
    return summary(table, types, {n: list(v) for n, v in zip(names, values) if n not in keys})


def published(binary, table, data_dir):
    """The same table in the DuckDB file, asked through the binary's own engine."""
    view = {"mart_campaign_day": "mart.campaign_day", "mart_source_30d": "mart.source_performance",
            "ops_day_coverage": "ops.day_coverage", "ops_run": "ops.run"}.get(table["name"], table["name"])
    cells = []
    for c in table["columns"]:
        kind = c["type"]
        value = f'CAST("{c["name"]}" AS {kind})'
        if kind == "DATE":
            value = f"({value} - DATE '1970-01-01')::BIGINT"
        elif kind.startswith("TIMESTAMP"):
            value = f"epoch_us({value})"
        elif kind.startswith("DECIMAL"):
            value = f"({value} * 1000000)::BIGINT"
        elif kind == "BOOLEAN":
            value = f"{value}::BIGINT"
        cells.append(f'{value} AS "{c["name"]}"')
    out = subprocess.run(
        [binary, "query", "--format", "json", "-c", f"SELECT {', '.join(cells)} FROM {view}"],
        env={**os.environ, "SPENDSYNC_DATA_DIR": data_dir}, stdout=subprocess.PIPE, check=True).stdout
    rows = json.loads(out)
    types = {c["name"]: c["type"] for c in table["columns"]}
    return summary(table, types, {c["name"]: [r[c["name"]] for r in rows] for c in table["columns"]})


def with_hyparquet(tables):
    script = os.path.join(os.path.dirname(__file__), "read.js")
    out = subprocess.run(["node", script], input=json.dumps(tables).encode(), stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def differences(table, want, got, reader):
    """The differences between what a reader found and what it should have found."""
    if got["rows"] != want["rows"]:
        yield f"{table['name']}: {reader} reads {got['rows']} rows, DuckDB has {want['rows']}"
    for c in table["columns"]:
        w, g = want["columns"][c["name"]], got["columns"][c["name"]]
        declared = c["type"] + ("" if c["nullable"] else " NOT NULL")
        for t in g["types"]:
            if t not in (c["type"], declared) or (reader in ("pyarrow", "hyparquet") and t != declared and not by_duckdb(table)):
                yield f"{table['name']}.{c['name']}: {reader} reads {t}, not {declared}"
        if (g["nulls"], g["sum"]) != (w["nulls"], w["sum"]):
            yield f"{table['name']}.{c['name']}: {reader} reads {g['nulls']} nulls and the sum {g['sum']}, DuckDB has {w['nulls']} and {w['sum']}"


OWN = ("payout_history", "tracker_daily", "tracker_change")  # not every store has them; that of .ci/readers does


def published_tables(binary, data_dir):
    """The tables that have Parquet files, each with the files that the manifest names."""
    with open(os.path.join(data_dir, "manifest.json")) as f:
        manifest = json.load(f)
    files = []
    for account in manifest["accounts"].values():
        with open(os.path.join(data_dir, account["path"])) as f:
            files += json.load(f)["files"].items()
    tables = [t for t in json.loads(subprocess.check_output([binary, "tables", "--json"])) if t.get("files")]
    for t in tables:
        t["files"] = sorted(os.path.join(data_dir, p) for p, f in files if f.get("table") == t["name"])
    for t in [t for t in tables if t["name"] in OWN and not t["files"]]:
        print(f"not compared: {t['name']}: the operator of this store gives none")
        tables.remove(t)
    if empty := [t["name"] for t in tables if not t["files"]]:
        raise SystemExit(f"no files of {', '.join(empty)}: the check needs a store that has all tables")
    return tables


def main(binary, data_dir):
    data_dir = os.path.abspath(data_dir)
    tables = published_tables(binary, data_dir)
    hyparquet = with_hyparquet(tables)
    wrong = []
    for t in tables:
        want = published(binary, t, data_dir)
        readers = {"pyarrow": with_pyarrow(t), "polars": with_polars(t), "duckdb " + duckdb.__version__: with_duckdb(t), "hyparquet": hyparquet[t["name"]]}
        for reader, got in readers.items():
            wrong += differences(t, want, got, reader)
        print(f"{t['name']:28} {want['rows']:8,} rows, {len(t['columns']):2} columns, {len(t['files']):3} files")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print("pyarrow, polars, duckdb", duckdb.__version__, "and hyparquet agree with warehouse.duckdb")


if __name__ == "__main__":
    main(*sys.argv[1:])
