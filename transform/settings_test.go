package transform

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract"
	"spendsync/schema"
)

// readCampaign calls Campaign, and returns the first refused value as an error.
func readCampaign(listed, detail extract.Entity, c SettingsContext) (schema.Campaign, []string, error) {
	row, r, err := Campaign(Reply{Listed: listed, Own: detail}, c)
	return row, r.Unread, firstOf(err, &r)
}

func readDelivery(listed, detail extract.Entity, c SettingsContext) (schema.Delivery, []string, error) {
	row, r, err := Delivery(Reply{Listed: listed, Own: detail}, c)
	return row, r.Unread, firstOf(err, &r)
}

func readCreative(e extract.Entity, campaignID string, c SettingsContext) (schema.Creative, []string, error) {
	row, r, err := Creative(Reply{Own: e, Campaign: campaignID}, c)
	return row, r.Unread, firstOf(err, &r)
}

func firstOf(err error, r *Decoded) error {
	if err != nil {
		return err
	}
	return r.Err()
}

// modeUnread returns the unread columns of the mode, without the kinds of rules.
func modeUnread(s SourceRead) []string {
	return slices.DeleteFunc(slices.Clone(s.Unread), func(column string) bool { return column != "source_mode" })
}

// FuzzSettings: any object becomes rows of valid UTF-8 without NUL, or a FieldError.
func FuzzSettings(f *testing.F) {
	for _, body := range []string{
		sampleCampaign, sampleCreative, sampleMe, sampleLimits, sampleBalance,
		`{"mode":"allow","allowed":[{"id":"S1"}],"bid_overrides":{"S1":{"bid":1e-1}},"sources":["S2"]}`,
		`{"advertiser":{"id":1},"scopes":["write"],"balance":{"amount":-1},"limits":{"a":{"remaining":1,"max":2}}}`,
		`{"audience":{"states":["a","A"],"unsupported_targeting":true},"rejection_reasons":[{"code":"x"}],` +
			`"status":"DRAFT"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !jsontext.Value(body).IsValid() {
			return
		}
		fields, ok := extract.Value(body).Object()
		if !ok {
			return
		}
		e := extract.Entity{ID: "C1000001", Raw: body, Fields: fields}
		verify := func(table string, row any, err error) {
			t.Helper()
			if err != nil {
				wantFieldError(t, err, extract.ErrContract, err.(*FieldError).Table, err.(*FieldError).ID,
					err.(*FieldError).Column)
				return
			}
			var b strings.Builder
			show(&b, row)
			if strings.Contains(b.String(), `\x00`) || !utf8.ValidString(b.String()) {
				t.Errorf("%s: %s", table, b.String())
			}
		}
		campaign, _, err := readCampaign(e, e, settings)
		verify("campaign", campaign, err)
		if b := campaign.DefaultBid.V; b < 0 || b > maxBid {
			t.Errorf("bid %v", b)
		}
		delivery, _, err := readDelivery(e, e, settings)
		verify("delivery", delivery, err)
		creative, _, err := readCreative(e, "C1000001", settings)
		verify("creative", creative, err)
		sources, err := Sources(e, "C1000001", settings)
		verify("mode", sources.Mode, firstOf(err, &sources.Decoded))
		for i, r := range sources.Rules {
			verify("rule", r, nil)
			if !extract.IsToken(r.SourceID) || i > 0 && r == sources.Rules[i-1] {
				t.Errorf("rule %+v", r)
			}
		}
		e.ID = ""
		all := Account(e, e, e, seenAt, settings)
		verify("account", all.Snapshot, firstOf(all.Key.Err(), &all.Decoded))
		if all.Ref == "" && all.Key.Err() == nil {
			t.Errorf("no account, and no word of it: %+v", all)
		}
		for _, l := range all.Limits {
			verify("limit", l, nil)
		}
	})
}
