package job

import (
	"testing"
	"time"

	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema/schematest"
)

// withViews returns a world whose store publishes the views.
func withViews(t *testing.T) *world {
	t.Helper()
	w := newQuirkWorld(t)
	asked := queries.Views(nil)
	views := w.job.Store.DuckDB.Views
	for _, q := range asked {
		views = append(views, duck.View{Schema: q.Schema, Name: q.Name, SQL: q.SQL, Parameters: q.Parameters,
			IsValue: q.IsValue, IsTable: q.IsTable, ByMonth: q.ByMonth, Reads: q.Reads()})
	}
	w.job.Store.DuckDB.Views = views
	return w
}

// TestCurrentViews_SayWhatIsOld: a bid, the bids per source and the balance are renamed from the second sync on. The
// views show the old values with the time of the first sync, and mark them; other values are not marked. A third sync
// that can read the values removes the marks.
func TestCurrentViews_SayWhatIsOld(t *testing.T) {
	schematest.Long(t)
	w := withViews(t)
	marks := []string{"campaign", "creative", "source_mode", "source_rule", "account"}
	wantNone := func() {
		t.Helper()
		for _, view := range marks {
			if n := w.ask("SELECT count(*) FROM main.%s WHERE unread_since IS NOT NULL", view); n != "0" {
				t.Errorf("%s: %s rows could not be confirmed", view, n)
			}
		}
	}
	w.ran()
	wantNone()
	w.service.SetNow(noon.Add(time.Hour))
	if err := w.service.SetQuirks("bid-renamed", "bids-missing", "balance-renamed"); err != nil {
		t.Fatal(err)
	}
	w.ran()
	const since = " AND unread_since BETWEEN TIMESTAMPTZ '2026-11-21 19:59:00+00' AND " +
		"TIMESTAMPTZ '2026-11-21 20:01:00+00'"
	for sql, want := range map[string]string{
		`SELECT count(*) = count(*) FILTER (WHERE unread_fields = 'default_bid' AND default_bid IS NOT NULL` + since +
			`), count(*) FROM main.campaign WHERE status <> 'archived'`: "true|4",
		`SELECT count(*) FROM main.creative WHERE unread_fields IS NOT NULL`:                          "0",
		`SELECT DISTINCT unread_fields FROM main.source_mode WHERE unread_fields IS NOT NULL` + since: "bid_overrides",
		`SELECT DISTINCT rule FROM main.source_rule WHERE unread_since IS NOT NULL` + since:           "bid_override",
		`SELECT unread_fields FROM main.account WHERE balance IS NULL` + since:                        "balance",
	} {
		if got := w.ask("%s", sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
	w.service.SetNow(noon.Add(2 * time.Hour))
	if err := w.service.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	w.ran()
	wantNone()
}
