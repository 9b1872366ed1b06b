package transform

import (
	"testing"

	"spendsync/extract"
	"spendsync/schema"
)

// TestCreative_HasTheVersionInReview beside the one that runs.
func TestCreative_HasTheVersionInReview(t *testing.T) {
	e := entity(t, "C1000001-001",
		`{"id":"C1000001-001","title":"a","message":"b","link":"https://x","icon_id":"aaaaaaaaaaaaaaaaaaaaaaaa",
		"status":"active","pending_version":{"title":"new","status":"rejected","rejection_reasons":["z","y"],
			"rejection_comment":"no"}}`)
	row, reading, err := Creative(e, "C1000001", settings)
	if err != nil || len(reading.Unread) > 0 {
		t.Fatal(reading.Unread, err)
	}
	got := [...]schema.Null[string]{row.Title, row.PendingTitle, row.PendingStatus, row.PendingReasons,
		row.PendingComment, row.PendingLink}
	want := [...]schema.Null[string]{schema.Some("a"), schema.Some("new"), schema.Some("rejected"), schema.Some("y,z"),
		schema.Some("no"), {}}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAccount_ReadsAutoFunding within an object or beside the balance.
func TestAccount_ReadsAutoFunding(t *testing.T) {
	for _, balance := range []string{
		`{"balance":5,"auto_funding":{"enabled":true,"threshold":100,"amount":500}}`,
		`{"balance":5,"auto_funding_enabled":true,"auto_funding_threshold":100,"auto_funding_amount":500}`,
		`{"balance":5,"auto_recharge":true,"auto_recharge_min_balance":100,"auto_recharge_amount":500}`,
	} {
		snap := Account(entity(t, "", `{"advertiser_id":"A17"}`), extract.Entity{}, entity(t, "", balance), seenAt,
			settings).Snapshot
		if snap.AutoFunding != schema.Some(true) || snap.AutoFundingThreshold != schema.Some(100*schema.Dollar) ||
			snap.AutoFundingAmount != schema.Some(500*schema.Dollar) || snap.Balance != schema.Some(5*schema.Dollar) ||
			snap.AdvertiserID != schema.Some("A17") {
			t.Errorf("%s gives %+v", balance, snap)
		}
	}
}

// TestSources_ReadsWhatIsLeftToOptimization: a list is one rule each, none is none, and null
// is unread.
func TestSources_ReadsWhatIsLeftToOptimization(t *testing.T) {
	for body, want := range map[string]struct {
		rules int
		read  bool
	}{
		`{"mode":"block_list","blocked_source_ids":[],"optimized_source_ids":["S1","S2"],` +
			`"bid_overrides":[]}`: {2, true},
		`{"mode":"block_list","blocked_source_ids":[],"bid_overrides":[]}`: {0,
			true},
		`{"mode":"block_list","blocked_source_ids":[],"optimized_source_ids":null,` +
			`"bid_overrides":[]}`: {0, false},
	} {
		s, err := Sources(entity(t, "", body), "C1000001", settings)
		if err != nil || len(s.Rules) != want.rules || s.OptimizedRead != want.read {
			t.Errorf("%s: %d rules, read %t, %v", body, len(s.Rules), s.OptimizedRead, err)
		}
	}
}
