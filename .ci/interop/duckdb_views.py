"""Opens the DuckDB file with another version of DuckDB, as an analyst does, and compares.

    duckdb_views.py SPENDSYNC DATA_DIR

Every view and table must have the rows that spendsync's own engine finds: their number and a hash of them. A
DOUBLE is rounded, as engines add floats in different orders; a view that asks the time is counted only.
"""
import json
import os
import subprocess
import sys

import duckdb

VIEWS = """
SELECT c.table_schema || '.' || c.table_name, coalesce(any_value(v.sql) ILIKE '%now()%', false),
  string_agg(format(CASE c.data_type WHEN 'DOUBLE' THEN 'round("{}", 6)' ELSE '"{}"' END, c.column_name), ', '
    ORDER BY c.ordinal_position)
FROM information_schema.columns AS c
LEFT JOIN duckdb_views() AS v ON v.schema_name = c.table_schema AND v.view_name = c.table_name
WHERE c.table_schema IN ('main', 'mart', 'ops') AND c.table_catalog = current_database()
GROUP BY ALL ORDER BY ALL"""


def main(binary, data_dir):
    file = duckdb.connect(os.path.join(data_dir, "warehouse.duckdb"), read_only=True)
    views = file.sql(VIEWS).fetchall()
    if len(views) < 30:
        raise SystemExit(f"DuckDB {duckdb.__version__} finds only {len(views)} views and tables")
    question = "\nUNION ALL ".join(
        f"SELECT '{name}' AS view, count(*) AS rows, {'NULL' if by_time else 'md5(string_agg(line, chr(10) ORDER BY line))'} "
        f"AS content FROM (SELECT ({columns})::VARCHAR AS line FROM {name})" for name, by_time, columns in views)
    out = subprocess.run([binary, "query", "--format", "json", "-c", question], env={**os.environ, "SPENDSYNC_DATA_DIR": data_dir}, stdout=subprocess.PIPE, check=True).stdout
    want = {tuple(r.values()) for r in json.loads(out)}
    got = set(file.sql(question).fetchall())
    if got != want:
        raise SystemExit(f"DuckDB {duckdb.__version__} finds {sorted(got - want)}, spendsync's engine {sorted(want - got)}")
    print(f"DuckDB {duckdb.__version__} reads {len(views)} views and tables of the DuckDB file as spendsync's engine does")


if __name__ == "__main__":
    main(*sys.argv[1:])
