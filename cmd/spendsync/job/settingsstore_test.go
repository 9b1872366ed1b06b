package job

import (
	"os"
	"path/filepath"
	"testing"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsStore is a published store of a campaign with its creative, four blocked sources and two bids.
func settingsStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	before := emptyStore(t)
	firsts.Copy(t, "settings", dir, func() {
		if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		d, end := newDayTest(t, dir, &scriptedReport{day: schema.DateOf(worldNow)})
		defer end()
		c := transform.SettingsContext{Account: "acme", RunID: d.s.RunID, Service: d.s.Service}
		entity := func(kind, id, reply string) extract.Entity {
			e, err := extract.ParseEntity(d.s.Service, kind, id, []byte(reply))
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		listed := entity(extract.KindCampaign, "C1000001",
			`{"id":"C1000001","name":"n","status":"active","delivery_status":"x"}`)
		campaign, campaignRead, err := transform.Campaign(listed, extract.Entity{}, c)
		if err != nil {
			t.Fatal(err)
		}
		delivery, deliveryRead, err := transform.Delivery(listed, extract.Entity{}, c)
		if err != nil {
			t.Fatal(err)
		}
		creative, creativeRead, err := transform.Creative(entity(extract.KindCreative, "C1000001-001",
			`{"id":"C1000001-001","title":"t"}`), "C1000001", c)
		if err != nil {
			t.Fatal(err)
		}
		sources, err := transform.Sources(entity(extract.KindSources, "C1000001", `{"campaign_id":"C1000001",`+
			`"mode":"block_list","blocked":["S1","S2","S3","S4"],`+
			`"bid_overrides":[{"source_id":"S8","bid":0.2},{"source_id":"S9","bid":0.3}]}`), "C1000001", c)
		if err != nil {
			t.Fatal(err)
		}
		var rules []history.Seen[schema.SourceRule]
		for _, rule := range sources.Rules {
			rules = append(rules, history.Seen[schema.SourceRule]{Row: rule})
		}
		putFirst(t, d, schema.CampaignHistory,
			history.Seen[schema.Campaign]{Row: campaign, Unread: campaignRead.Unread})
		putFirst(t, d, schema.DeliveryHistory,
			history.Seen[schema.Delivery]{Row: delivery, Unread: deliveryRead.Unread})
		putFirst(t, d, schema.CreativeHistory,
			history.Seen[schema.Creative]{Row: creative, Unread: creativeRead.Unread})
		putFirst(t, d, schema.SourceModeHistory, history.Seen[schema.SourceMode]{Row: sources.Mode})
		putFirst(t, d, schema.SourceRuleHistory, rules...)
		d.commit(t)
	})
	return dir
}

// putFirst stages the first versions of a table.
func putFirst[R any, P history.Versioned[R]](t *testing.T, d *dayTest, table schema.TableOf[R],
	seen ...history.Seen[R]) {
	t.Helper()
	h, _, err := history.Advance[R, P](table, table.Tracked(), history.Versions[R]{},
		history.Observation[R]{Since: 100, At: 105, RunID: d.s.RunID, Seen: seen})
	if err == nil {
		err = load.PutHistory[R, P](d.s.staged, table, h)
	}
	if err != nil {
		t.Fatal(err)
	}
}
