package job

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestUnproven_SettingsAreStored: the service keeps no history of the settings, so a run that proves no day of the
// report still stores the settings, even in the first run. The exit code is the code for the report.
func TestUnproven_SettingsAreStored(t *testing.T) {
	schematest.Long(t)
	// days matches the requests for rows and for creatives of the report.
	const days = "include_creatives=true"
	for name, c := range map[string]struct {
		fault adsim.Fault
		code  int
	}{
		"no JSON":  {adsim.Fault{Kind: adsim.HTML, Query: days}, exit.Contract},
		"500":      {adsim.Fault{Kind: adsim.Status, Status: 500, Query: days}, exit.Unreachable},
		"password": {adsim.Fault{Kind: adsim.Status, Status: 401, Query: days}, exit.Auth},
		"a text": {adsim.Fault{Kind: adsim.WrongType, Query: days, Row: -1, Column: "total_spend", Value: `"12,5"`},
			exit.Contract},
		"another day": {adsim.Fault{Kind: adsim.OtherDay, Query: days, Row: 0}, exit.Contract},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.service.Fail(c.fault)
			first := w.sync(c.code, "nothing of the report published", "settings of 4 campaigns read")
			if !first.Run.Published || first.Run.Generation != 1 {
				t.Errorf("published %t, generation %d", first.Run.Published, first.Run.Generation)
			}
			missing := slices.DeleteFunc(first.Coverage, func(d schema.DayCoverage) bool {
				return d.State != schema.StateMissing
			})
			if len(missing) != schema.ReachDays+1 {
				t.Errorf("%d days are missing, want all of the reach", len(missing))
			}
			w.wantVerified()
			if got := w.ask("SELECT count(*) FROM ops.day_coverage WHERE state = 'missing'"); got != "33" {
				t.Errorf("%s days are missing in the warehouse", got)
			}
			id := w.service.CampaignIDs()[0]
			change := adsim.Change{Campaign: id, Set: map[string]any{"name": "another name"}}
			if err := w.service.Change(change); err != nil {
				t.Fatal(err)
			}
			w.service.Advance(time.Hour)
			w.sync(c.code, "1 new version")
			names := fmt.Sprintf("SELECT version_no, name FROM campaign_history WHERE campaign_id = '%s' "+
				"AND is_current", id)
			if got := w.ask("%s", names); got != "2|another name" {
				t.Errorf("the campaign is stored as %q", got)
			}

			w.service.ClearFaults()
			w.service.Advance(time.Hour)
			w.sync(exit.OK, "33 days of 33 planned proven")
			w.wantTruth()
		})
	}
}

// TestUnproven_AndNoSettings: if the settings cannot be read either, nothing is published.
func TestUnproven_AndNoSettings(t *testing.T) {
	for name, faults := range map[string][]adsim.Fault{
		"everything fails": {{Kind: adsim.Status, Status: 503}},
		"the listing, too": {{Kind: adsim.Status, Status: 503, Query: "include_creatives=true"},
			{Kind: adsim.Status, Status: 503, Path: "/v1/campaigns"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, f := range faults {
				w.service.Fail(f)
			}
			if res := w.sync(exit.Unreachable, "nothing published"); res.Run.Published || res.Run.Generation != 0 {
				t.Errorf("published %t, generation %d", res.Run.Published, res.Run.Generation)
			}
		})
	}
}
