"""A lake with Spark: the rows of the restated days are merged by their key, and those that are gone are deleted."""
import os

import duckdb
from pyspark.sql import SparkSession

at = os.environ
runtime = [os.path.join(at["LAKE_JARS"], f) for f in os.listdir(at["LAKE_JARS"])
           if f.startswith(("iceberg-spark-runtime", "iceberg-aws-bundle"))]
builder = SparkSession.builder.master("local[2]")
for name, value in {
        "spark.jars": ",".join(runtime), "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.lake.type": "rest", "spark.sql.catalog.lake.uri": at["CATALOG"],
        "spark.sql.catalog.lake.warehouse": "lake", "spark.sql.catalog.lake.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.lake.s3.endpoint": at["STORAGE"], "spark.sql.catalog.lake.s3.path-style-access": "true"}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
table = f"lake.{at['NAMESPACE']}.spend_daily"
days = ", ".join(f"DATE '{d}'" for d in at["DAYS"].split())
where = f"WHERE report_date IN ({days})" if days else ""
there = spark.catalog.tableExists(table)
if there and not days:  # whether something is to be done
    spark.sql(f"SELECT max(_changed_at) FROM {table}").collect()
else:
    rows = os.path.join(os.path.dirname(at["DUCKDB"]), "spark.parquet")
    con = duckdb.connect(at["DUCKDB"], read_only=True)
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"COPY (FROM spend_daily {where} ORDER BY report_date) TO '{rows}'")
    spark.read.parquet(rows).createOrReplaceTempView("rows")
    if not there:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{at['NAMESPACE']}")
        spark.sql(f"CREATE TABLE {table} USING iceberg PARTITIONED BY (report_date) AS SELECT * FROM rows")
    else:
        key = " AND ".join(f"t.{c} = r.{c}" for c in ("account_id", "report_date", "campaign_id", "creative_id", "source_id"))
        spark.sql(f"MERGE INTO {table} t USING rows r ON {key} AND t.report_date IN ({days}) WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
                  f"WHEN NOT MATCHED BY SOURCE AND t.report_date IN ({days}) THEN DELETE")
    os.remove(rows)
java = spark.sparkContext._gateway.proc
spark.stop()
java.stdin.close()
java.wait()  # or its CPU would not be counted
