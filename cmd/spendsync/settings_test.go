package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// change changes the simulated account's settings.
func (w *world) change(c adsim.Change) {
	w.t.Helper()
	if err := w.service.Change(c); err != nil {
		w.t.Fatal(err)
	}
}

// some is a campaign of a status.
func (w *world) some(status string) string {
	w.t.Helper()
	for _, id := range w.service.CampaignIDs() {
		s, err := w.service.Settings(id)
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Status == status {
			return id
		}
	}
	w.t.Fatalf("no %s campaign", status)
	return ""
}

// free are two sources that the campaign has no rule about.
func (w *world) free(s adsim.Settings) (string, string) {
	w.t.Helper()
	var free []string
	for id := range strings.FieldsSeq(strings.ReplaceAll(w.ask("SELECT DISTINCT source_id FROM spend_daily WHERE "+
		"source_id <> '' ORDER BY 1"), "\n", " ")) {
		if _, bid := s.Bids[id]; !bid && !slices.Contains(s.Blocked, id) && !slices.Contains(s.Allowed, id) {
			free = append(free, id)
		}
	}
	if len(free) < 2 {
		w.t.Fatalf("only %v are free", free)
	}
	return free[0], free[1]
}

// versions counts the versions of all settings tables.
func (w *world) versions() string {
	w.t.Helper()
	return w.ask(`SELECT (SELECT count(*) FROM campaign_history), (SELECT count(*) FROM campaign_delivery_history),
		(SELECT count(*) FROM creative_history),
		(SELECT count(*) FROM source_rule_history), (SELECT count(*) FROM source_mode_history)`)
}

// checkSettings compares the views of now with what the service shows.
func (w *world) checkSettings() {
	w.t.Helper()
	got := map[string]string{}
	for line := range strings.Lines(w.ask(`SELECT c.campaign_id, c.name, c.status, c.default_bid, c.daily_spend_limit,
		coalesce(c.target_cpa::VARCHAR, ''), coalesce(c.country, ''), coalesce(c.states, ''),
			m.source_mode, coalesce((SELECT string_agg(source_id || coalesce('=' || bid, ''), ',' ORDER BY rule,
			source_id) FROM source_rule r WHERE r.campaign_id = c.campaign_id), ''),
			coalesce((SELECT string_agg(creative_id || ':' || status || ':' || coalesce(title, ''), ',' ORDER BY
			creative_id) FROM creative x WHERE x.campaign_id = c.campaign_id AND x.read_state <> 'stub'), '')
		FROM campaign c LEFT JOIN source_mode m ON m.campaign_id = c.campaign_id`) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		got[strings.SplitN(line, "|", 2)[0]] = line
	}
	for _, id := range w.service.CampaignIDs() {
		s, err := w.service.Settings(id)
		if err != nil {
			w.t.Fatal(err)
		}
		if s.Hidden != "" {
			continue
		}
		var rules, creatives []string
		rules = append(rules, s.Allowed...)
		var bids []string
		for src, bid := range s.Bids {
			bids = append(bids, src+"="+bid)
		}
		slices.Sort(bids)
		rules = append(rules, bids...)
		rules = append(rules, s.Blocked...)
		for _, c := range s.Creatives {
			creatives = append(creatives, fmt.Sprintf("%s:%s:%s", c.CreativeID, c.Status, c.Title))
		}
		slices.Sort(creatives)
		want := strings.Join([]string{id, s.Name, s.Status, s.DefaultBid, s.DailySpendLimit, s.TargetCPA,
			s.Audience.Country, strings.Join(s.Audience.States, ","),
			s.SourceMode, strings.Join(rules, ","), strings.Join(creatives, ",")}, "|")
		if got[id] != want {
			w.t.Errorf("the warehouse has\n%s\nthe service\n%s", got[id], want)
		}
	}
}

func TestSettings_EveryChangeIsOneVersion(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	w.checkSettings()
	before := w.versions()
	w.must("sync")
	if got := w.versions(); got != before {
		t.Errorf("a second sync made versions: %s, were %s", got, before)
	}
	c := w.some("active")
	s, err := w.service.Settings(c)
	if err != nil {
		t.Fatal(err)
	}
	w.change(adsim.Change{Campaign: c, Set: map[string]any{"name": "Renamed, \"twice\"", "default_bid": "1.23",
		"target_cpa": "17.5"}, Force: true})
	w.change(adsim.Change{Creative: s.Creatives[0].CreativeID, Set: map[string]any{"title": "Another title"},
		Force: true})
	toBlock, toBid := w.free(s)
	w.change(adsim.Change{Campaign: c, Force: true, Sources: &adsim.SourceChange{Mode: "block_list",
		Block: []string{toBlock}, Bids: map[string]any{toBid: "0.55"}}})
	r := w.summary(w.must("sync", "--json"))
	w.checkSettings()
	if got := w.ask("SELECT campaign_id, changed_columns, default_bid FROM campaign_history WHERE change_type " +
		"= 'changed'"); got != c+"|default_bid,name,target_cpa|1.230000" {
		t.Errorf("campaign versions = %s", got)
	}
	if got := w.ask("SELECT creative_id, changed_columns FROM creative_history WHERE change_type " +
		"= 'changed'"); got != s.Creatives[0].CreativeID+"|title" {
		t.Errorf("creative versions = %s", got)
	}
	rules := "FROM source_rule_history WHERE campaign_id = '" + c + "' AND source_id IN ('" + toBlock + "', '" +
		toBid + "')"
	if got := w.ask("SELECT rule, source_id, change_type " + rules + " ORDER BY 1"); got != "bid_override|"+toBid+
		"|first_seen\nblocked|"+toBlock+"|first_seen" {
		t.Errorf("rules = %s", got)
	}
	if r.SettingsVersions < 4 {
		t.Errorf("settings_versions = %d", r.SettingsVersions)
	}
	// Half-open versions without a gap, and the true change between two reads.
	if got := w.ask(`SELECT a.valid_to = b.valid_from AND b.changed_after < b.valid_from AND b.changed_after >=
		a.valid_from AND b.is_current AND NOT a.is_current
		FROM campaign_history a JOIN campaign_history b ON b.campaign_id = a.campaign_id AND b.version_no =
		a.version_no + 1`); got != "true" {
		t.Errorf("the versions do not join: %s", got)
	}
	w.change(adsim.Change{Campaign: c, Force: true, Sources: &adsim.SourceChange{Unblock: []string{toBlock},
		Bids: map[string]any{toBid: "0.60"}}})
	w.must("sync")
	w.checkSettings()
	if got := w.ask("SELECT rule, change_type, bid " + rules +
		" AND is_current ORDER BY 1"); got != "bid_override|changed|0.600000\nblocked|deleted|NULL" {
		t.Errorf("rules now = %s", got)
	}
}

func TestSettings_UnreadableBidsAreNoChange(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	c := w.some("active")
	s, err := w.service.Settings(c)
	if err != nil {
		t.Fatal(err)
	}
	source, _ := w.free(s)
	w.change(adsim.Change{Campaign: c, Force: true, Sources: &adsim.SourceChange{Bids: map[string]any{source: "0.55"}}})
	w.must("sync")
	before := w.versions()
	w.service.Fail(adsim.Fault{Kind: adsim.Unreadable})
	for range 2 {
		w.must("sync") // a field that the service itself cannot read is a warning
	}
	if got := w.versions(); got != before {
		t.Errorf("versions = %s, were %s", got, before)
	}
	if got := w.ask("SELECT count(*) > 0 FROM ops.entity_read WHERE field = 'bid_overrides' AND read_state = " +
		"'unreadable'"); got != "true" {
		t.Error("ops.entity_read does not tell of the unreadable bids")
	}
	if got := w.ask("SELECT bids_last_read_at < (SELECT max(started_at) FROM ops.run) FROM source_mode WHERE " +
		"campaign_id = '" + c + "'"); got != "true" {
		t.Errorf("bids_last_read_at moved on: %s", got)
	}
	w.service.ClearFaults()
	for range 2 { // the second moves the instant on where it is
		w.must("sync")
		if got := w.ask("SELECT min(m.bids_last_read_at) >= max(r.started_at), min(m.last_confirmed_at) >= " +
			"max(r.started_at) FROM source_mode m JOIN campaign c USING (campaign_id), ops.run r " +
			"WHERE c.status <> 'archived'"); got != "true|true" {
			t.Errorf("bids_last_read_at and last_confirmed_at follow: %s", got)
		}
	}
	if got := w.versions(); got != before {
		t.Errorf("the same bids again made versions: %s, were %s", got, before)
	}
	w.service.Fail(adsim.Fault{Kind: adsim.Unreadable})
	w.must("sync")
	w.change(adsim.Change{Campaign: c, Force: true, Sources: &adsim.SourceChange{Bids: map[string]any{source: "0.99"}}})
	w.must("sync")
	w.service.ClearFaults()
	w.must("sync")
	if got := w.ask("SELECT version_no, bid FROM source_rule_history WHERE rule = 'bid_override' AND campaign_id = '" +
		c + "' AND source_id = '" + source + "' ORDER BY 1"); got != "1|0.550000\n2|0.990000" {
		t.Errorf("bids = %s", got)
	}
	w.checkSettings()
}

func TestSettings_DeletedAfterTwoCompleteAbsences(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	c := w.some("active")
	hide := func(do adsim.Action) { w.change(adsim.Change{Campaign: c, Do: do}) }
	state := func() string {
		return w.ask("SELECT version_no, change_type, is_deleted FROM campaign_history WHERE campaign_id = '" + c +
			"' AND is_current")
	}
	hide(adsim.Hide)
	w.must("sync")
	if got := state(); got != "1|first_seen|false" {
		t.Errorf("after one absence: %s", got)
	}
	w.must("sync")
	if got := state(); got != "2|deleted|true" {
		t.Errorf("after two: %s", got)
	}
	w.must("sync")
	hide(adsim.Show)
	w.must("sync")
	if got := state(); got != "3|restored|false" {
		t.Errorf("after its return: %s", got)
	}
	w.checkSettings()
}

func TestSettings_AFailingCampaignKeepsNoOtherBack(t *testing.T) {
	w := newWorld(t).withoutMarts()
	c := w.some("active")
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Path: "/v1/campaigns/" + c})
	code, _, last := w.run("sync")
	if code != exit.Partial || !strings.Contains(last, c) {
		t.Errorf("exit %d: %s", code, last)
	}
	if got, want := w.ask("SELECT count(*) FROM campaign WHERE read_state IN ('ok', 'partial')"),
		fmt.Sprint(len(w.service.CampaignIDs())); got != want {
		t.Errorf("%s campaigns, want %s", got, want)
	}
	if got := w.ask("SELECT entity_type, read_state FROM ops.entity_read WHERE entity_id = '" + c +
		"' AND field = ''"); !strings.Contains(got, "campaign|failed") {
		t.Errorf("entity_read = %s", got)
	}
	w.service.ClearFaults()
	w.must("sync")
	w.checkSettings()
	if got := w.ask("SELECT count(*) FROM campaign_history WHERE version_no > 1"); got != "0" {
		t.Errorf("%s second versions: the missing fields should have been filled in", got)
	}
}

func TestSettings_ABrokenAPINeverHoldsNumbersBack(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withoutMarts().synced() // a first load has to prove whose the report is
	w.env["REREAD_AFTER"] = "0s"
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503, Path: "/v1/*"})
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503, Path: "/v1/campaigns/*"})
	code, _, last := w.run("sync")
	if code != exit.Partial || !strings.Contains(last, "33 days of 33 planned proven") {
		t.Errorf("exit %d: %s", code, last)
	}
	w.service.ClearFaults()
	w.must("sync")
	w.checkTruth()
	w.checkSettings()
}

func TestSettings_AWrongKeyExits3AndKeepsTheNumbers(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	w.env["REREAD_AFTER"], w.env["API_KEY"] = "0s", "adv_wrong_key"
	code, _, last := w.run("sync")
	if code != exit.Auth || !strings.Contains(last, "33 days of 33 planned proven") {
		t.Errorf("exit %d: %s", code, last)
	}
}

// TestSettings_AWrongKeyPublishesAReportThatWaited: a report with nothing new waits for
// the settings, and is published without them where they cannot be read.
func TestSettings_AWrongKeyPublishesAReportThatWaited(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withoutMarts().synced()
	before, err := manifest.Read(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	read := w.ask("SELECT max(last_read_at) FROM ops.day_coverage")
	versions := w.versions()
	w.env["REREAD_AFTER"], w.env["API_KEY"] = "0s", "adv_wrong_key"
	code, _, last := w.run("sync")
	if code != exit.Auth || !strings.Contains(last, "33 days of 33 planned proven, 0 changed") {
		t.Errorf("exit %d: %s", code, last)
	}
	after, err := manifest.Read(w.dir)
	if err != nil || after.Generation != before.Generation+1 {
		t.Errorf("generation %d, was %d: %v", after.Generation, before.Generation, err)
	}
	if got := w.ask("SELECT count(*) FROM ops.day_coverage WHERE last_read_at > '" + read + "'"); got != "33" {
		t.Errorf("%s days are known to have been read again, want 33", got)
	}
	if got := w.versions(); got != versions {
		t.Errorf("versions %s, were %s", got, versions)
	}
	w.env["API_KEY"] = adsim.DefaultKey
	w.must("sync")
	if m, err := manifest.Read(w.dir); err != nil || m.Generation != after.Generation+1 {
		t.Errorf("report and settings with nothing new: generation %d after %d, want one more: %v", m.Generation,
			after.Generation, err)
	}
	w.checkTruth()
}

func TestSettings_RefusesAnotherAccount(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.AdvertiserID = "adv-one" }).withoutMarts()
	w.must("sync")
	before := w.hashes("parquet", "raw")
	other := makeWorld(t, func(c *adsim.Config) { c.AdvertiserID, c.Seed = "adv-two", 7 }).withoutMarts()
	other.dir, other.env["DATA_DIR"] = w.dir, w.dir
	code, _, last := other.run("sync")
	if code != exit.Auth || !strings.Contains(last, "another account") || !strings.Contains(last, "adv-two") {
		t.Errorf("exit %d: %s", code, last)
	}
	if after := w.hashes("parquet", "raw"); len(after) != len(before) {
		t.Errorf("%d files, were %d", len(after), len(before))
	}
	w.checkTruth()
}

func TestSettings_ArchivedOnesAreReadOnce(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.Campaigns = 12 }).withoutMarts()
	for i, id := range w.service.CampaignIDs() {
		if s, _ := w.service.Settings(id); i%2 == 0 && s.Status != "archived" {
			w.change(adsim.Change{Campaign: id, Set: map[string]any{"status": "archived"}, Force: true})
		}
	}
	first := w.summary(w.must("sync", "--json"))
	second := w.summary(w.must("sync", "--json"))
	full := w.summary(w.must("sync", "--full", "--json"))
	if first.CampaignsSkipped != 0 || second.CampaignsSkipped < 6 || full.CampaignsSkipped != 0 {
		t.Errorf("skipped %d, %d, %d campaigns", first.CampaignsSkipped, second.CampaignsSkipped, full.CampaignsSkipped)
	}
	w.checkSettings()
	if got := w.ask("SELECT count(*) FROM campaign_history WHERE version_no > 1"); got != "0" {
		t.Errorf("%s second versions", got)
	}
}

func TestSettings_TwiceChangesNoFile(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	w.must("sync") // by this world's clock: the balance is another every ten minutes
	before := w.proven()
	w.must("sync")
	for path, h := range w.proven() {
		if before[path] != h {
			t.Errorf("%s changed", path)
		}
	}
	if got := w.ask("SELECT min(last_confirmed_at) > (SELECT min(finished_at) FROM ops.run) FROM campaign WHERE " +
		"status <> 'archived'"); got != "true" {
		t.Error("last_confirmed_at did not move on")
	}
	// Built again from Parquet, the confirmations are the same.
	all := func() string {
		return w.ask("FROM campaign_history ORDER BY ALL") + w.ask("FROM source_mode_history ORDER BY ALL")
	}
	was := all()
	w.must("rebuild")
	if all() != was {
		t.Error("rebuild gives other histories")
	}
}

func TestSettings_AsOfAnInstant(t *testing.T) {
	schematest.Long(t)
	w := newSyncedWorld(t)
	c := w.some("active")
	w.change(adsim.Change{Campaign: c, Set: map[string]any{"default_bid": "2.5"}, Force: true})
	w.must("sync")
	bid := func(instant string) string {
		return w.ask("SELECT default_bid, is_assumed FROM campaigns_asof(" + instant + ") WHERE campaign_id = '" + c +
			"'")
	}
	old := w.ask("SELECT default_bid FROM campaign_history WHERE version_no = 1 AND campaign_id = '" + c + "'")
	if got := bid("TIMESTAMPTZ '2020-01-01 00:00:00+00'"); got != old+"|true" {
		t.Errorf("long ago: %s", got)
	}
	if got := bid("(SELECT min(valid_to) - INTERVAL 1 MICROSECOND FROM campaign_history WHERE campaign_id = '" + c +
		"')"); got != old+"|false" {
		t.Errorf("just before the change: %s", got)
	}
	if got := bid("(SELECT max(valid_from) FROM campaign_history WHERE campaign_id = '" + c +
		"')"); got != "2.500000|false" {
		t.Errorf("at the change: %s", got)
	}
	if got := w.ask(fmt.Sprintf("SELECT bool_or(settings_changed), max(default_bid) = 2.5 FROM mart.campaign_day "+
		"WHERE campaign_id = '%s' AND report_date = '%s'", c, schema.DateOf(w.service.Now()))); got != "true|true" {
		t.Errorf("today's settings: %s", got)
	}
}

func TestSettings_ShapesGiveTheSameTables(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	var want string
	for i, shape := range []string{"envelope-bare", "envelope-data", "envelope-items ids-long",
		"ids-long bids-map limits-map list-no-totals"} {
		w := makeWorld(t, func(c *adsim.Config) { c.Quirks = strings.Fields(shape) }).withoutMarts()
		w.must("sync")
		w.checkSettings()
		got := w.ask("SELECT * EXCLUDE (valid_from, valid_to, last_confirmed_at, _run_id, raw) FROM campaign_history "+
			"ORDER BY ALL") +
			w.ask("SELECT * EXCLUDE (valid_from, valid_to, last_confirmed_at, _run_id, raw) FROM creative_history "+
				"ORDER BY ALL") +
			w.ask("SELECT * EXCLUDE (valid_from, valid_to, last_confirmed_at, _run_id) FROM source_rule_history "+
				"ORDER BY ALL") +
			w.ask("SELECT * EXCLUDE (seen_at, raw, _run_id) FROM account_snapshot") +
			w.ask("SELECT * EXCLUDE (seen_at, _run_id) FROM account_limit ORDER BY ALL")
		if i == 0 {
			want = got
		} else if got != want {
			t.Errorf("shape %s gives other tables", shape)
		}
	}
}

func TestSettings_StubsForWhatOnlyTheReportKnows(t *testing.T) {
	w := newWorld(t).withoutMarts()
	c := w.some("active")
	w.change(adsim.Change{Campaign: c, Do: adsim.Hide})
	w.must("sync")
	if got := w.ask("SELECT change_type, read_state, name FROM campaign_history WHERE campaign_id = '" + c +
		"'"); got != "stub|stub|NULL" {
		t.Errorf("the hidden campaign = %s", got)
	}
	if got := w.ask("SELECT count(*) FROM spend_daily s LEFT JOIN campaign c USING (account_id, campaign_id) WHERE " +
		"c.campaign_id IS NULL"); got != "0" {
		t.Errorf("%s rows of spend without a campaign", got)
	}
	if got := w.ask("SELECT count(*) FROM spend_daily s LEFT JOIN creative c USING (account_id, creative_id) WHERE " +
		"c.creative_id IS NULL AND s.creative_id <> ''"); got != "0" {
		t.Errorf("%s rows of spend without a creative", got)
	}
	if got := w.ask("SELECT count(*) > 0 AND count(*) = count(status) FROM creative WHERE read_state = 'stub' AND " +
		"campaign_id = '" + c + "'"); got != "true" {
		t.Errorf("the hidden campaign's creatives have what the report tells: %s", got)
	}
	before := w.hashes("parquet")
	w.must("sync")
	for path, h := range w.hashes("parquet") {
		if before[path] != h && !strings.Contains(path, "parquet/ops_") {
			t.Errorf("%s changed", path)
		}
	}
	w.change(adsim.Change{Campaign: c, Do: adsim.Show})
	w.must("sync")
	if got := w.ask("SELECT version_no, change_type, read_state FROM campaign_history WHERE campaign_id = '" + c +
		"'"); got != "1|first_read|ok" {
		t.Errorf("the shown campaign = %s", got)
	}
	if got := w.ask("SELECT count(*) > 0 FROM creative WHERE image_url LIKE 'http%'"); got != "true" {
		t.Error("no creative has its image's address")
	}
}

// TestSettings_KilledInTheMiddle kills a run -9 while it waits for settings that never
// come: nothing is published, and the next run publishes everything.
func TestSettings_KilledInTheMiddle(t *testing.T) {
	schematest.Long(t)
	w := newWorld(t).withoutMarts()
	w.env["HTTP_TIMEOUT"] = "10m"
	w.service.Fail(adsim.Fault{Kind: adsim.Stall, Path: "/v1/campaigns/*/sources"})
	cmd := w.start(t.Context(), "sync")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.awaitRequest("/sources")(cmd.Process)
	w.awaitRequest("start_date=" + w.today().String())(cmd.Process)
	cmd.Process.Kill()
	cmd.Wait()
	w.service.ClearFaults()
	if _, err := manifest.Read(w.dir); !errors.Is(err, durable.ErrEmpty) {
		t.Fatalf("something is published after the kill, or the manifest is damaged: %v", err)
	}
	w.must("sync")
	w.must("verify")
	w.checkTruth()
	w.checkSettings()
}
