"""How the published tables differ from the DuckDB file's."""

# Columns that move on in the DuckDB file while the published file stays the same.
FOLLOWED = {"last_confirmed_at", "bids_last_read_at"}
# What the DuckDB file calls the tables that are not in its schema main.
NAMED = {"ops_day_coverage": "ops.day_coverage", "ops_run": "ops.run", "mart_campaign_day": "mart.campaign_day",
         "mart_source_30d": "mart.source_performance"}
