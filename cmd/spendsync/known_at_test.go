package main

import (
	"testing"

	"spendsync/extract/adsim"
)

// TestSpendKnownAt_GivesWhatWasPublishedThen compares the undone past with what
// stood in the warehouse before the service restated a day.
func TestSpendKnownAt_GivesWhatWasPublishedThen(t *testing.T) {
	w := newSyncedWorld(t)
	yesterday := w.today() - 1
	const columns = "s.report_date, s.campaign_id, s.creative_id, s.source_id, s.spend, s.clicks, s.impressions, " +
		"s.conversions"
	// Days that were over when they were read; of the others growth is not kept.
	whole := " WHERE s.report_date <= DATE '" + yesterday.String() + "' ORDER BY ALL"
	then := w.ask("SELECT " + columns + " FROM spend_daily AS s" + whole)
	at := "make_timestamptz(" + w.ask("SELECT epoch_us(max(last_read_at)) FROM ops.day_coverage") + ")"
	for _, r := range []adsim.Restatement{{Kind: "change", Row: 3}, {Kind: "delete", Row: 5},
		{Kind: "insert", Row: 7}} {
		if _, err := w.service.Restate(yesterday.String(), r); err != nil {
			t.Fatal(err)
		}
	}
	w.must("sync")
	if now := w.ask("SELECT " + columns + " FROM spend_daily AS s" + whole); now == then {
		t.Fatal("nothing was restated")
	}
	if got := w.ask("SELECT " + columns + " FROM spend_known_at(" + at + ") AS s" + whole); got != then {
		t.Errorf("known then: %s\nstood there: %s", got, then)
	}
	if n := w.ask("SELECT count(*) FROM spend_known_at(" + at + ") AS s JOIN calendar AS k USING (account_id, " +
		"report_date) WHERE k.ends_at <= " + at + " AND NOT is_exact"); n != "0" {
		t.Errorf("%s rows of days that were over are not exact", n)
	}
}
