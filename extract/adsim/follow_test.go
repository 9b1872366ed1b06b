package adsim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/world"
)

// of keeps the lines of a campaign; without leaves them out.
func of(all []ledger.Line, id string) []ledger.Line {
	return slices.DeleteFunc(slices.Clone(all), func(l ledger.Line) bool { return l.CampaignID != id })
}

func without(all []ledger.Line, id string) []ledger.Line {
	return slices.DeleteFunc(slices.Clone(all), func(l ledger.Line) bool { return l.CampaignID == id })
}

func spend(all []ledger.Line) int64 { return total(all).Spend }

// delivering finds a campaign that delivers today, with a limit that it can't reach,
// and that goes on for some days.
func delivering(t testing.TB, s *Service) string {
	t.Helper()
	st := s.Snapshot()
	for _, id := range running(t, s) {
		c := st.Campaign(id)
		if len(of(truth(s, s.Today()), id)) > 12 && !c.AllowList && !slices.ContainsFunc([]clock.Day{0, 1, 2, 3},
			func(d clock.Day) bool { return !c.DeliversOn(st.Today + d) }) {
			change(t, s, Change{Campaign: id, Set: map[string]any{"daily_spend_limit": 1_000_000}})
			return id
		}
	}
	t.Fatal("no campaign delivers")
	return ""
}

// twins are two services of one account; the test writes to the first.
func twins(t testing.TB) (s, plain *Service, id string) {
	s, plain = sim(config.Config{RateLimit: -1, RowsPerDay: 3000}), sim(config.Config{RateLimit: -1, RowsPerDay: 3000})
	return s, plain, delivering(t, s)
}

func later(d time.Duration, all ...*Service) {
	for _, s := range all {
		s.Advance(d)
	}
}

func TestFollow_SettingsThatChangeNothingLeaveTheNumbers(t *testing.T) {
	s, plain, id := twins(t)
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"name":"Renamed"}`)
	for range 12 {
		today := s.Today()
		got, want := truth(s, today), truth(plain, today)
		for i, l := range got {
			if l.CampaignID == id {
				if l.CampaignName != "Renamed" {
					t.Fatalf("the line is still of %s", l.CampaignName)
				}
				got[i].CampaignName = want[i].CampaignName
			}
		}
		diff(t, got, want)
		later(5*time.Hour+7*time.Minute, s, plain)
	}
	diff(t, without(truth(s, yesterday), id), without(truth(plain, yesterday), id))
	if got, want := spend(truth(s, yesterday)), spend(truth(plain, yesterday)); got != want {
		t.Errorf("a day before the change: %d, was %d", got, want)
	}
}

func TestFollow_APauseStopsTheSpending(t *testing.T) {
	s, plain, id := twins(t)
	today := s.Today()
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/status", `{"status":"paused"}`)
	at := of(truth(s, today), id)
	later(time.Hour, s, plain)
	paused := of(truth(s, today), id)
	if spend(paused) < spend(at) || spend(paused) > spend(at)+spend(at)/20 {
		t.Errorf("paused: %d, an hour later %d", spend(at), spend(paused))
	}
	later(3*time.Hour, s, plain)
	if got := of(truth(s, today), id); spend(got) != spend(paused) || total(got).Clicks != total(paused).Clicks {
		t.Errorf("paused at %d, hours later %d", spend(paused), spend(got))
	}
	diff(t, without(truth(s, today), id), without(truth(plain, today), id))
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/status", `{"status":"active"}`)
	later(4*time.Hour, s, plain)
	again := spend(of(truth(s, today), id))
	if whole := spend(of(truth(plain, today), id)); again <= spend(paused) || again >= whole {
		t.Errorf("active again: %d, paused at %d, without a pause %d", again, spend(paused), whole)
	}
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/status", `{"status":"archived"}`)
	later(24*time.Hour, s, plain)
	later(24*time.Hour, s, plain)
	if got := spend(of(truth(s, s.Today()), id)); got != 0 {
		t.Errorf("archived, and spends %d", got)
	}
}

func TestFollow_BidsMovePricesAndVolume(t *testing.T) {
	s, plain, id := twins(t)
	bid := millionths(t, settingsOf(t, s, id).DefaultBid)
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"default_bid":`+string(money.Append(nil, 2*bid))+`}`)
	later(30*time.Hour, s, plain)
	day := s.Today()
	got, want := total(of(truth(s, day), id)), total(of(truth(plain, day), id))
	if got.Clicks < want.Clicks*14/10 || got.Spend < want.Spend*3 || got.Spend > want.Spend*5 {
		t.Errorf("with twice the bid: %+v, else %+v", got, want)
	}
	src := ""
	for _, l := range of(truth(s, day), id) {
		if l.SourceID != "" && l.Clicks > 3 {
			src = l.SourceID
			break
		}
	}
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/sources/bids", idsBody([]string{src}, `,"bid":`+
		string(money.Append(nil, bid/2))))
	later(48*time.Hour, s, plain)
	for _, l := range of(truth(s, s.Today()), id) {
		if l.SourceID == src && l.Clicks > 0 && l.Spend > l.Clicks*(bid/2) {
			t.Errorf("%v costs more than its bid", l)
		}
	}
}

func TestFollow_AllowListsAreAllThatIsBought(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, RowsPerDay: 3000})
	id := newCampaign(t, s)
	live := s.World.Account.Sources.Names(s.World.Account.Sources.Live.Src)
	change(t, s, Change{Campaign: id, Sources: &SourceChange{Mode: "allow_list", Allow: live[:40]}})
	approve(t, s, newCreative(t, s, id))
	s.Advance(24 * time.Hour)
	check := func(allowed []string) {
		t.Helper()
		rows := of(truth(s, s.Today()), id)
		if total(rows).Clicks == 0 {
			t.Error("nothing is bought")
		}
		for _, l := range rows {
			if l.SourceID != "" && !slices.Contains(allowed, l.SourceID) {
				t.Errorf("%s is bought", l.SourceID)
			}
		}
	}
	check(live[:40])
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/sources/allow", idsBody(live[40:60], ""))
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/sources/disallow", idsBody(live[:30], ""))
	s.Advance(4 * time.Hour)
	check(live[:60])
	s.Advance(24 * time.Hour)
	check(live[30:60])
}

func TestFollow_CreatedCampaignsDeliver(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, RowsPerDay: 3000, ReviewTakes: 2 * time.Hour})
	quiet := truth(s, s.Today())
	id := newCampaign(t, s)
	cr := newCreative(t, s, id)
	s.Advance(time.Hour)
	if got := of(truth(s, s.Today()), id); spend(got) != 0 || len(got) != 1 || got[0].CreativeID != cr {
		t.Errorf("in review it has %v", got)
	}
	s.Advance(3 * time.Hour)
	rows := of(truth(s, s.Today()), id)
	if spend(rows) == 0 || settingsOf(t, s, id).DeliveryStatus != "active" {
		t.Fatalf("approved it has %v and is %s", rows, settingsOf(t, s, id).DeliveryStatus)
	}
	diff(t, of(lines(t, allPages(t, s, finest(s.Today()))), id), rows)
	page := reportOf(t, s, oneDay(s.Today())+"&include_creatives=true&campaign_id="+id+
		"&columns=campaign_name,creative_title,creative_icon_url,creative_status,total_spend")
	if len(page.Data) != 1 || text(t, page.Data[0]["campaign_name"]) != "Fresh" ||
		text(t, page.Data[0]["creative_title"]) != "T" || text(t, page.Data[0]["creative_status"]) != "active" ||
		millionths(t, string(page.Data[0]["total_spend"])) != spend(rows) {
		t.Errorf("the report says %v, want %d", page.Data, spend(rows))
	}
	// A new version shows once it is approved.
	mustTell(t, s, "PATCH", "/v1/creatives/"+cr, `{"title":"Second"}`)
	s.Advance(2 * time.Hour)
	page = reportOf(t, s, oneDay(s.Today())+"&include_creatives=true&creative_id="+cr+"&columns=creative_title")
	if text(t, page.Data[0]["creative_title"]) != "Second" {
		t.Errorf("got %s", page.Data[0]["creative_title"])
	}
	mustTell(t, s, "POST", "/v1/creatives/"+cr+"/status", `{"status":"paused"}`)
	s.Advance(24 * time.Hour)
	s.Advance(24 * time.Hour)
	if got := of(truth(s, s.Today()), id); spend(got) != 0 || len(got) != 1 || got[0].SourceID != "" {
		t.Errorf("with its creative paused: %v", got)
	}
	if len(of(quiet, id)) > 0 || len(of(truth(s, yesterday), id)) > 0 {
		t.Error("it is there before it was created")
	}
}

func TestFollow_LimitsEndTheDay(t *testing.T) {
	s, plain, id := twins(t)
	later(24*time.Hour, s, plain)
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"daily_spend_limit":100,"default_bid":`+
		string(money.Append(nil, 2*millionths(t, settingsOf(t, s, id).DefaultBid)))+`}`)
	later(24*time.Hour, s, plain)
	later(24*time.Hour, s, plain)
	day := s.Today()
	whole := spend(of(truth(plain, day), id))
	if whole < 60_000_000 {
		t.Fatalf("the campaign spends only %d", whole)
	}
	got := spend(of(truth(s, day), id))
	if got > 105_000_000 || got < 95_000_000 {
		t.Errorf("spent %d of a limit of 100", got)
	}
	if st := settingsOf(t, s, id).DeliveryStatus; st != "daily_limit_reached" {
		t.Errorf("it is %s", st)
	}
	later(3*time.Hour, s)
	if later := spend(of(truth(s, day), id)); later > got+2_000_000 || later < got-2_000_000 {
		t.Errorf("after the limit it went from %d to %d", got, later)
	}
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"daily_spend_limit":200}`)
	later(4*time.Hour, s)
	if more := spend(of(truth(s, day), id)); more < got+50_000_000 || more > 202_000_000 {
		t.Errorf("with a higher limit it has %d", more)
	}
	later(5*time.Hour, s) // past midnight in Chicago
	if st := settingsOf(t, s, id).DeliveryStatus; s.Today() == day || st != "active" {
		t.Errorf("the next day, %s, it is %s", s.Today(), st)
	}
}

// sameWhateverIsAsked lives twice, and asks much between in one of the lives: the
// rows of the last days, and what is left, are the same.
func sameWhateverIsAsked(t *testing.T, days int, live func(nosy bool) (s *Service, left any)) {
	t.Helper()
	run := func(nosy bool) (out []ledger.Line, left any) {
		s, left := live(nosy)
		for d := range days {
			out = append(out, truth(s, (s.Snapshot().Today-clock.Day(d)).String())...)
		}
		return out, left
	}
	quiet, a := run(false)
	nosy, b := run(true)
	diff(t, nosy, quiet)
	if a != b {
		t.Errorf("left %v\nand %v", a, b)
	}
}

// TestDeliveryStatus_TakesEachOfItsValues leads one campaign through all of them; the
// daily limit has a test of its own.
func TestDeliveryStatus_TakesEachOfItsValues(t *testing.T) {
	s := sim(config.Config{RateLimit: -1, RowsPerDay: 300, ReviewTakes: -1})
	id := str(mustTell(t, s, "POST", "/v1/campaigns", strings.Replace(plainCampaign, "{",
		`{"start_date":"2026-11-21T22:00:00Z",`, 1))["id"])
	path := "/v1/campaigns/" + id
	is := func(want string) {
		t.Helper()
		if got := mustTell(t, s, "GET", path, "")["delivery_status"]; got != want {
			t.Errorf("it is %v, want %s", got, want)
		}
		if got := campaignsOf(t, s, everyStatus)[0]; got["id"] != id || got["delivery_status"] != want {
			t.Errorf("the list says %v, want %s", got, want)
		}
	}
	is("scheduled")
	s.Advance(2 * time.Hour)
	is("waiting_for_creatives")
	bad := newCreative(t, s, id)
	if err := s.Review(world.Verdict{Creative: bad, Reasons: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	is("all_creatives_rejected")
	approve(t, s, newCreative(t, s, id))
	is("active")
	mustTell(t, s, "PATCH", path, `{"end_date":"2026-11-21T23:00:00Z"}`)
	s.Advance(time.Hour)
	is("paused") // its end_date is over
	mustTell(t, s, "PATCH", path, `{"end_date":null}`)
	is("active")
	mustTell(t, s, "POST", path+"/status", `{"status":"paused"}`)
	is("paused")
	change(t, s, Change{Campaign: id, Set: map[string]any{"status": "rejected"}})
	is("rejected")
	mustTell(t, s, "POST", path+"/status", `{"status":"archived"}`)
	is("archived")
}
