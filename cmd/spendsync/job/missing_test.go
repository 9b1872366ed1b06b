package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// rewriter changes replies of the advertiser API. The paths that edit receives lack the prefix of the API.
type rewriter struct {
	of   http.RoundTripper
	edit func(path, body string) (status int, edited string) // status 0: unchanged; one call at a time
	mu   sync.Mutex
}

func (e *rewriter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.of.RoundTrip(r)
	path, isAPI := strings.CutPrefix(r.URL.Path, adsim.APIPrefix+"/v1/")
	if err != nil || !isAPI || e.edit == nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	e.mu.Lock()
	status, edited := e.edit(path, string(body))
	e.mu.Unlock()
	if status != 0 {
		resp.StatusCode = status
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader([]byte(edited))), int64(len(edited))
	resp.Header.Del("Content-Length")
	return resp, err
}

// listed returns the reply of a list with only the entries for which keep reports true.
func listed(t *testing.T, body, list string, keep func(string) bool) string {
	t.Helper()
	var reply map[string]json.RawMessage
	var entries []map[string]any
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(reply[list], &entries); err != nil {
		t.Fatal(err)
	}
	all := len(entries)
	entries = slices.DeleteFunc(entries, func(e map[string]any) bool { return !keep(e["id"].(string)) })
	edited := map[string]any{list: entries}
	var total int
	if json.Unmarshal(reply["total"], &total) == nil { // a list ends after as many entries as its total
		edited["total"] = total - (all - len(entries))
	}
	b, err := json.Marshal(edited)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// without returns the reply of a list without some entries.
func without(t *testing.T, body, list string, ids ...string) string {
	t.Helper()
	return listed(t, body, list, func(id string) bool { return !slices.Contains(ids, id) })
}

// missingWorld returns a world after its first sync, with a rewriter of its replies.
func missingWorld(t *testing.T, edit ...func(*adsim.Config)) (*world, *rewriter) {
	w := newWorld(t, edit...)
	e := &rewriter{of: w.service.Transport()}
	w.transport = e
	w.first()
	return w, e
}

// liveCreative is the query for a creative of a campaign that every run reads.
const liveCreative = "SELECT min(creative_id) FROM creative_history WHERE is_current AND campaign_id IN " +
	"(SELECT campaign_id FROM campaign_history WHERE is_current AND status <> 'archived')"

// change changes the settings at the service.
func (w *world) change(changes ...adsim.Change) {
	w.t.Helper()
	for _, c := range changes {
		if err := w.service.Change(c); err != nil {
			w.t.Fatal(err)
		}
	}
}

// ended returns the number of ended entities in a table.
func (w *world) ended(table string) string {
	w.t.Helper()
	return w.ask("SELECT count(*) FROM %s WHERE is_current AND is_deleted", table)
}

func (w *world) wantEnded(table, want string) {
	w.t.Helper()
	if got := w.ended(table); got != want {
		w.t.Errorf("%s of %s have ended, want %s", got, table, want)
	}
}

// wantWell syncs once without faults, and checks the number of new versions.
func (w *world) wantWell(e *rewriter, versions int64) {
	w.t.Helper()
	e.edit = nil
	w.service.Advance(time.Hour)
	if got := w.sync(exit.OK).Run.SettingsVersions; got != versions {
		w.t.Errorf("%d new versions once all is well again, want %d", got, versions)
	}
	w.wantVerified()
}

// TestMissing_WhatAnswersGoesOn: if lists lack all entries, or all but one, each run requests the missing entities one
// by one. It reads the entities that the service has, and no other entity ends.
func TestMissing_WhatAnswersGoesOn(t *testing.T) {
	w, e := missingWorld(t, func(c *adsim.Config) { c.CreativesPerCampaign = 6 })
	first := w.service.CampaignIDs()[0]
	campaign := w.ask("SELECT max(campaign_id) FROM campaign_history WHERE is_current AND status <> 'archived' "+
		"AND campaign_id <> '%s'", first)
	failing := w.ask("SELECT campaign_id FROM campaign_history WHERE is_current AND status <> 'archived' "+
		"AND campaign_id NOT IN ('%s', '%s') LIMIT 1", first, campaign)
	creative, fails := w.ask(liveCreative+" AND status = 'active'"), true
	e.edit = func(path, body string) (int, string) {
		switch {
		case path == "campaigns":
			return 0, listed(t, body, "campaigns", func(id string) bool { return id == first })
		case path == "campaigns/"+failing && fails:
			return 500, `{"error":{"code":"internal_error","message":"no"}}`
		case strings.HasSuffix(path, "/creatives"):
			return 0, `{"creatives":[]}`
		}
		return 0, body
	}
	w.service.Advance(time.Hour)
	w.sync(exit.Partial, "campaign "+failing, "listing campaigns: the listing lacks", "which the service has")
	fails = false
	w.change(adsim.Change{Campaign: campaign, Set: map[string]any{"name": "Other"}},
		adsim.Change{Creative: creative, Set: map[string]any{"status": "paused"}})
	w.service.Advance(time.Hour)
	w.sync(exit.Partial, "listing campaigns: the listing lacks", "listing creatives: the listing lacks")
	got := w.ask("SELECT c.name, k.status FROM campaign_history AS c, creative_history AS k WHERE c.is_current "+
		"AND k.is_current AND c.campaign_id = '%s' AND k.creative_id = '%s'", campaign, creative)
	if got != "Other|paused" {
		t.Errorf("they are %s", got)
	}
	for _, table := range []string{"campaign_history", "campaign_delivery_history", "source_mode_history",
		"creative_history"} {
		w.wantEnded(table, "0")
	}
	w.wantWell(e, 0)
}

// TestMissing_UnlistedEntitiesCanBeAccepted: if a list lacks entities that the service has, each run ends with exit 4
// until a person accepts the note of that kind. The acceptance is up to the number of entities.
func TestMissing_UnlistedEntitiesCanBeAccepted(t *testing.T) {
	w, e := missingWorld(t, func(c *adsim.Config) { c.Campaigns = 9 })
	hidden := strings.Fields(w.ask("SELECT campaign_id FROM campaign_history WHERE is_current " +
		"AND status <> 'archived' ORDER BY 1 LIMIT 2"))
	creative, lacks := w.ask(liveCreative+" AND campaign_id NOT IN ('%s')", strings.Join(hidden, "','")), hidden[:1]
	e.edit = func(path, body string) (int, string) {
		switch {
		case path == "campaigns":
			return 0, without(t, body, "campaigns", lacks...)
		case strings.HasSuffix(path, "/creatives"):
			return 0, without(t, body, "creatives", creative)
		}
		return 0, body
	}
	accept := func(names ...string) {
		t.Helper()
		for _, name := range names {
			res, err := w.next().Accept(t.Context(), name, false, func(known []string) error {
				return fmt.Errorf("it is none of %q", known)
			})
			w.want(res, err, exit.OK, "accepted "+name+" up to "+strconv.Itoa(len(lacks)))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	sync := func(code int, says ...string) {
		t.Helper()
		w.service.Advance(time.Minute)
		w.sync(code, says...)
	}
	for range 2 {
		sync(exit.Partial, "repair accept settings.campaign.unlisted", "repair accept settings.creative.unlisted")
	}
	accept("settings.campaign.unlisted", "settings.creative.unlisted")
	sync(exit.OK, "2 accepted differences")
	if got := w.ask("SELECT count(*) FROM ops.note WHERE is_standing AND size_percent IS NULL"); got != "2" {
		t.Errorf("%s notes are accepted, want 2", got)
	}
	lacks = hidden
	sync(exit.Partial, "the listing lacks 2 campaigns")
	accept("settings.campaign.unlisted")
	sync(exit.OK)
	w.wantWell(e, 0)
}

// TestMissing_OfTheReportAlone: a campaign or creative that the report names and the list never had is read like a
// listed one. If the service does not show it, the entity stays a stub. It is requested again only in a full run, or if
// a young day has new spend of the campaign.
func TestMissing_OfTheReportAlone(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.Campaigns = 9 })
	e := &rewriter{of: w.service.Transport()}
	w.transport = e
	reported, creatives := map[string]bool{}, map[string][]string{}
	for l := range w.service.Truth((w.today() - 1).String()) {
		reported[l.CampaignID] = reported[l.CampaignID] || l.Spend > 0
		if !slices.Contains(creatives[l.CampaignID], l.CreativeID) {
			creatives[l.CampaignID] = append(creatives[l.CampaignID], l.CreativeID)
		}
	}
	hidden := slices.DeleteFunc(w.service.CampaignIDs(), func(id string) bool {
		s, err := w.service.Settings(id)
		return err != nil || s.Status == "archived" || !reported[id]
	})
	shown, absent, refused := hidden[0], hidden[1], hidden[2]
	shownCreative, absentCreative := creatives[hidden[3]][0], creatives[hidden[3]][1]
	asked := map[string]int{}
	e.edit = func(path, body string) (int, string) {
		id, isCreative := strings.CutPrefix(path, "creatives/")
		if !isCreative {
			id, _ = strings.CutPrefix(path, "campaigns/")
		}
		asked[id]++
		switch id {
		case absent, absentCreative:
			return 404, `{"error":{"code":"not_found","message":"no such campaign"}}`
		case refused:
			return 403, `{"error":{"code":"forbidden","message":"no"}}`
		case "campaigns":
			return 0, without(t, body, "campaigns", shown, absent, refused)
		case hidden[3] + "/creatives":
			return 0, without(t, body, "creatives", shownCreative, absentCreative)
		}
		return 0, body
	}
	want := func(code int, shownNow, othersNow int) {
		t.Helper()
		clear(asked)
		w.service.Advance(time.Minute)
		w.sync(code)
		if asked[shown] != shownNow || asked[absent] != othersNow || (asked[refused] > 0) != (othersNow > 0) {
			t.Errorf("%v requests of %s, %s and %s; want %d of the first, %d of the others", asked, shown, absent,
				refused, shownNow, othersNow)
		}
		got := w.ask("SELECT string_agg(read_state, ',' ORDER BY campaign_id = '%s' DESC) FROM campaign_history "+
			"WHERE is_current AND campaign_id IN ('%s')", shown, strings.Join(hidden[:3], "','"))
		if got != "ok,stub,stub" {
			t.Errorf("they are %s", got)
		}
		got = w.ask("SELECT string_agg(read_state, ',' ORDER BY creative_id = '%s' DESC) FROM creative_history "+
			"WHERE is_current AND creative_id IN ('%s', '%s')", shownCreative, shownCreative, absentCreative)
		wanted := w.runs == 1 || w.job.Full
		if got != "ok,stub" || asked[shownCreative] != 1 || (asked[absentCreative] > 0) != wanted {
			t.Errorf("the creatives are %s; %d and %d requests", got, asked[shownCreative], asked[absentCreative])
		}
	}
	want(exit.Partial, 1, 1)
	for _, table := range []string{"source_mode_history", "creative_history"} {
		if w.ask("SELECT count(*) FROM %s WHERE read_state = 'ok' AND campaign_id = '%s'", table, shown) == "0" {
			t.Errorf("%s has nothing of %s", table, shown)
		}
	}
	for _, name := range []string{"settings.campaign.unlisted", "settings.creative.unlisted"} {
		if _, err := w.next().Accept(t.Context(), name, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	want(exit.OK, 1, 0)
	err := w.service.Restate((w.today() - 1).String(), adsim.Restatement{Kind: "multiply", Percent: 110})
	if err != nil {
		t.Fatal(err)
	}
	want(exit.OK, 1, 1)
	w.job.Full = true
	want(exit.OK, 1, 1)
	w.job.Full = false
	e.edit = nil
	w.sync(exit.OK)
	if got := w.ask("SELECT count(*) FROM ops.entity_read"); got != "0" {
		t.Errorf("%s entities are unread once the list has all", got)
	}
}

// TestMissing_WhatTheServiceNoLongerHasEnds: an entity is deleted if two complete lists lack it and its own request is
// answered with 404 twice; the exit code is 0. The parts of a campaign end and are restored together with the campaign.
func TestMissing_WhatTheServiceNoLongerHasEnds(t *testing.T) {
	w, e := missingWorld(t, func(c *adsim.Config) { c.CreativesPerCampaign = 6 })
	campaign := w.ask("SELECT arg_max(campaign_id, n) FROM " +
		"(SELECT campaign_id, count(*) AS n FROM source_rule_history JOIN campaign_history AS c USING (campaign_id) " +
		"WHERE c.is_current AND c.status <> 'archived' GROUP BY ALL)")
	creative := w.ask(liveCreative+" AND campaign_id <> '%s'", campaign)
	parts := func(table string) int {
		n, err := strconv.Atoi(w.ask("SELECT count(*) FROM %s WHERE is_current AND campaign_id = '%s'", table,
			campaign))
		if err != nil || n == 0 {
			t.Fatalf("%s has %d of the campaign, %v", table, n, err)
		}
		return n
	}
	creatives, rules := parts("creative_history"), parts("source_rule_history")
	w.change(adsim.Change{Campaign: campaign, Do: adsim.Hide}, adsim.Change{Creative: creative, Do: adsim.Hide})
	w.service.Advance(time.Hour)
	w.sync(exit.OK)
	for _, table := range []string{"campaign_history", "creative_history", "source_rule_history",
		"source_mode_history"} {
		w.wantEnded(table, "0")
	}
	w.service.Advance(time.Hour)
	w.sync(exit.OK)
	w.wantEnded("campaign_history", "1")
	w.wantEnded("campaign_delivery_history", "1")
	w.wantEnded("source_mode_history", "1")
	w.wantEnded("creative_history", strconv.Itoa(creatives+1))
	w.wantEnded("source_rule_history", strconv.Itoa(rules))
	w.service.Advance(time.Hour)
	if got := w.sync(exit.OK).Run.SettingsVersions; got != 0 {
		t.Errorf("%d versions in a third run", got)
	}
	w.change(adsim.Change{Campaign: campaign, Do: adsim.Show}, adsim.Change{Creative: creative, Do: adsim.Show})
	// Campaign, delivery status, source mode, the creative, and all creatives and rules of the campaign are restored.
	w.wantWell(e, int64(4+creatives+rules))
	w.wantEnded("campaign_history", "0")
}

// TestMissing_ArchivedOnesMayBeLeftOut: archived is permanent. Once a run has seen that entities are archived, lists
// without them make no run request them, and end nothing.
func TestMissing_ArchivedOnesMayBeLeftOut(t *testing.T) {
	w, e := missingWorld(t, func(c *adsim.Config) { c.CreativesPerCampaign = 6 })
	campaign := w.service.CampaignIDs()[1]
	creative := w.ask(liveCreative+" AND status = 'active' AND campaign_id <> '%s'", campaign)
	w.change(adsim.Change{Campaign: campaign, Set: map[string]any{"status": "archived"}},
		adsim.Change{Creative: creative, Set: map[string]any{"status": "archived"}})
	asked := 0
	e.edit = func(path, body string) (int, string) {
		switch {
		case path == "campaigns":
			return 0, without(t, body, "campaigns", campaign)
		case strings.HasSuffix(path, "/creatives"):
			return 0, without(t, body, "creatives", creative)
		case path == "campaigns/"+campaign || path == "creatives/"+creative:
			asked++
		}
		return 0, body
	}
	for range 3 {
		w.service.Advance(time.Hour)
		w.sync(exit.OK)
		if asked != 2 {
			t.Errorf("%d requests for what is archived, want 2", asked)
		}
	}
	got := w.ask("SELECT c.status, k.status FROM campaign_history AS c, creative_history AS k WHERE c.is_current "+
		"AND k.is_current AND c.campaign_id = '%s' AND k.creative_id = '%s'", campaign, creative)
	if got != "archived|archived" {
		t.Errorf("they are %s", got)
	}
	w.wantEnded("campaign_history", "0")
	w.wantEnded("creative_history", "0")
}

// TestMissing_AsksWithinTheRunsLimit: a run asks for as many missing entities as it may send requests in a minute, and
// the next runs ask for the remaining entities.
func TestMissing_AsksWithinTheRunsLimit(t *testing.T) {
	w, e := missingWorld(t, func(c *adsim.Config) { c.Campaigns = 9 })
	w.job.RequestsPerMinute = 1
	hidden := strings.Fields(w.ask("SELECT campaign_id FROM campaign_history WHERE is_current " +
		"AND status <> 'archived' ORDER BY 1 LIMIT 3"))
	asked := map[string]bool{}
	e.edit = func(path, body string) (int, string) {
		if path == "campaigns" {
			return 0, without(t, body, "campaigns", hidden...)
		}
		if id, ok := strings.CutPrefix(path, "campaigns/"); ok && slices.Contains(hidden, id) {
			asked[id] = true
		}
		return 0, body
	}
	for i := range 3 {
		w.service.Advance(time.Hour)
		w.sync(exit.Partial)
		if len(asked) != i+1 {
			t.Errorf("after %d runs %d of the missing campaigns were asked for", i+1, len(asked))
		}
	}
	w.wantEnded("campaign_history", "0")
	w.job.RequestsPerMinute = 120
	w.wantWell(e, 0)
}

var blockedIDs = regexp.MustCompile(`"blocked_source_ids":\[[^\]]*\]`)

// TestMissing_RulesEndAfterTwoReadings: a rule that a reading lacks ends if a second reading in the same run lacks it,
// too.
func TestMissing_RulesEndAfterTwoReadings(t *testing.T) {
	// number of rules left: number of readings, from the first on, that have only these rules
	cases := map[int]int{1: 2, 2: 1}
	if schematest.All() {
		cases[0], cases[3] = 1, 2
	}
	for left, reads := range cases {
		t.Run(fmt.Sprintf("%d-left-%d-times", left, reads), func(t *testing.T) {
			w, e := missingWorld(t, func(c *adsim.Config) { c.Sources = 600 })
			campaign, known, _ := strings.Cut(w.ask("SELECT campaign_id, count(*) FROM source_rule_history "+
				"WHERE rule = 'blocked' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"), "|")
			if known < "4" || len(known) > 1 {
				t.Fatalf("%s rules", known)
			}
			seen := 0
			e.edit = func(path, body string) (int, string) {
				if path != "campaigns/"+campaign+"/sources" {
					return 0, body
				}
				if seen++; seen > reads {
					return 0, body
				}
				return 0, blockedIDs.ReplaceAllStringFunc(body, func(list string) string {
					part := strings.Join(strings.SplitN(list, `"`, 4+2*left)[:3+2*left], `"`)
					return strings.TrimSuffix(part, ",") + "]"
				})
			}
			w.service.Advance(time.Hour)
			w.sync(exit.OK)
			if reads == 1 {
				w.wantEnded("source_rule_history", "0")
				w.wantWell(e, 0)
				return
			}
			got := w.ask("SELECT count(*) FROM source_rule_history WHERE is_current AND NOT is_deleted "+
				"AND rule = 'blocked' AND campaign_id = '%s'", campaign)
			if got != strconv.Itoa(left) || seen != 2 {
				t.Errorf("%s rules are left after %d reads, want %d", got, seen, left)
			}
		})
	}
}

// TestMissing_NoRuleEndsByAReadingThatCannotReadIt: the first reading lacks a bid, and the second has null in the place
// of the bids, which the description defines as unread.
func TestMissing_NoRuleEndsByAReadingThatCannotReadIt(t *testing.T) {
	w, e := missingWorld(t, func(c *adsim.Config) { c.Sources = 600 })
	campaign := w.ask("SELECT arg_max(campaign_id, n) FROM (SELECT campaign_id, count(*) AS n " +
		"FROM source_rule_history WHERE rule = 'bid_override' AND campaign_id IN " +
		"(SELECT campaign_id FROM campaign_history " +
		"WHERE is_current AND status <> 'archived') GROUP BY 1)")
	bids, seen := regexp.MustCompile(`"bid_overrides":\[[^\]]*\]`), 0
	e.edit = func(path, body string) (int, string) {
		if path != "campaigns/"+campaign+"/sources" {
			return 0, body
		}
		if !bids.MatchString(body) {
			t.Errorf("no list of bids in %s", body)
		}
		seen++
		return 0, bids.ReplaceAllString(body, map[bool]string{true: `"bid_overrides":[]`,
			false: `"bid_overrides":null`}[seen == 1])
	}
	w.service.Advance(time.Hour)
	if w.sync(exit.OK); seen != 2 {
		t.Errorf("%d readings, want 2", seen)
	}
	w.wantEnded("source_rule_history", "0")
	if got := w.ask("SELECT string_agg(entity_type || ' ' || entity_id || ' ' || field) FROM ops.entity_read"); got !=
		"source settings "+campaign+" bid_overrides" {
		t.Errorf("unread: %s", got)
	}
	w.wantWell(e, 0)
}
