package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestVerdicts_AreRightByTheDiary lives fifty days, with a change of the clocks, days without
// syncs, a day that is lost, funds that run out, sources and creatives of all qualities, and a
// break of tracking, and holds every verdict to what was done and what is true of the
// simulated service, not to the view's own definition: of what there is nothing to say about,
// it may say something of 5 % at most, and of what must be found, find four fifths.
func TestVerdicts_AreRightByTheDiary(t *testing.T) {
	schematest.Long(t) // packages queries and market hold verdicts to a truth
	f := newFifty(t)
	j := &judge{fifty: f, scores: map[string]*score{}}
	f.live(j)
	j.pacingOfOpenDays()
	j.runway()
	j.addsUp()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "verdict\tjudged\tfalse\tto be found\tfound\t")
	for _, name := range j.names {
		s := j.scores[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", name, s.judged, s.alarms, s.planted, s.found)
		if s.judged+s.planted == 0 || 20*s.alarms > s.judged || 5*s.found < 4*s.planted {
			t.Errorf("%s: %d of %d are false, %d of %d found\n%s", name, s.alarms, s.judged, s.found, s.planted,
				strings.Join(s.notes, "\n"))
		}
	}
	w.Flush()
	t.Logf("\n%s", &table)
}

// score is how a verdict does: of what it judged without anything to be found, how often it
// said something, and of what was to be found, how often it said so.
type score struct {
	judged, alarms, planted, found int
	notes                          []string
}

func (s *score) null(alarm bool, note ...any) {
	s.judged++
	if alarm {
		s.alarms++
		s.notes = append(s.notes, "false: "+fmt.Sprint(note...))
	}
}

func (s *score) effect(found bool, note ...any) {
	s.planted++
	if found {
		s.found++
	} else {
		s.notes = append(s.notes, "missed: "+fmt.Sprint(note...))
	}
}

type judge struct {
	*fifty
	when   string
	lines  []line // of the days that are proven
	asOf   map[string]adsim.Settings
	scores map[string]*score
	names  []string
	paced  [][]string // of the days that went on when they were judged
}

func (j *judge) score(name string) *score {
	if j.scores[name] == nil {
		j.scores[name] = &score{}
		j.names = append(j.names, name)
	}
	return j.scores[name]
}

// judge holds all views to the diary at a moment.
func (j *judge) judge(when string) {
	j.when, j.lines, j.asOf = when, nil, map[string]adsim.Settings{}
	for _, d := range j.proven() {
		j.lines = append(j.lines, linesOf(j.t, j.card, d, d)...)
	}
	j.sources()
	j.creatives()
	j.campaigns()
	j.changes()
	j.weeks()
	j.breaks()
	j.stops()
	j.days()
	j.pacing()
	advice := j.ask("SELECT coalesce(action, 'nothing') FROM mart.budget_runway WHERE account_id = 'card'")
	if !strings.HasPrefix(advice, "nothing") {
		j.t.Errorf("%s: the account whose card is charged by itself is told: %s", when, advice)
	}
}

// window are the lines of the days by which sources and creatives are judged.
func (j *judge) window() []line {
	yesterday := date(j.card.Today()) - 1
	return j.since(yesterday-29, yesterday)
}

func (j *judge) since(from, to schema.Date) (some []line) {
	for _, l := range j.lines {
		if l.Date >= from.String() && l.Date <= to.String() {
			some = append(some, l)
		}
	}
	return some
}

// settings are a campaign's of this moment.
func (j *judge) settings(id string) adsim.Settings {
	if _, known := j.asOf[id]; !known {
		s, err := j.card.Settings(id)
		if err != nil {
			j.t.Fatal(err)
		}
		j.asOf[id] = s
	}
	return j.asOf[id]
}

func byCampaign(l line) string { return l.CampaignID }

// goal is what a conversion of a campaign is worth by the file of payouts, which has a line for all.
func (j *judge) goal(id string) float64 {
	l := line{}
	l.CampaignID, l.Date = id, j.card.Today()
	return j.pays(l)
}

// sources holds sources to block and to scale to what is true of each.
func (j *judge) sources() {
	campaigns := sumBy(j.window(), byCampaign)
	pairs := sumBy(j.window(), func(l line) string { return l.CampaignID + " " + l.SourceID })
	block, scale, safe := j.score("sources to block"), j.score("sources to scale"), j.score("bids called safe")
	named := map[string]bool{}
	for _, r := range j.table("SELECT campaign_id, source_id FROM mart.source_block_candidates") {
		named[r[0]+" "+r[1]] = true
	}
	scaled := map[string][]string{}
	for _, r := range j.table("SELECT campaign_id, source_id, safe_cpc, bid_cap, bid_now FROM " +
		"mart.source_scale_candidates WHERE account_id = 'card'") {
		scaled[r[0]+" "+r[1]] = r[2:]
	}
	for _, key := range sortedKeys(pairs) {
		id, source, _ := strings.Cut(key, " ")
		pair, goal := pairs[key], j.goal(id)
		if pair.spend == 0 || j.settings(id).Status == "archived" {
			continue
		}
		listed := j.blocked[id] == source || slices.Contains(j.settings(id).Blocked, source)
		switch {
		case id == j.roles["broken"][0] && j.when == "2026-11-04":
			j.score("sources of a broken campaign").null(named[key], key)
		case j.settings(id).Status == "paused":
			j.score("sources of paused campaigns").null(named[key], key)
		case listed:
			block.null(named[key], key, " is blocked already")
		case pair.cpa() <= goal && pair.spend >= goal:
			block.null(named[key], key, *pair, goal)
		case slices.Contains(j.card.BadSources(), source) && pair.spend > 6*goal:
			block.effect(named[key], key, *pair, goal)
		}
		if pair.cpa() >= goal && pair.expected >= 1 {
			scale.null(scaled[key] != nil, key, *pair, goal)
		} else if good := slices.Contains(j.card.GoodSources(), source); good && pair.expected > 20 &&
			pair.spend < 0.15*campaigns[id].spend && pair.cpa() < 0.5*goal && !listed && id != j.roles["broken"][0] &&
			j.settings(id).Status == "active" {
			scale.effect(scaled[key] != nil, key, *pair, goal)
		}
		if s := scaled[key]; s != nil {
			bid := number(j.t, s[0])
			safe.null(bid > pair.expected/pair.clicks*goal, key, bid, pair.expected/pair.clicks*goal)
			if bid > number(j.t, s[1])+1e-9 || bid <= number(j.t, s[2]) {
				j.t.Errorf("%s: %v: a bid beyond the cap, or not above the one of now", key, s)
			}
		}
	}
}

// creatives holds what is said of creatives to their true CTR.
func (j *judge) creatives() {
	yesterday := date(j.card.Today()) - 1
	tired := j.score("creatives that tire")
	for _, r := range j.table("SELECT creative_id, verdict FROM mart.creative_fatigue WHERE account_id = 'card' AND " +
		"verdict <> 'too_little_data'") {
		called := r[1] != "steady"
		switch {
		case !slices.Contains(j.tired, r[0]):
			tired.null(called, r)
		case yesterday >= tireDay+6:
			tired.effect(called, r)
		}
	}
	siblings := j.score("creatives unlike their siblings")
	ctr := func(s *sums) float64 { return s.expectedClicks / s.impressions }
	campaigns, own := sumBy(j.window(), byCampaign), sumBy(j.window(), func(l line) string { return l.CreativeID })
	for _, r := range j.table("SELECT creative_id, campaign_id, ctr_vs_siblings FROM " +
		"creative_performance((SELECT min(report_date) FROM mart.performance_window), (SELECT max(report_date) FROM " +
		"mart.performance_window)) WHERE " +
		"account_id = 'card' AND ctr_vs_siblings IS NOT NULL") {
		one, all := own[r[0]], campaigns[r[1]]
		if one == nil || one.impressions == all.impressions {
			continue
		}
		others := sums{impressions: all.impressions - one.impressions,
			expectedClicks: all.expectedClicks - one.expectedClicks}
		ratio := ctr(one) / ctr(&others)
		siblings.null(r[2] == "better" && ratio <= 1 || r[2] == "worse" && ratio >= 1, r, ratio)
		if one.impressions > 50_000 && others.impressions > 50_000 && math.Abs(math.Log(ratio)) > math.Log(1.25) {
			siblings.effect(r[2] != "unclear", r, ratio)
		}
	}
}

// campaigns holds which campaigns pay to what their conversions cost on average.
func (j *judge) campaigns() {
	whole := sumBy(j.window(), byCampaign)
	pays := j.score("campaigns that pay or lose")
	for _, r := range j.table("SELECT campaign_id, verdict, spend, conversions, excess_spend FROM " +
		"mart.campaign_performance WHERE  account_id = 'card' AND spend > 0") {
		sum := whole[r[0]]
		if got := [2]float64{number(j.t, r[2]), number(j.t, r[3])}; math.Abs(got[0]-sum.spend) > 1e-6 ||
			got[1] != sum.conversions {
			j.t.Errorf("%s: %s cost %v and brought %v; the diary says %+v", j.when, r[0], r[2], r[3], *sum)
		}
		if r[0] == j.roles["broken"][0] && j.when == "2026-11-04" {
			j.score("broken tracking").effect(r[1] == "broken_tracking" && r[4] == "NULL", r)
			continue
		}
		ratio := sum.cpa() / j.goal(r[0])
		pays.null(r[1] == "pays" && ratio > 1 || r[1] == "loses" && ratio < 1 || r[1] == "broken_tracking", r, ratio)
		if math.Abs(math.Log(ratio)) > math.Log(1.35) && sum.expected > 100 {
			pays.effect(r[1] == map[bool]string{true: "loses", false: "pays"}[ratio > 1], r, ratio)
		}
	}
	revenue := 0.0
	for _, l := range j.lines {
		revenue += j.pays(l) * float64(l.Conversions)
	}
	spend := 0.0
	for _, l := range j.lines {
		spend += float64(l.Spend) / 1e6
	}
	got := j.table("SELECT sum(conversions_value), sum(conversions_value) - sum(spend)::DOUBLE FROM " +
		"mart.campaign_report WHERE account_id = 'card' AND date_day < DATE '" + j.card.Today() + "'")[0]
	if math.Abs(number(j.t, got[0])-revenue) > 0.001 || math.Abs(number(j.t, got[1])-revenue+spend) > 0.001 {
		j.t.Errorf("%s: revenue and profit are %v, the diary says %.6f and %.6f", j.when, got, revenue, revenue-spend)
	}
}

// compare counts a verdict on a CPA that changed by a true factor.
func compare(s *score, said string, factor float64, enough bool, note ...any) {
	switch {
	case said == "unknown":
	case math.Abs(math.Log(factor)) < math.Log(1.05):
		s.null(said != "unclear", said, factor, note)
	default:
		s.null(said == "dearer" && factor < 1 || said == "cheaper" && factor > 1, said, factor, note)
	}
	if enough && math.Abs(math.Log(factor)) > math.Log(1.6) {
		s.effect(said == map[bool]string{true: "dearer", false: "cheaper"}[factor > 1], said, factor, note)
	}
}

// changes holds what is said of changes of settings to what was done.
func (j *judge) changes() {
	s := j.score("changes of settings")
	for _, r := range j.table("SELECT campaign_id, (coalesce(not_before, seen_at) AT TIME ZONE " +
		"'America/Chicago')::DATE, (seen_at AT TIME ZONE 'America/Chicago')::DATE, verdict, days_after, " +
		"changed_columns FROM mart.change_impact WHERE account_id = 'card'") {
		first, last := date(r[1]), date(r[2])
		of := func(l line) bool { return l.CampaignID == r[0] }
		before, after := sumWhere(j.since(first-7, first-1), of), sumWhere(j.since(last+1, last+7), of)
		if before.expected < 20 || after.expected < 20 {
			continue
		}
		compare(s, r[3], after.cpa()/before.cpa(), number(j.t, r[4]) >= 2 && after.expected > 50, r)
	}
}

func sumWhere(lines []line, is func(line) bool) *sums {
	s := newSums()
	for _, l := range lines {
		if is(l) {
			s.add(l)
		}
	}
	return s
}

// weeks holds what is said of the last week, and its sums, to the diary.
func (j *judge) weeks() {
	yesterday := date(j.card.Today()) - 1
	last, before := sumBy(j.since(yesterday-6, yesterday), byCampaign), sumBy(j.since(yesterday-13, yesterday-7),
		byCampaign)
	j.env["ACCOUNT"] = "card"
	answer, err := csv.NewReader(strings.NewReader(j.must("query", "last_week", "--param", "rows=1000", "--format",
		"csv"))).ReadAll()
	if err != nil {
		j.t.Fatal(err)
	}
	said := map[string]map[string]string{}
	for _, cells := range answer[1:] {
		r := map[string]string{}
		for i, cell := range cells {
			r[answer[0][i]] = cell
		}
		if r["account_id"] == "card" {
			said[r["campaign_id"]] = r
		}
	}
	s := j.score("the last week's CPA")
	for _, id := range sortedKeys(last) {
		r := said[id]
		if id == j.roles["broken"][0] && yesterday >= breakDay {
			withheld := j.ask("SELECT change_verdict FROM mart.campaign_performance WHERE campaign_id = '" + id + "'")
			said := r["cpa_verdict"] != "unknown" || withheld != "unknown"
			j.score("CPA of a broken campaign").null(said, r, withheld)
			continue
		}
		if before[id] == nil || last[id].expected < 20 || before[id].expected < 20 {
			continue
		}
		if math.Abs(number(j.t, r["spend"])-last[id].spend) > 1e-6 || number(j.t, r["conversions"]) !=
			last[id].conversions {
			j.t.Errorf("%s: the last week of %s is %v, the diary says %+v", j.when, id, r, *last[id])
		}
		compare(s, r["cpa_verdict"], last[id].cpa()/before[id].cpa(), true, id, r["compared_by"], r["cpa_change"])
	}
}

// breaks holds what broke to what was broken. A bid that was doubled or halved, and half of the
// clicks, move the spend: that may be said, and need not.
func (j *judge) breaks() {
	found, mayBe := map[string]bool{}, map[string]bool{}
	if date(j.card.Today())-1 >= breakDay+1 {
		found[j.roles["broken"][0]+" conversions_stopped"] = true
	}
	if date(j.card.Today()) > lastOfFifty {
		found[j.roles["collapsed"][0]+" ctr_collapsed"] = true
	}
	for _, role := range []string{"dear", "cheap", "collapsed"} {
		for _, id := range j.roles[role] {
			mayBe[id+" spend_jumped"], mayBe[id+" spend_fell"] = role == "dear", role != "dear"
		}
	}
	said := map[string]bool{}
	for _, r := range j.table("SELECT campaign_id, kind FROM mart.breaks WHERE account_id = 'card'") {
		said[r[0]+" "+r[1]] = true
	}
	s := j.score("breaks")
	for _, id := range j.card.CampaignIDs() {
		if j.settings(id).Status != "active" {
			continue
		}
		for _, kind := range []string{"conversions_stopped", "spend_jumped", "spend_fell", "ctr_collapsed"} {
			switch key := id + " " + kind; {
			case found[key]:
				s.effect(said[key], key)
			case !mayBe[key]:
				s.null(said[key], key)
			}
		}
	}
}

// stops holds what was spent on what had been stopped to what was: of a campaign that was
// resumed, however rarely anybody looked, nothing is a leak.
func (j *judge) stops() {
	s := j.score("leaks")
	leaks := map[string]bool{}
	for _, r := range j.table("SELECT campaign_id, report_date FROM " +
		"spend_on_stopped((SELECT max(report_date) - 29 FROM ops.day_coverage), DATE '2999-12-31') WHERE " +
		"account_id = 'card' " +
		"AND is_leak") {
		leaks[r[0]+" "+r[1]] = true
	}
	byDay := sumBy(j.lines, func(l line) string { return l.CampaignID + " " + l.Date })
	for _, key := range sortedKeys(byDay) {
		id, day, _ := strings.Cut(key, " ")
		if byDay[key].spend == 0 || date(day) < date(firstLooked.Format(time.DateOnly)) {
			continue
		}
		if id == j.roles["leak"][0] && day >= "2026-10-28" {
			s.effect(leaks[key], key)
		} else {
			s.null(leaks[key], key)
		}
	}
}

// days holds the settings that are shown with a day to what they were when it ended: what was
// not so is marked as assumed.
func (j *judge) days() {
	s := j.score("settings of a day")
	for _, r := range j.table("SELECT campaign_id, report_date, status, default_bid, is_assumed FROM " +
		"mart.campaign_day WHERE account_id = 'card' AND settings_version IS NOT NULL AND " +
		"report_date < DATE '" + j.card.Today() + "'") {
		was, known := j.ended[r[1]+" "+r[0]]
		if !known {
			continue
		}
		right := r[2] == was.Status && number(j.t, r[3]) == number(j.t, was.DefaultBid)
		s.null(!right && r[4] != "true", r, was.Status, was.DefaultBid)
	}
}

// pacing holds how finished days stood against the limits of then, and notes what is said of
// the open day.
func (j *judge) pacing() {
	s := j.score("pacing of finished days")
	spent := sumBy(j.lines, func(l line) string { return l.Date + " " + l.CampaignID })
	for _, r := range j.table("SELECT report_date, campaign_id, pacing_state, daily_spend_limit FROM " +
		"mart.daily_pacing WHERE account_id = 'card' AND NOT is_assumed AND pacing_state IN ('under', 'on_pace', " +
		"'limited', 'over', 'too_early')") {
		if r[0] == j.card.Today() {
			j.paced = append(j.paced, r)
			continue
		}
		was, known := j.ended[r[0]+" "+r[1]]
		if !known {
			continue
		}
		sum := newSums()
		if spent[r[0]+" "+r[1]] != nil {
			sum = spent[r[0]+" "+r[1]]
		}
		s.null(r[2] != paceOf(sum.spend, number(j.t, was.DailySpendLimit)), r, was.DailySpendLimit, sum.spend)
	}
}

// paceOf is how a day stands that ended with a spend.
func paceOf(spend, limit float64) string {
	switch {
	case spend > limit:
		return "over"
	case spend >= 0.95*limit:
		return "limited"
	case spend >= 0.75*limit:
		return "on_pace"
	}
	return "under"
}

// pacingOfOpenDays holds what was said of days that went on to how they ended. Without a week
// of hourly looks, all but what is at its limit already is too early to say; with it, the
// verdicts are held in TestPacing_HoldsToTheDiary.
func (j *judge) pacingOfOpenDays() {
	j.service.SetNow(lastOfFifty.End().Add(20 * 24 * time.Hour))
	s := j.score("pacing of open days")
	spent := map[string]map[string]float64{}
	for _, r := range j.paced {
		if spent[r[0]] == nil {
			spent[r[0]] = map[string]float64{}
			for l := range j.card.Truth(r[0]) {
				spent[r[0]][l.CampaignID] += float64(l.Spend) / 1e6
			}
		}
		sum := spent[r[0]][r[1]]
		ended := paceOf(sum, number(j.t, r[3]))
		s.null(r[2] != "too_early" && r[2] != ended && !(r[2] == "limited" && ended == "over"), r, sum)
	}
}

// runway holds how long the money of the wire account was said to last to when what had been
// wired by then was spent.
func (j *judge) runway() {
	s := j.score("days that the money lasts")
	spent, first := 0.0, date(firstLooked.Format(time.DateOnly))
	ends := make([]schema.Date, len(j.forecast))
	for d := first; d < first+35; d++ {
		sum, err := j.wire.TruthSum(d.String())
		if err != nil {
			j.t.Fatal(err)
		}
		spent += float64(sum.Spend) / 1e6
		for i, f := range j.forecast {
			if ends[i] == 0 && spent > f.wired-50 {
				ends[i] = d
			}
		}
	}
	for i, f := range j.forecast {
		days := max(0, ends[i].Start().Add(12*time.Hour).Sub(f.at).Hours()/24)
		s.effect(math.Abs(f.days-days) <= max(1, days/2), f.at, f.days, days)
		if strings.HasPrefix(f.toDo, "add money now") != (f.days < 3) {
			j.t.Errorf("%s: for %g days the money lasts, and it says: %s", f.at, f.days, f.toDo)
		}
	}
}

// addsUp holds the views to each other and to the table, at the end.
func (j *judge) addsUp() {
	for _, v := range j.world.lines("SELECT view_name FROM duckdb_views() WHERE schema_name = 'mart' AND " +
		"database_name = current_database()") {
		if got := j.ask("SELECT count(*) > 0 FROM mart." + v); got != "true" &&
			v != "unconfirmed_settings" {
			j.t.Errorf("mart.%s is empty", v)
		}
	}
	const window = "FROM spend_daily JOIN mart.performance_window USING (account_id, report_date)"
	want := j.ask("SELECT sum(spend), sum(conversions) " + window)
	for _, v := range []string{"mart.source_performance", "creative_performance((SELECT min(report_date) FROM " +
		"mart.performance_window), (SELECT max(report_date) FROM mart.performance_window))"} {
		if got := j.ask("SELECT sum(spend), sum(conversions) FROM " + v); got != want {
			j.t.Errorf("%s adds up to %s, the table to %s", v, got, want)
		}
	}
	const all = "SELECT sum(spend), sum(clicks), sum(impressions), sum(conversions) FROM "
	if got, want := j.ask(all+"mart.ad_report"), j.ask(all+"spend_daily"); got != want {
		j.t.Errorf("mart.ad_report adds up to %s, the table to %s", got, want)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
