package adsim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// campaign is one campaign for its whole life. Days are Chicago days, and begin
// what they name: a campaign is over from the first instant of that day.
type campaign struct {
	id, name         string
	idJSON, nameJSON []byte
	key              uint64
	createdAt        time.Time
	created          day  // first day it exists on
	starts           day  // first day it may deliver on
	over             day  // from here on it is paused
	ends             bool // over is its end_date
	archived         day
	rejected         bool
	weight           uint64
	baseBid          int64 // millionths
	minBid           int64
	targetCPA        int64  // 0: none
	clickRate        uint64 // clicks an impression, in 65536ths
	convertRate      uint64 // conversions a click, in 65536ths
	audience         audience
	allowed          universe // of an allow-list campaign
	allowList        bool
	overrides        uint64      // one source in so many has a bid of its own; 0: none
	creatives        []*creative // by ID
	newest           []*creative // the same, as the API lists them
}

// audience is who a campaign is shown to; zero values are not set.
type audience struct {
	country            string
	states, platforms  []string
	moreThan, lessThan int
	minAge, maxAge     int
	gender             string
	unsupported        bool
}

func (a *account) buildCampaign(s *slot, life int) *campaign {
	key := chance(s.key, aboutLife, uint64(int64(life)))
	h := mix(key)
	born := s.birth(life)
	number := int64(born-civil(1990, time.January, 1))*a.idScale + int64(s.index)
	switch {
	case a.index > 0:
		number += 2_500_000_000 + int64(a.index)*50_000_000 // no ID is in two accounts
	case s.key%4 == 0 && number < 1e9:
		number += 1e9
	}
	c := &campaign{
		id:          "C" + strconv.FormatInt(number, 10),
		name:        campaignName(s.index, key),
		key:         key,
		created:     born,
		starts:      born + day(below(mix(key+1), 4)),
		archived:    born + day(s.period*between(mix(key+2), 82, 97)/100),
		weight:      4 + 240/(1+below(mix(key+3), 40)),
		clickRate:   200 + below(mix(key+4), 1500),
		convertRate: 650 + below(mix(key+5), 4600),
	}
	c.createdAt = born.start(a.zone).Add(-time.Duration(below(mix(key+6), 11*3600)) * time.Second)
	c.over = born + day(s.period*between(mix(key+7), 55, 80)/100)
	c.ends = h%3 == 0
	c.rejected = s.period < 450 && h>>8%12 == 0
	c.audience = buildAudience(chance(key, aboutSettings))
	c.minBid = c.audience.minBid()
	c.baseBid = max(c.minBid, int64(between(mix(key+8), 10, 110))*10_000)
	if h>>16%5 < 2 {
		c.targetCPA = int64(between(mix(key+9), 5, 80)) * 1_000_000
	}
	if h>>24%5 == 0 {
		c.allowList = true
		share := uint64(max(5, min(400, len(a.sources.live.src)/20)))
		of := uint64(max(1, len(a.sources.live.src)))
		c.allowed = a.sources.live.subset(func(src int32) bool {
			return below(chance(key, aboutAllowed, uint64(src)), of) < share
		})
		if len(c.allowed.src) == 0 {
			c.allowed = a.sources.live
		}
	}
	if key%3 > 0 {
		c.overrides = uint64(max(64, len(a.sources.ids)/40))
	}
	c.idJSON = appendString(nil, c.id, a.ascii)
	c.nameJSON = appendString(nil, c.name, a.ascii)
	n := between(chance(key, aboutCreative), (a.perCampaign+1)/2, a.perCampaign+a.perCampaign/2)
	for i := range max(1, n) {
		c.creatives = append(c.creatives, a.buildCreative(c, i, s.period))
	}
	slices.SortFunc(c.creatives, func(x, y *creative) int { return cmp.Compare(x.id, y.id) })
	c.creatives = slices.CompactFunc(c.creatives, func(x, y *creative) bool { return x.id == y.id })
	c.newest = slices.Clone(c.creatives)
	slices.SortFunc(c.newest, newestCreativeFirst)
	return c
}

func buildAudience(h uint64) audience {
	countries := []string{"US", "US", "US", "US", "CA", "DE", "AU", "GB", "SG", "AE", "FR", "IT", "JP", "IL", "IE",
		"HK", "NL", ""}
	au := audience{country: countries[below(h, uint64(len(countries)))]}
	h = mix(h)
	if au.country == "US" && h%3 == 0 {
		states := []string{"AZ", "CA", "CO", "FL", "GA", "IL", "MI", "NC", "NJ", "NY", "OH", "PA", "TX", "VA", "WA"}
		for i, st := range states {
			if h>>(8+i)&1 == 1 {
				au.states = append(au.states, st)
			}
		}
	}
	h = mix(h)
	for i, p := range []string{"DESKTOP", "MOBILE", "TABLET", "OTHER"} {
		if h>>i&1 == 1 {
			au.platforms = append(au.platforms, p)
		}
	}
	switch h >> 8 % 8 {
	case 0:
		au.lessThan = 10080
	case 1:
		au.moreThan = 43200
	case 2:
		au.minAge, au.maxAge = 25, 64
	case 3:
		au.gender = "F"
	}
	au.unsupported = h>>16%9 == 0
	return au
}

// minBid is the lowest bid that the audience allows.
func (a *audience) minBid() int64 {
	if a.minAge > 0 || a.maxAge > 0 || a.gender != "" || a.lessThan > 0 && a.lessThan <= 10080 {
		return 300_000
	}
	return lowestBid
}

// bid is the default bid on a day; it changes with the month.
func (c *campaign) bid(d day) int64 {
	steps := [...]int64{100, 100, 90, 110, 125}
	step := steps[below(chance(c.key, aboutBid, uint64(d/30)), uint64(len(steps)))]
	return max(c.minBid, c.baseBid*step/100/10_000*10_000)
}

// pausedOn says whether somebody paused the campaign for some days.
func (c *campaign) pausedOn(d day) bool {
	return below(chance(c.key, aboutPause, uint64(d/9)), 15) == 0
}

func (c *campaign) status(d day) string {
	switch {
	case d >= c.archived:
		return "archived"
	case c.rejected && d > c.created:
		return "rejected"
	case d >= c.over || c.pausedOn(d):
		return "paused"
	}
	return "active"
}

// deliversOn says whether the campaign may be shown on a day.
func (c *campaign) deliversOn(d day) bool {
	return d >= c.starts && d < c.over && c.status(d) == "active"
}

// overrideBid is the bid of a source that has one of its own, by the hash of
// campaign and source: between half and two and a half times the default.
func (c *campaign) overrideBid(bid int64, h uint64) int64 {
	return max(c.minBid, bid*int64(50+10*(h>>24%21))/100/10_000*10_000)
}

// universe is the sources the campaign buys from.
func (c *campaign) universe(t *sourceTable) *universe {
	if c.allowList {
		return &c.allowed
	}
	return &t.live
}

// sourceHash decides what is particular to the campaign on a source.
func (c *campaign) sourceHash(src int32) uint64 { return mix(c.key ^ uint64(src)) }

// overridden lists the sources with a bid of their own.
func (c *campaign) overridden(t *sourceTable) []int32 {
	var list []int32
	for _, src := range c.universe(t).src {
		if c.overrides > 0 && c.sourceHash(src)%c.overrides == 1 {
			list = append(list, src)
		}
	}
	return list
}

// blocked lists the sources that were blocked until a day. They are among those
// that deliver nothing any more, so no report row contradicts them.
func (c *campaign) blocked(t *sourceTable, d day) []int32 {
	var list []int32
	for _, src := range t.retired {
		h := chance(c.key, aboutBlocked, uint64(src))
		if h%3 > 0 && d >= c.created+day(h>>8%150) {
			list = append(list, src)
		}
	}
	return list
}

func newestCreativeFirst(x, y *creative) int {
	return cmp.Or(y.createdAt.Compare(x.createdAt), cmp.Compare(y.id, x.id))
}

func (c *campaign) creative(id string) *creative {
	i := slices.IndexFunc(c.creatives, func(cr *creative) bool { return cr.id == id })
	if i < 0 {
		return nil
	}
	return c.creatives[i]
}

var campaignStatuses = []string{"active", "paused", "archived", "rejected"}

// isMade says whether the campaign was created through the API or by a change.
func (c *campaign) isMade() bool { return c.created == never }

// slow says whether changes reach a source late.
func (a *account) slow(src int32) bool {
	return chance(a.seed, aboutLag, uint64(src))%slowSources == 0
}

// sourceLag is how long a change takes to reach a slow source; one source in slowSources is slow.
const (
	sourceLag   = 10 * time.Minute
	slowSources = 6
)

// creativeOn finds a creative that the report may show for a day.
func (a *account) creativeOn(d day, id string) *creative {
	for _, c := range a.existingOn(d) {
		if cr := c.creative(id); cr != nil && cr.existsOn(d) {
			return cr
		}
	}
	return nil
}

var (
	audienceCountries = []string{"US", "CA", "DE", "AU", "GB", "SG", "AE", "FR", "IT", "JP", "IL", "IE", "HK", "NL"}
	usStates          = strings.Fields("AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO " +
		"MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY")
	audiencePlatforms = []string{"DESKTOP", "MOBILE", "TABLET", "OTHER"}
)

// What amounts may be, in millionths of a US dollar.
const (
	lowestBid  = 100_000
	highestBid = 25_000_000
)
