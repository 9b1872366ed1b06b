package shop

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

// days is how many days the story lasts, from the first sync to the last.
const days = 21

// Shop is the simulated account.
type Shop struct {
	service *adsim.Service
	now     time.Time // the end of the story
	roles   []campaign
	named   map[string]bool // campaigns and creatives, by ID
	tiring  string          // the only creative of the winner that tires
	resting int             // number of campaigns outside roles that have got a name so far
	begun   bool            // whether the story has begun; campaigns that appear later are launches of the shop
	daily   int64           // average spend of a day before the story, in millionths of a dollar
}

// campaign is a campaign that delivers in the week before the story, with its spend and conversions of that week. The
// spend per conversion is what a conversion naturally costs.
type campaign struct {
	id          string
	spend       int64
	conversions int64
	payout      float64
}

// New returns the simulated account on the first day of the demo. The demo ends at the given instant.
func New(rowsPerDay int, now time.Time) (*Shop, error) {
	s := &Shop{now: now, named: map[string]bool{}}
	start := s.morning(schema.DateOf(now) - days)
	open := func(rows int, prepaid int64) *adsim.Service {
		service := adsim.New(adsim.Config{
			Seed: 11, Campaigns: 24, CreativesPerCampaign: 4, RowsPerDay: rows, Sources: 160, RateLimit: -1,
			AdvertiserName: "Harbor & Pine Outfitters", Prepaid: prepaid,
		})
		service.SetNow(start)
		return service
	}
	if err := s.measure(open(1500, 0), schema.DateOf(start)); err != nil {
		return nil, err
	}
	s.daily = max(100_000_000, s.daily*int64(rowsPerDay)/1500)
	s.service = open(rowsPerDay, s.daily*days)
	return s, s.prepare()
}

// morning returns when the daily sync of a day runs: at 6:10, or at the time of day at which the story ends, if that is
// earlier. In the second case, the last sync of the story reads yesterday only a few hours after midnight. The other
// daily syncs must do the same: days can be compared only if all were read at the same age.
func (s *Shop) morning(d schema.Date) time.Time {
	return d.Start().Add(min(6*time.Hour+10*time.Minute, s.now.Sub(schema.DateOf(s.now).Start())))
}

// Handler returns the simulated service.
func (s *Shop) Handler() http.Handler { return s.service }

// measure finds the campaigns with spend in the week before the story, and sorts them by spend, the highest first.
func (s *Shop) measure(service *adsim.Service, start schema.Date) error {
	sums, impressions := map[string]*campaign{}, map[string]int64{}
	for day := start - 7; day < start; day++ {
		for l := range service.Truth(day.String()) {
			c := sums[l.CampaignID]
			if c == nil {
				c = &campaign{id: l.CampaignID}
				sums[l.CampaignID] = c
			}
			c.spend, c.conversions = c.spend+l.Spend, c.conversions+l.Conversions
			impressions[l.CreativeID] += l.Impressions
			s.daily += l.Spend
		}
	}
	s.daily /= 7
	for _, c := range sums {
		if c.spend > 0 {
			s.roles = append(s.roles, *c)
		}
	}
	slices.SortFunc(s.roles, func(a, b campaign) int {
		return cmp.Or(cmp.Compare(b.spend, a.spend), cmp.Compare(a.id, b.id))
	})
	if len(s.roles) < int(roleCount) {
		return fmt.Errorf("shop: %d campaigns are delivered, the story needs %d", len(s.roles), roleCount)
	}
	s.roles = s.roles[:min(len(s.roles), len(names))]
	return s.chooseTiring(service, impressions)
}

// chooseTiring chooses the only creative of the winner that tires: of the creatives that are active at the end of the
// story, the one with the most impressions.
func (s *Shop) chooseTiring(service *adsim.Service, impressions map[string]int64) error {
	service.SetNow(s.now)
	settings, err := service.Settings(s.roles[winner].id)
	if err != nil {
		return err
	}
	most := int64(-1)
	for _, cr := range settings.Creatives {
		n := impressions[cr.CreativeID]
		if cr.Status != "active" {
			n = 0
		}
		if n > most {
			most, s.tiring = n, cr.CreativeID
		}
	}
	return nil
}

// The roles in the story. A role is an index in Shop.roles.
const (
	steady = iota
	winner
	loser
	broken
	tired
	limited
	roleCount
)

// names has the names for the campaigns in Shop.roles, in the same order. The placeholder %s is for the country.
var names = []string{
	"Rain jackets | %s mobile", "Wool socks | %s repeat buyers", "Tents | %s lookalike", "Hiking boots | %s desktop",
	"Backpacks | %s evergreen", "Gift cards | %s weekend", "Headlamps | %s mobile", "Fleece | %s new subscribers",
	"Water bottles | %s", "Trail shoes | %s retargeting", "Sleeping bags | %s desktop", "Maps app | %s trial",
}

// resting has names for the other campaigns, which are not active when the story begins.
var resting = []string{"Spring sale", "Father's day", "Clearance | tents", "Summer camp", "Kayaks | test",
	"Black Friday 2025", "Ski goggles", "Thermal wear", "Camp kitchen", "Climbing | test", "Bike bags", "Dog harness"}

// launched has names for campaigns that start during the story.
var launched = []string{"Black Friday | early access", "Gift sets | test", "Winter boots | launch", "Snowshoes | test"}

var (
	titles = []string{"Stay dry this fall", "New: wool that lasts", "Your size is back", "48 hours: 20% off",
		"Ready for the first snow?", "Made for wet trails"}
	messages = []string{"Free returns for 60 days.", "Tested on the Pacific Crest Trail.", "Ships today from Portland.",
		"Lighter than your phone.", "Rated 4.8 by 2,100 hikers.", "Two for the price of one and a half."}
)

// prepare gives the campaigns and creatives their names and amounts, and sets up the events that change clicks or
// conversions.
func (s *Shop) prepare() error {
	var changes []adsim.Change
	set := func(id string, fields map[string]any) {
		changes = append(changes, adsim.Change{Campaign: id, Set: fields})
	}
	for i := range s.roles {
		c := &s.roles[i]
		target := max(1, dollars(c.spend)/max(1, float64(c.conversions))*targetFactor(i))
		c.payout = target * 1.15
		settings, err := s.service.Settings(c.id)
		if err != nil {
			return err
		}
		set(c.id, map[string]any{"name": fmt.Sprintf(names[i], cmp.Or(settings.Audience.Country, "worldwide")),
			"target_cpa": money(target), "status": "active",
			"daily_spend_limit": money(max(100, dollars(c.spend)/7*3))})
	}
	if err := s.change(changes); err != nil {
		return err
	}
	if err := s.nameOthers(); err != nil {
		return err
	}
	s.resting, s.begun = 0, true
	return s.plant()
}

// nameOthers names all campaigns and creatives that have no name from this package yet. It is called at each sync,
// because the simulated service adds some during the story. At the beginning, it also pauses the campaigns that are not
// in Shop.roles.
func (s *Shop) nameOthers() error {
	var changes []adsim.Change
	for _, id := range s.service.CampaignIDs() {
		settings, err := s.service.Settings(id)
		if err != nil {
			return err
		}
		hasRole := slices.ContainsFunc(s.roles, func(c campaign) bool { return c.id == id })
		if !hasRole && !s.named[id] {
			names := resting
			if s.begun {
				names = launched
			}
			name := names[s.resting%len(names)]
			if s.resting >= len(names) {
				name += fmt.Sprintf(" %d", s.resting/len(names)+1)
			}
			s.resting++
			fields := map[string]any{"name": name}
			if settings.Status == "active" && !s.begun {
				fields["status"] = "paused"
			}
			changes = append(changes, adsim.Change{Campaign: id, Set: fields})
		}
		s.named[id] = true
		for i, cr := range settings.Creatives {
			if s.named[cr.CreativeID] {
				continue
			}
			s.named[cr.CreativeID] = true
			fields := map[string]any{
				"title": titles[len(s.named)%len(titles)], "message": messages[len(s.named)/2%len(messages)],
				"link": "https://harborandpine.example/" + strings.ToLower(id) + "?src=<<source_id>>",
			}
			if cr.IconID == "" { // a creative with a title must be complete, and this draft has no icon
				fields["icon_id"] = fmt.Sprintf("%024x", i+1)
			}
			changes = append(changes, adsim.Change{Creative: cr.CreativeID, Set: fields})
		}
	}
	return s.change(changes)
}

// targetFactor returns a campaign's target CPA, as a multiple of what a conversion naturally costs in that campaign.
func targetFactor(role int) float64 {
	switch role {
	case winner:
		return 2.2
	case loser:
		return 0.35
	case broken, tired, limited:
		return 1.4
	}
	return []float64{1.1, 1.3, 0.95, 1.2}[role%4]
}

// When the events happen, in days before the end of the story.
const (
	tiredSince  = 9
	brokenSince = 12
	repaired    = 9
	lastWire    = 8
	bidRaised   = 14
	bidLowered  = 6
)

// plant changes the numbers of three campaigns: in the first, all creatives tire; in the second, the pixel is broken
// for some days; the third is the winner, which gets more conversions, while one of its creatives tires.
func (s *Shop) plant() error {
	today := schema.DateOf(s.now)
	for _, e := range []adsim.Effect{
		{CampaignID: s.roles[broken].id, From: (today - brokenSince).String(), To: (today - repaired).String(),
			Conversions: -100},
		{CampaignID: s.roles[tired].id, From: (today - tiredSince).String(), Clicks: -55},
		{CampaignID: s.roles[winner].id, From: (today - days).String(), Conversions: 30},
		{CampaignID: s.roles[winner].id, CreativeID: s.tiring, From: (today - tiredSince).String(), Clicks: -45},
	} {
		if err := s.service.Plant(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shop) change(changes []adsim.Change) error {
	for _, c := range changes {
		if err := s.service.Change(c); err != nil {
			return err
		}
	}
	return nil
}

// Times returns when the account is synced: each morning, and hourly in the last five hours.
func (s *Shop) Times() (times []time.Time) {
	today := schema.DateOf(s.now)
	for day := today - days; day < today; day++ {
		times = append(times, s.morning(day))
	}
	for t := s.now.Add(-5 * time.Hour); t.Before(s.now); t = t.Add(time.Hour) {
		times = append(times, t)
	}
	return append(times, s.now)
}

// MoveTo sets the clock of the simulated service, and makes the changes of the story that are due at that time.
func (s *Shop) MoveTo(t time.Time) error {
	s.service.SetNow(schema.DateOf(t).Start())
	if err := s.nameOthers(); err != nil {
		return err
	}
	s.service.SetNow(t)
	if t.Equal(s.now) || !t.Equal(s.morning(schema.DateOf(t))) {
		return nil
	}
	switch schema.DateOf(s.now) - schema.DateOf(t) {
	case bidRaised:
		return s.scale(steady, 1.15)
	case bidLowered:
		return s.scale(loser, 0.8)
	case lastWire:
		if err := s.wire(); err != nil {
			return err
		}
		// The campaign then reaches its limit by noon.
		return s.set(limited, "daily_spend_limit", max(100, dollars(s.roles[limited].spend)/7*0.6))
	}
	return nil
}

// scale multiplies a campaign's default bid by a factor.
func (s *Shop) scale(role int, by float64) error {
	settings, err := s.service.Settings(s.roles[role].id)
	if err != nil {
		return err
	}
	bid, err := strconv.ParseFloat(settings.DefaultBid, 64)
	if err != nil {
		return err
	}
	return s.set(role, "default_bid", max(0.1, bid*by))
}

// set changes an amount in dollars, such as the default bid, in a campaign's settings.
func (s *Shop) set(role int, field string, dollars float64) error {
	return s.service.Change(adsim.Change{Campaign: s.roles[role].id, Set: map[string]any{field: money(dollars)}})
}

// wire makes the last deposit of the story. The amount is such that, at the end of the story, the balance lasts about
// three more days.
func (s *Shop) wire() error {
	spent, last := int64(0), schema.DateOf(s.service.Now())
	for day := schema.DateOf(s.now) - days; day < last; day++ {
		sum, err := s.service.TruthSum(day.String())
		if err != nil {
			return err
		}
		spent += sum.Spend
	}
	perDay := spent / (days - lastWire)
	missing := spent + perDay*(lastWire+3) - s.daily*days
	if missing <= 0 {
		return nil
	}
	return s.service.AddFunds(missing)
}

// Payouts returns the text of a CSV file with the payouts for conversions: a default, and one for each campaign in
// Shop.roles.
func (s *Shop) Payouts() string {
	var b strings.Builder
	b.WriteString("from,to,campaign,creative,source,payout\n")
	since := schema.DateOf(s.now) - 60
	fmt.Fprintf(&b, "%s,,,,,25.00\n", since) // the default payout
	for _, c := range s.roles {
		fmt.Fprintf(&b, "%s,,%s,,,%s\n", since, c.id, money(c.payout))
	}
	return b.String()
}

func dollars(millionths int64) float64 { return float64(millionths) / 1e6 }

func money(d float64) string { return fmt.Sprintf("%.2f", d) }
