"""Names of the published tables in the DuckDB file."""

# What the DuckDB file calls the tables that are not in its schema main.
NAMED = {"ops_day_coverage": "ops.day_coverage", "ops_run": "ops.run", "mart_campaign_day": "mart.campaign_day",
         "mart_source_30d": "mart.source_performance"}
