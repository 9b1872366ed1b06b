package adsim

import (
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/world"
)

func idsBody(ids []string, more string) string {
	return `{"source_ids":["` + strings.Join(ids, `","`) + `"]` + more + `}`
}

func TestSources_DryRunChangesNothing(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, ChangeBudgets: map[string]int{world.SourceUpdate: 3}})
	id, good := newCampaign(t, s), s.GoodSources()
	was := settingsOf(t, s, id)
	path := "/v1/campaigns/" + id + "/sources/"
	for verb, more := range map[string]string{"block": "", "bids": `,"bid":0.7`} {
		got := mustTell(t, s, "POST", path+verb, idsBody(good[:2], more+`,"dry_run":true`))
		if got["dry_run"] != true || !slices.Equal(strs(got["changed_source_ids"]), good[:2]) {
			t.Errorf("%s: got %v", verb, got)
		}
	}
	refusedAs(t, "a dry run is checked", tell(t, s, "POST", path+"bids", idsBody(good[:2], `,"bid":9,"dry_run":true`)),
		400, "validation_failed", "bid")
	if d := differing(t, was, settingsOf(t, s, id)); len(d) > 0 {
		t.Errorf("changed: %v", d)
	}
	for _, b := range limitsOf(t, s) {
		if b["kind"] == world.SourceUpdate && b["used"] != 0.0 {
			t.Errorf("a dry run costs: %v", b)
		}
	}
}
