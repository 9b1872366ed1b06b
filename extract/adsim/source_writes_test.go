package adsim

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/world"
)

func idsBody(ids []string, more string) string {
	return `{"source_ids":["` + strings.Join(ids, `","`) + `"]` + more + `}`
}

func TestBlockSources_ChangeTheListOfTheirMode(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id, good := newCampaign(t, s), s.GoodSources()
	path := "/v1/campaigns/" + id + "/sources/"
	got := mustTell(t, s, "POST", path+"block", idsBody(good[:3], ""))
	if !slices.Equal(strs(got["changed_source_ids"]), good[:3]) || len(list(got["unchanged_source_ids"])) > 0 ||
		got["mode"] != "block_list" {
		t.Errorf("got %v", got)
	}
	got = mustTell(t, s, "POST", path+"block", idsBody(good[2:4], ""))
	if !slices.Equal(strs(got["unchanged_source_ids"]), good[2:3]) || !slices.Equal(strs(got["changed_source_ids"]),
		good[3:4]) {
		t.Errorf("again: %v", got)
	}
	mustTell(t, s, "POST", path+"unblock", idsBody(good[:1], ""))
	if got := settingsOf(t, s, id); !slices.Equal(got.Blocked, good[1:4]) || len(got.Allowed) > 0 {
		t.Errorf("blocked: %v", got.Blocked)
	}
	for _, verb := range []string{"allow", "disallow"} {
		refusedAs(t, verb, tell(t, s, "POST", path+verb, idsBody(good[:1], "")), 409, "conflict", "")
	}
	asServed(t, s, id)
}

func TestAllowSources_KeepTheLast(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id, good := newCampaign(t, s), s.GoodSources()
	change(t, s, Change{Campaign: id, Sources: &SourceChange{Mode: "allow_list", Allow: good[:1]}})
	path := "/v1/campaigns/" + id + "/sources/"
	mustTell(t, s, "POST", path+"allow", idsBody(good[1:3], ""))
	mustTell(t, s, "POST", path+"disallow", idsBody(good[:1], ""))
	if got := settingsOf(t, s, id).Allowed; !slices.Equal(got, good[1:3]) {
		t.Errorf("allowed: %v", got)
	}
	refusedAs(t, "all", tell(t, s, "POST", path+"disallow", idsBody(good[1:3], "")), 409, "conflict", "")
	if got := settingsOf(t, s, id).Allowed; !slices.Equal(got, good[1:3]) {
		t.Errorf("refused, and yet: %v", got)
	}
	for _, verb := range []string{"block", "unblock"} {
		refusedAs(t, verb, tell(t, s, "POST", path+verb, idsBody(good[:1], "")), 409, "conflict", "")
	}
	asServed(t, s, id)
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

func TestSourceBids_AreHeldToTheRules(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id, good := newCampaign(t, s), s.GoodSources()
	path := "/v1/campaigns/" + id + "/sources/bids"
	mustTell(t, s, "POST", path, idsBody(good[:2], `,"bid":1.5`)) // three times 0.5
	for more, field := range map[string]string{
		`,"bid":1.51`: "bid", `,"bid":0.09`: "bid", `,"bid":25.01`: "bid", ``: "bid",
		`,"bid":1,"optimize":true`: "optimize", `,"bid":"1"`: "bid", `,"colour":1`: "colour",
	} {
		refusedAs(t, more, tell(t, s, "POST", path, idsBody(good[:2], more)), 400, "validation_failed", field)
	}
	mustTell(t, s, "POST", path, idsBody(good[:1], `,"bid":null`))
	if got := settingsOf(t, s, id).Bids; !maps.Equal(got, map[string]string{good[1]: "1.500000"}) {
		t.Errorf("got %v", got)
	}
	refusedAs(t, "optimize without a target", tell(t, s, "POST", path, idsBody(good[:2], `,"optimize":true`)), 409,
		"conflict", "")
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"target_cpa":10}`)
	mustTell(t, s, "POST", path, idsBody(good[:2], `,"optimize":true`))
	if got := mustTell(t, s, "GET", "/v1/campaigns/"+id+"/sources",
		""); !slices.Equal(strs(asMap(got["source_settings"])["optimized_source_ids"]), good[:2]) {
		t.Errorf("got %v", got)
	}
	mustTell(t, s, "POST", path, idsBody(good[:1], `,"optimize":false`))
	mustTell(t, s, "POST", path, idsBody(good[1:2], `,"bid":0.4`))
	if got := settingsOf(t, s, id).Bids; !maps.Equal(got, map[string]string{good[1]: "0.400000"}) {
		t.Errorf("got %v", got)
	}
	asServed(t, s, id)
}

func TestSources_AtMost50ThatThereAre(t *testing.T) {
	s := sim(config.Config{RateLimit: -1})
	id := newCampaign(t, s)
	ids := s.World.Account.Sources.IDs
	for _, verb := range []string{"bids", "block", "unblock"} {
		path, more := "/v1/campaigns/"+id+"/sources/"+verb, ""
		if verb == "bids" {
			more = `,"bid":0.5`
		}
		mustTell(t, s, "POST", path, idsBody(ids[:50], more))
		refusedAs(t, "51", tell(t, s, "POST", path, idsBody(ids[:51], more)), 400, "validation_failed", "source_ids")
		refusedAs(t, "none", tell(t, s, "POST", path, `{"source_ids":[]`+more+`}`), 400, "validation_failed",
			"source_ids")
		refusedAs(t, "twice", tell(t, s, "POST", path, idsBody([]string{ids[0], ids[0]}, more)), 400,
			"validation_failed", "source_ids[1]")
		refusedAs(t, "unknown", tell(t, s, "POST", path, idsBody([]string{ids[0], "S0"}, more)), 400,
			"validation_failed", "source_ids[1]")
		refusedAs(t, "form", tell(t, s, "POST", path, idsBody([]string{"S 1"}, more)), 400, "validation_failed",
			"source_ids[0]")
		refusedAs(t, "long", tell(t, s, "POST", path, idsBody([]string{strings.Repeat("S", 41)}, more)), 400,
			"validation_failed", "source_ids[0]")
	}
	a := tell(t, s, "POST", "/v1/campaigns/"+id+"/sources/block", idsBody(ids[100:150], ""))
	late := strs(a.one()["not_enforced_source_ids"])
	if len(late) == 0 || len(late) > 25 {
		t.Errorf("not enforced yet: %v", late)
	}
	asServed(t, s, id)
}
