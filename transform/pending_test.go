package transform

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/extract"
	"spendsync/schema"
)

// TestCreative_HasTheVersionInReview: a row has the edited version next to the running version.
func TestCreative_HasTheVersionInReview(t *testing.T) {
	body := with(t, sampleCreative, "pending_version", `{"title":"new","message":"words","link":"https://y",
		"image_id":"aaaaaaaaaaaaaaaaaaaaaaaa","icon_id":"bbbbbbbbbbbbbbbbbbbbbbbb","button1":"Go",
		"button2":"Stay",
		"status":"rejected","rejection_reasons":["z","y"],"rejection_comment":"no"}`)
	row, reading, err := Creative(Reply{Own: entity(t, "C1000001-001", body), Campaign: "C1000001"}, settings)
	if err != nil || len(reading.Unread) > 0 {
		t.Fatal(reading.Unread, err)
	}
	want, _, err := Creative(Reply{Own: entity(t, "C1000001-001", sampleCreative), Campaign: "C1000001"}, settings)
	if err != nil {
		t.Fatal(err)
	}
	text := schema.Some[string]
	want.Raw, want.PendingStatus, want.PendingTitle, want.PendingMessage = text(body), text("rejected"), text("new"),
		text("words")
	want.PendingLink, want.PendingImageID, want.PendingIconID = text("https://y"),
		text("aaaaaaaaaaaaaaaaaaaaaaaa"), text("bbbbbbbbbbbbbbbbbbbbbbbb")
	want.PendingButton1, want.PendingButton2 = text("Go"), text("Stay")
	want.PendingReasons, want.PendingComment = text("y,z"), text("no")
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAccount_ReadsAutoFunding: the values can be in an object of their own or next to the balance.
func TestAccount_ReadsAutoFunding(t *testing.T) {
	for _, balance := range []string{
		`{"balance":5,"auto_funding":{"enabled":true,"threshold":100,"amount":500}}`,
		`{"balance":5,"auto_funding_enabled":true,"auto_funding_threshold":100,"auto_funding_amount":500}`,
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

// TestSources_ReadsWhatIsLeftToOptimization: each source in the list becomes a rule, a missing list means no rules, and
// a null is unread.
func TestSources_ReadsWhatIsLeftToOptimization(t *testing.T) {
	for body, want := range map[string]struct {
		rules int
		read  bool
	}{
		`{"mode":"block_list","blocked_source_ids":[],"optimized_source_ids":["S1","S2"],` +
			`"bid_overrides":[]}`: {2, true},
		`{"mode":"block_list","blocked_source_ids":[],"bid_overrides":[]}`: {0,
			true},
		`{"blocked_source_ids":["S1"]}`: {1, false},
		`{"allowed_source_ids":["S1"]}`: {1, false},
		`{"mode":"block_list","blocked_source_ids":[],"optimized_source_ids":null,` +
			`"bid_overrides":[]}`: {0, false},
	} {
		s, err := Sources(entity(t, "", body), "C1000001", settings)
		if err != nil || len(s.Rules) != want.rules || s.Kinds[schema.RuleOptimized] != want.read {
			t.Errorf("%s: %d rules, read %t, %v", body, len(s.Rules), s.Kinds[schema.RuleOptimized], err)
		}
	}
}
