"""A lake by hand with pyiceberg: tables partitioned by day, whose restated days are overwritten; tables without days as a whole."""
import os

import duckdb
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

at = os.environ
catalog = load_catalog("lake", type="rest", uri=at["CATALOG"], warehouse="lake", **{
    "s3.endpoint": at["STORAGE"], "s3.access-key-id": "lake", "s3.secret-access-key": "lake", "s3.region": "us-east-1",
    "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
con = duckdb.connect(at["DUCKDB"], read_only=True)
con.execute("SET TimeZone = 'UTC'")
days = at["DAYS"].split()
space = at["NAMESPACE"]
generation = str(con.execute("SELECT max(generation) FROM ops.run").fetchone()[0])
catalog.create_namespace_if_not_exists(space)
for name, source in (t.split("=") for t in at["TABLES"].split()):
    by_day = "report_date" in {c[0] for c in con.execute(f"DESCRIBE {source}").fetchall()}
    if catalog.table_exists(f"{space}.{name}"):
        table = catalog.load_table(f"{space}.{name}")
    else:
        table = catalog.create_table(f"{space}.{name}", con.execute(f"FROM {source} LIMIT 0").to_arrow_table().schema)
        if by_day:
            with table.update_spec() as spec:
                spec.add_field("report_date", IdentityTransform(), "report_date")
    if table.properties.get("generation") == generation:
        continue
    where = f"WHERE report_date IN ({', '.join(repr(d) for d in days)})" if days and by_day else ""
    rows = con.execute(f"FROM {source} {where} {'ORDER BY report_date' if by_day else ''}").to_arrow_table()
    with table.transaction() as transaction:
        if by_day:
            transaction.dynamic_partition_overwrite(rows)
        else:
            transaction.overwrite(rows)
        transaction.set_properties(generation=generation)
