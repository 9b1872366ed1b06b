package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// The fifty days: the report of the first sync reaches back to the first, and the clocks
// change before the last three.
var (
	firstOfFifty = date("2026-09-15")
	lastOfFifty  = date("2026-11-03")
	firstLooked  = time.Date(2026, time.October, 17, 17, 3, 0, 0, time.UTC)
	lostDay      = date("2026-09-16") // never answered while it was in reach
	missingDay   = date("2026-10-24") // not answered yet
	clocksChange = date("2026-11-01")
	deedsDay     = date("2026-10-27") // on which most settings are changed
	breakDay     = date("2026-10-28") // from which a campaign's conversions are not told
	tireDay      = date("2026-10-26") // from which creatives lose half of their CTR
)

// fifty is an account that pays by card and one that pays by wire in one store, over fifty
// days in which the test knows what was done and what is true.
type fifty struct {
	*world
	hands   *hands
	card    *adsim.Service
	wire    *adsim.Service
	payouts string
	roles   map[string][]string // campaigns of the card account by what happens to them
	tired   []string            // creatives
	blocked map[string]string   // campaign: the source that was blocked in it

	ended    map[string]adsim.Settings // "day campaign": as the day ended
	deeds    []deed                    // of settings, by the campaign
	forecast []forecast
	wired    float64 // US dollars
}

// deed is a change of a campaign's settings.
type deed struct {
	campaign string
	at       time.Time
	isNull   bool // it changes nothing about what a conversion costs
}

// forecast is what was said of the wire account's funds at a moment.
type forecast struct {
	at    time.Time
	days  float64 // until the service stops the campaigns
	wired float64 // by then
	toDo  string
}

// event is something that happens at a moment.
type event struct {
	at time.Time
	do func()
}

func newFifty(t *testing.T) *fifty {
	w := newWorld(t, func(c *adsim.Config) {
		c.Seed, c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 3, 80, 4, 50, 900
		c.Accounts = []adsim.Config{{Seed: 4, Campaigns: 12, CreativesPerCampaign: 2, Sources: 30, RowsPerDay: 40,
			Prepaid: 3_000_000_000}}
	})
	w.limits.threads = 1
	f := &fifty{world: w, card: w.service, wire: w.service.Account(1),
		payouts: filepath.Join(t.TempDir(), "payouts.csv"),
		wired:   3000, roles: map[string][]string{}, blocked: map[string]string{}, ended: map[string]adsim.Settings{}}
	w.service.SetNow((lastOfFifty - 29).Start())
	f.hands = newHands(w)
	f.castRoles()
	return f
}

// castRoles chooses who does what, by how an account without any deed would do.
func (f *fifty) castRoles() {
	cfg := f.cfg
	cfg.Accounts = nil
	alone := adsim.New(cfg)
	alone.SetNow(lastOfFifty.End().Add(60 * 24 * time.Hour))
	days, sums := map[string]map[string]bool{}, map[string]*sums{}
	for _, l := range linesOf(f.t, alone, lastOfFifty-29, lastOfFifty) {
		if sums[l.CampaignID] == nil {
			sums[l.CampaignID], days[l.CampaignID] = newSums(), map[string]bool{}
		}
		sums[l.CampaignID].add(l)
		days[l.CampaignID][l.Date] = days[l.CampaignID][l.Date] || l.Clicks > 0
	}
	var steady []string
	for id, on := range days {
		n := 0
		for _, is := range on {
			if is {
				n++
			}
		}
		s, err := f.card.Settings(id)
		if err == nil && n == 30 && s.SourceMode == "block_list" && sums[id].conversions > 200 {
			steady = append(steady, id)
		}
	}
	slices.SortFunc(steady, func(x, y string) int {
		return cmp.Or(cmp.Compare(sums[y].conversions, sums[x].conversions), cmp.Compare(x, y))
	})
	for i, role := range []string{"broken", "collapsed", "dear", "cheap", "dear", "resumed", "gap", "leak", "blocks"} {
		f.roles[role] = append(f.roles[role], steady[i])
	}
	f.roles["quiet"] = steady[9:]
	f.t.Logf("%d steady campaigns: %v", len(steady), f.roles)
	targets := []float64{0.7, 1.5, 0, 0.9, 1.15}
	for i, id := range steady {
		if factor := targets[i%len(targets)]; factor > 0 {
			target := fmt.Sprintf("%.2f", factor*sums[id].cpa())
			f.change(adsim.Change{Campaign: id, Force: true, Set: map[string]any{"target_cpa": target}})
		}
	}
	for _, id := range f.roles["quiet"][:3] {
		s, err := f.card.Settings(id)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, c := range s.Creatives {
			if c.Status == "active" {
				f.tired = append(f.tired, c.CreativeID)
				break
			}
		}
	}
}

// live lets the fifty days happen, which are judged when they are over, and once before.
func (f *fifty) live(j *judge) {
	var events []event
	on := func(at time.Time, do func()) { events = append(events, event{at, do}) }
	at := func(d schema.Date, hour int) time.Time { return d.Start().Add(time.Duration(hour) * time.Hour) }
	for d := firstOfFifty; d <= lastOfFifty; d++ {
		on(d.End().Add(-time.Second), func() { f.noteSettings(d) })
	}
	// Nobody looks from the 20th to the 22nd; before and after now and then, and then daily.
	for _, i := range []int{0, 2, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18} {
		on(firstLooked.Add(time.Duration(i)*24*time.Hour), f.syncCard)
	}
	for _, i := range []int{0, 8, 12, 16, 18} {
		on(firstLooked.Add(time.Duration(i)*24*time.Hour+time.Minute), f.syncWire)
	}
	on(clocksChange.Start().Add(140*time.Minute), f.syncCard) // 1:20 for the second time
	f.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Day: lostDay.String()})
	f.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Day: missingDay.String()})
	f.plan(on, at)
	on(firstLooked.Add(13*24*time.Hour+2*time.Minute), func() { j.judge("2026-10-30") })
	on(firstLooked.Add(18*24*time.Hour+2*time.Minute), func() { j.judge("2026-11-04") })
	slices.SortStableFunc(events, func(x, y event) int { return x.at.Compare(y.at) })
	for _, e := range events {
		f.service.SetNow(e.at)
		e.do()
	}
}

// plan is what is done, and what happens, besides syncs.
func (f *fifty) plan(on func(time.Time, func()), at func(schema.Date, int) time.Time) {
	status := func(d schema.Date, hour int, role, status string) {
		on(at(d, hour), func() {
			f.deed(f.roles[role][0], false)
			f.hands.must("set_campaign_status", args{"campaign_id": f.roles[role][0], "status": status})
		})
	}
	status(date("2026-10-19"), 11, "gap", "paused") // an hour before the last look for four days
	status(date("2026-10-20"), 10, "gap", "active")
	status(date("2026-10-23"), 15, "resumed", "paused")
	status(date("2026-10-28"), 7, "resumed", "active")
	on(at(date("2026-10-25"), 15), func() { // the service goes on showing it
		f.deed(f.roles["leak"][0], false)
		f.change(adsim.Change{Campaign: f.roles["leak"][0], Set: map[string]any{"status": "paused"}})
	})
	on(at(deedsDay, 9), func() {
		for _, id := range f.roles["dear"] {
			f.moveBid(id, 2)
		}
		f.moveBid(f.roles["cheap"][0], 0.5)
	})
	on(at(deedsDay, 10), func() {
		for _, id := range f.roles["quiet"] {
			f.deed(id, true)
			f.change(adsim.Change{Campaign: id, Force: true, Set: map[string]any{"daily_spend_limit": "90000"}})
		}
	})
	on(at(date("2026-10-20"), 10), func() {
		id, bad := f.roles["blocks"][0], f.card.BadSources()[0]
		f.blocked[id] = bad
		f.hands.must("block_sources", args{"campaign_id": id, "source_ids": []string{bad}})
	})
	f.plant(adsim.Effect{CampaignID: f.roles["broken"][0], From: breakDay.String(), Conversions: -100})
	f.plant(adsim.Effect{CampaignID: f.roles["collapsed"][0], From: (lastOfFifty - 1).String(), Clicks: -70})
	for _, id := range f.tired {
		f.plant(adsim.Effect{CreativeID: id, From: tireDay.String(), Clicks: -50})
	}
	on(at(date("2026-10-30"), 9), func() {
		f.wired += 1500
		if err := f.wire.AddFunds(1_500_000_000); err != nil {
			f.t.Fatal(err)
		}
	})
	lines := "from,to,campaign,creative,source,payout\n2026-01-01,2026-10-15,,,,8.00\n2026-10-16,,,,,9.50\n" +
		"2026-10-10,," + f.roles["quiet"][0] + ",,,21.25\n"
	if err := os.WriteFile(f.payouts, []byte(lines), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// pays is what a conversion pays by that file.
func (f *fifty) pays(l line) float64 {
	switch {
	case l.CampaignID == f.roles["quiet"][0] && l.Date >= "2026-10-10":
		return 21.25
	case l.Date >= "2026-10-16":
		return 9.5
	}
	return 8
}

func (f *fifty) plant(e adsim.Effect) {
	f.t.Helper()
	if err := f.card.Plant(e); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fifty) deed(campaign string, isNull bool) {
	f.deeds = append(f.deeds, deed{campaign, f.service.Now(), isNull})
}

// moveBid changes a campaign's bid through the API, so that its spend follows.
func (f *fifty) moveBid(id string, factor float64) {
	f.t.Helper()
	f.deed(id, false)
	s, err := f.card.Settings(id)
	if err != nil {
		f.t.Fatal(err)
	}
	bid := number(f.t, s.DefaultBid) * factor
	f.hands.must("update_campaign", args{"campaign_id": id, "default_bid": max(0.1, float64(int(bid*100))/100)})
}

// syncCard syncs the account that pays by card.
func (f *fifty) syncCard() { f.sync("card", "") }

// syncWire syncs the account that pays by wire, and notes what is said of its funds.
func (f *fifty) syncWire() {
	f.sync("wire", "2")
	r := f.table("SELECT days_until_stop, coalesce(action, 'nothing') FROM mart.budget_runway WHERE " +
		"account_id = 'wire'")[0]
	f.forecast = append(f.forecast, forecast{f.service.Now(), number(f.t, r[0]), f.wired, r[1]})
}

// sync runs the job as the command does, but for the limit of requests a minute, which is
// of this machine's clock. A day that is not answered is reported.
func (f *fifty) sync(account, suffix string) {
	f.t.Helper()
	f.env["ACCOUNT"], f.env["PAYOUTS"] = account, f.payouts
	if account != "card" {
		delete(f.env, "PAYOUTS")
	}
	a := newApp(f.environ(), io.Discard, io.Discard)
	a.now = f.now
	if err := a.setUp(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	j, err := (&runner{&a.call}).newJob()
	if err != nil {
		f.t.Fatal(err)
	}
	client := func(prefix string, authorize func(*http.Request)) *extract.Client {
		c, err := extract.NewClient(extract.Options{BaseURL: "https://sim.test" + prefix, Authorize: authorize,
			Timeout: time.Minute, RetryBudget: time.Millisecond, Transport: f.service.Transport(), Log: a.log})
		if err != nil {
			f.t.Fatal(err)
		}
		return c
	}
	j.Report = client(adsim.ReportPrefix, func(r *http.Request) {
		r.SetBasicAuth(strings.Replace(adsim.DefaultUser, "@", suffix+"@", 1), adsim.DefaultPassword)
	})
	j.API = client(adsim.APIPrefix, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey+suffix)
	})
	defer j.Report.Close()
	defer j.API.Close()
	j.RequestsPerMinute = 1_000_000
	result, err := j.Sync(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	if code := result.Run.ExitCode; code != exit.OK && code != exit.Partial && code != exit.DayAtRisk {
		f.t.Fatalf("%s: exit %d: %s", f.service.Now(), code, result.Run.Message.V)
	}
}

// noteSettings is the diary's page of a day.
func (f *fifty) noteSettings(d schema.Date) {
	f.t.Helper()
	for _, id := range f.card.CampaignIDs() {
		s, err := f.card.Settings(id)
		if err != nil {
			f.t.Fatal(err)
		}
		f.ended[d.String()+" "+id] = s
	}
}

// proven are the days of the card account that a sync has proven by now, but for those
// that are not over.
func (f *fifty) proven() (days []schema.Date) {
	for d := firstOfFifty; d < date(f.card.Today()); d++ {
		if d != lostDay && d != missingDay {
			days = append(days, d)
		}
	}
	return days
}

// table asks the store.
func (f *fifty) table(q string) (rows [][]string) {
	f.t.Helper()
	for _, line := range f.lines(q) {
		rows = append(rows, strings.Split(line, "|"))
	}
	return rows
}

// line is a row of the report with what is true of it: the conversions that its clicks
// lead to on average, and the clicks that its impressions do.
type line struct {
	adsim.Line
	expected, expectedClicks float64
}

// linesOf are the rows of some days as the service has them now.
func linesOf(t *testing.T, s *adsim.Service, from, to schema.Date) (all []line) {
	t.Helper()
	for d := from; d <= to; d++ {
		type pair struct{ creative, source string }
		rates := map[pair][2]float64{}
		for l := range s.Truth(d.String()) {
			if l.SourceID == "" {
				continue
			}
			key := pair{l.CreativeID, l.SourceID}
			if _, ok := rates[key]; !ok {
				click, convert, err := s.Rates(l.Date, l.CreativeID, l.SourceID)
				if err != nil {
					t.Fatal(err)
				}
				rates[key] = [2]float64{click, convert}
			}
			all = append(all, line{l, rates[key][1] * float64(l.Clicks), rates[key][0] * float64(l.Impressions)})
		}
	}
	return all
}

// sums are what lines add up to.
type sums struct{ spend, clicks, impressions, conversions, expected, expectedClicks float64 }

func newSums() *sums { return &sums{} }

func (s *sums) add(l line) {
	s.spend += float64(l.Spend) / 1e6
	s.clicks += float64(l.Clicks)
	s.impressions += float64(l.Impressions)
	s.conversions += float64(l.Conversions)
	s.expected += l.expected
	s.expectedClicks += l.expectedClicks
}

// cpa is the true one: what a conversion costs on average.
func (s *sums) cpa() float64 { return s.spend / s.expected }

// sumBy adds lines up.
func sumBy(lines []line, key func(line) string) map[string]*sums {
	out := map[string]*sums{}
	for _, l := range lines {
		k := key(l)
		if out[k] == nil {
			out[k] = newSums()
		}
		out[k].add(l)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
