package transform

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"spendsync/extract"
)

// TestUndescribedIn_FindsTheKeysThatNothingRead: all keys of a described entity are read, so only a key without a
// description is found.
func TestUndescribedIn_FindsTheKeysThatNothingRead(t *testing.T) {
	creative := func(body string) Decoded {
		_, r, _ := Creative(Reply{Own: entity(t, "C1000001-001", body), Campaign: "C1000001"}, settings)
		return r
	}
	campaign := func(body string) Decoded {
		_, r, _ := Campaign(Reply{Own: entity(t, "C1000001", body)}, settings)
		return r
	}
	key := func(body string) Decoded {
		return Account(entity(t, "", body), extract.Entity{}, extract.Entity{}, seenAt, settings).Key
	}
	for name, tc := range map[string]struct {
		body string
		read func(string) Decoded
		want string
	}{
		"campaign":      {with(t, sampleCampaign, "color", `"red"`), campaign, "color delivery_status"},
		"creative":      {with(t, sampleCreative, "color", `"red"`), creative, "color"},
		"key":           {`{"advertiser_id":"A17","can_write":true,"scopes":["read"],"plan":"x"}`, key, "plan"},
		"key/of-object": {`{"advertiser":"A17","scope":"write","read_only":false,"plan":"x"}`, key, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			read := map[string]bool{}
			for _, key := range tc.read(tc.body).Read {
				read[key] = true
			}
			found := slices.Sorted(maps.Keys(ExtraKeysIn(tc.body, read)))
			if got := strings.Join(found, " "); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
