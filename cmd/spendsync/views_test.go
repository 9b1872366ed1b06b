package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
)

// TestViews_ExplainEveryColumn holds that nobody who opens the warehouse finds a
// view or a column without a word on it.
func TestViews_ExplainEveryColumn(t *testing.T) {
	w := newSyncedWorld(t)
	const ours = "database_name = current_database() AND schema_name IN ('main', 'mart')"
	views := w.lines("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal AND " + ours)
	if len(views) < 20 {
		t.Fatalf("the warehouse has %d views: %v", len(views), views)
	}
	for _, v := range w.lines("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal AND " +
		"coalesce(trim(comment), '') = '' AND " + ours) {
		t.Errorf("%s has no comment", v)
	}
	for _, c := range w.lines("SELECT schema_name || '.' || table_name || '.' || column_name FROM duckdb_columns() " +
		"WHERE NOT internal AND coalesce(trim(comment), '') = '' AND " + ours) {
		t.Errorf("%s has no comment", c)
	}
}

// TestViews_AnswerOnTheDemoAccount runs an account of the demo's size for nine
// days in which things happen, and asks every view.
func TestViews_AnswerOnTheDemoAccount(t *testing.T) {
	skipShort(t)
	w := newWorld(t, func(c *adsim.Config) { *c = adsim.Config{RowsPerDay: 2500, RateLimit: -1} })
	w.env["REQUESTS_PER_MINUTE"] = "120"
	w.env["PAYOUTS"] = filepath.Join(t.TempDir(), "payouts.csv")
	payouts := "from,to,campaign,creative,source,payout\n2026-01-01,,,,,9.50\n"
	err := os.WriteFile(w.env["PAYOUTS"], []byte(payouts), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	now := worldNow
	w.service.SetNow(now.Add(-9 * 24 * time.Hour))
	w.must("sync")
	w.meddle()
	w.service.SetNow(now.Add(-9*24*time.Hour + time.Hour))
	w.must("sync")
	w.decideReviews()
	w.service.SetNow(now)
	if _, err := w.service.Restate((w.today() - 12).String(), adsim.Restatement{Kind: "multiply",
		Percent: 110}); err != nil {
		t.Fatal(err)
	}
	w.must("sync")

	t.Run("none is empty", func(t *testing.T) {
		for _, v := range w.lines("SELECT view_name FROM duckdb_views() WHERE schema_name = 'mart' AND database_name " +
			"= current_database()") {
			// nothing need be broken, and all settings may be confirmed
			if got := w.ask("SELECT count(*) > 0 FROM mart." + v); got != "true" && v != "breaks" &&
				v != "unconfirmed_settings" {
				t.Errorf("mart.%s is empty", v)
			}
		}
	})
	t.Run("the bad sources are to be blocked, and no good one", func(t *testing.T) {
		got := w.lines("SELECT DISTINCT source_id FROM mart.source_block_candidates")
		for _, id := range w.service.BadSources() {
			if !slices.Contains(got, id) {
				t.Errorf("%s never brings a conversion and is not among the candidates", id)
			}
		}
		for _, id := range w.service.GoodSources() {
			if slices.Contains(got, id) {
				t.Errorf("%s brings four times the conversions of others and is to be blocked", id)
			}
		}
	})
	t.Run("the good sources are to be scaled, and no bad one", func(t *testing.T) {
		got := w.lines("SELECT DISTINCT source_id FROM mart.source_scale_candidates")
		for _, id := range w.service.GoodSources() {
			if !slices.Contains(got, id) {
				t.Errorf("%s brings four times the conversions of others and is not among the candidates", id)
			}
		}
		for _, id := range w.service.BadSources() {
			if slices.Contains(got, id) {
				t.Errorf("%s never brings a conversion and is to be scaled", id)
			}
		}
	})
	t.Run("the views add up to the table", func(t *testing.T) {
		const window = "FROM spend_daily JOIN mart.performance_window USING (account_id, report_date)"
		want := w.ask("SELECT sum(spend), sum(conversions) " + window)
		for _, v := range []string{"source_performance", "creative_performance"} {
			if got := w.ask("SELECT sum(spend), sum(conversions) FROM mart." + v); got != want {
				t.Errorf("mart.%s adds up to %s, the table to %s", v, got, want)
			}
		}
		if got, want := w.ask("SELECT sum(spend), sum(clicks), sum(impressions), sum(conversions) FROM mart.ad_report"),
			w.ask("SELECT sum(spend), sum(clicks), sum(impressions), sum(conversions) FROM spend_daily"); got != want {
			t.Errorf("mart.ad_report adds up to %s, the table to %s", got, want)
		}
	})
}

// lines are the rows of an answer.
func (w *world) lines(q string) []string {
	w.t.Helper()
	if got := w.ask(q); got != "" {
		return strings.Split(got, "\n")
	}
	return nil
}

// meddle changes settings as people at the dashboard do: bids, limits, stops,
// sources, and creatives that go to review. The simulated spend goes on as if
// nothing had been changed.
func (w *world) meddle() {
	w.t.Helper()
	for i, id := range w.lines("SELECT campaign_id FROM campaign JOIN spend_daily USING (account_id, campaign_id) " +
		"WHERE status = 'active' AND source_mode = 'block_list' GROUP BY ALL ORDER BY sum(spend) DESC LIMIT 4") {
		change := adsim.Change{Campaign: id, Force: true}
		switch i {
		case 0:
			change.Set = map[string]any{"default_bid": "1.25"}
		case 1:
			change.Set = map[string]any{"daily_spend_limit": "500"}
		case 2:
			change.Set = map[string]any{"status": "paused"}
		case 3:
			plain := w.ask(fmt.Sprintf("SELECT source_id FROM spend_daily WHERE campaign_id = '%s' AND source_id NOT "+
				"IN ('%s') GROUP BY ALL ORDER BY sum(spend) DESC LIMIT 1",
				id, strings.Join(slices.Concat(w.service.BadSources(), w.service.GoodSources()), "', '")))
			change.Sources = &adsim.SourceChange{Block: []string{plain}}
		}
		w.change(change)
	}
	for _, id := range w.lines("SELECT creative_id FROM creative WHERE status = 'active' ORDER BY " +
		"creative_id LIMIT 2") {
		w.change(adsim.Change{Creative: id, Set: map[string]any{"status": "pending_review"}, Force: true})
	}
}

// decideReviews ends the reviews, one this way and one that.
func (w *world) decideReviews() {
	w.t.Helper()
	for i, id := range w.lines("SELECT creative_id FROM creative WHERE status = 'pending_review' AND version_no > 1 " +
		"ORDER BY creative_id") {
		w.change(adsim.Change{Creative: id, Set: map[string]any{"status": []string{"active", "rejected"}[i%2]},
			Force: true})
	}
}
