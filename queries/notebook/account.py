import marimo

app = marimo.App(width="medium", app_title="Account")


@app.cell
def _():
    import os

    import altair
    import duckdb
    import marimo as mo

    # Read-only. The connection sees the generation that was published when it was opened: run this
    # cell again after a sync.
    store = os.path.join(os.environ.get("SPENDSYNC_DATA_DIR", "demo-data"), "warehouse.duckdb")
    con = duckdb.connect(store, read_only=True)
    con.execute("SET TimeZone = 'UTC'")
    return altair, con, mo


@app.cell
def _(con, mo):
    freshness = con.sql("SELECT account_id, max(last_read_at) AS as_of_at, max(report_date) FILTER (WHERE state_now IN ('complete', 'final')) AS last_whole_date, count(*) FILTER (WHERE state_now IN ('missing', 'partial')) AS days_missing, count(*) FILTER (WHERE state_now IN ('lost', 'incomplete')) AS days_lost FROM mart.coverage GROUP BY account_id").pl()
    mo.vstack([mo.md("# How much is known"), freshness])
    return


@app.cell
def _(altair, con, mo):
    # NULL, not 0, on a day that was never read: the line has a gap there.
    days = con.sql("""
        SELECT c.report_date, c.state,
          CASE WHEN c.state NOT IN ('missing', 'lost') THEN coalesce(sum(s.spend), 0)::DOUBLE END AS spend,
          CASE WHEN count(s.conversions) = count(s.spend) THEN sum(s.conversions)::DOUBLE END AS conversions
        FROM ops.day_coverage AS c LEFT JOIN spend_daily AS s USING (account_id, report_date)
        GROUP BY c.report_date, c.state ORDER BY c.report_date
    """).pl()
    spend = altair.Chart(days).mark_bar().encode(x="report_date:T", y="spend:Q", color="state:N", tooltip=["report_date:T", "state", "spend"])
    mo.vstack([mo.md("# Spend by Chicago day"), spend.properties(width=700, height=220)])
    return (days,)


@app.cell
def _(con, mo):
    campaigns = con.sql("""
        SELECT campaign_name, spend::DOUBLE AS spend, conversions, cpa, target_cpa::DOUBLE AS target_cpa, verdict
        FROM mart.campaign_performance ORDER BY spend DESC
    """).pl()
    mo.vstack([mo.md("# Which campaigns pay"), campaigns])
    return


@app.cell
def _(days, mo):
    mo.md(f"{days.height:,} days, of which {days['spend'].null_count():,} are unknown. "
          f"Known spend: **${days['spend'].sum():,.2f}**")
    return


if __name__ == "__main__":
    app.run()
