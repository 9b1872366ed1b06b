"""A lake by hand with pyiceberg: a table partitioned by day, whose restated days are overwritten."""
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
where = f"WHERE report_date IN ({', '.join(repr(d) for d in days)})" if days else ""
generation = con.execute("SELECT max(generation) FROM ops.run").fetchone()[0]
catalog.create_namespace_if_not_exists("by_hand")
if not catalog.table_exists("by_hand.spend_daily"):
    rows = con.execute("FROM spend_daily ORDER BY report_date").to_arrow_table()
    table = catalog.create_table("by_hand.spend_daily", rows.schema)
    field = table.schema().find_field("report_date")
    with table.update_spec() as spec:
        spec.add_field("report_date", IdentityTransform(), "report_date")
else:
    table = catalog.load_table("by_hand.spend_daily")
if table.properties.get("generation") != str(generation):
    rows = con.execute(f"FROM spend_daily {where} ORDER BY report_date").to_arrow_table()
    with table.transaction() as transaction:
        transaction.dynamic_partition_overwrite(rows)
        transaction.set_properties(generation=str(generation))
