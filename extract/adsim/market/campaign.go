package market

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
)

// Campaign is one generated campaign. Its fields of type Day take effect at the first instant of the Chicago day.
type Campaign struct {
	ID, Name    string
	Key         uint64
	CreatedAt   time.Time
	Created     clock.Day // first day on which it exists
	Starts      clock.Day // first day on which it may deliver
	Over        clock.Day // first day on which it is paused for good
	Ends        bool      // whether the campaign has an end_date, which is the day Over
	Archived    clock.Day
	rejected    bool
	Weight      uint64 // relative traffic
	baseBid     int64  // millionths of a US dollar
	minBid      int64
	TargetCPA   int64  // 0: none
	ClickRate   uint64 // clicks per impression, in 65536ths
	ConvertRate uint64 // conversions per click, in 65536ths
	Audience    Audience
	Allowed     Universe // if AllowList is set
	AllowList   bool
	Overrides   uint64      // one of this number of sources has its own bid; 0 means none
	Creatives   []*Creative // by ID
	Newest      []*Creative // the same creatives, newest first
}

// Audience is the targeting of a campaign. Fields with their zero value are not set.
type Audience struct {
	Country              string   `json:"country,omitempty"`
	States               []string `json:"states,omitzero"`
	Platforms            []string `json:"platforms,omitzero"`
	SubscribedMoreThan   int      `json:"subscribed_more_than_minutes_ago,omitempty"`
	SubscribedLessThan   int      `json:"subscribed_less_than_minutes_ago,omitempty"`
	MinAge               int      `json:"min_age,omitempty"`
	MaxAge               int      `json:"max_age,omitempty"`
	Gender               string   `json:"gender,omitempty"`
	UnsupportedTargeting bool     `json:"unsupported_targeting,omitempty"`
}

func (a *Account) buildCampaign(s *slot, life int) *Campaign {
	key := chance.Hash(s.key, chance.AboutLife, uint64(int64(life)))
	h := chance.Mix(key)
	born := s.birth(life)
	number := int64(born-clock.Civil(1990, time.January, 1))*a.idScale + int64(s.index)
	switch {
	case a.index > 0:
		number += 2_500_000_000 + int64(a.index)*50_000_000 // this offset keeps the IDs of the accounts apart
	case s.key%4 == 0 && number < 1e9:
		number += 1e9
	}
	c := &Campaign{
		ID:          "C" + strconv.FormatInt(number, 10),
		Name:        campaignName(s.index, key),
		Key:         key,
		Created:     born,
		Starts:      born + clock.Day(chance.Below(chance.Mix(key+1), 4)),
		Archived:    born + clock.Day(s.period*chance.Between(chance.Mix(key+2), 82, 97)/100),
		Weight:      4 + 240/(1+chance.Below(chance.Mix(key+3), 40)),
		ClickRate:   200 + chance.Below(chance.Mix(key+4), 1500),
		ConvertRate: 650 + chance.Below(chance.Mix(key+5), 4600),
	}
	c.CreatedAt = born.Start(a.Zone).Add(-time.Duration(chance.Below(chance.Mix(key+6), 11*3600)) * time.Second)
	c.Over = born + clock.Day(s.period*chance.Between(chance.Mix(key+7), 55, 80)/100)
	c.Ends = h%3 == 0
	c.rejected = s.period < 450 && h>>8%12 == 0
	c.Audience = buildAudience(chance.Hash(key, chance.AboutSettings))
	c.minBid = c.Audience.MinBid()
	c.baseBid = max(c.minBid, int64(chance.Between(chance.Mix(key+8), 10, 110))*10_000)
	if h>>16%5 < 2 {
		c.TargetCPA = int64(chance.Between(chance.Mix(key+9), 5, 80)) * 1_000_000
	}
	if h>>24%5 == 0 {
		c.AllowList = true
		share := uint64(max(5, min(400, len(a.Sources.Live.Src)/20)))
		sources := uint64(max(1, len(a.Sources.Live.Src)))
		c.Allowed = a.Sources.Live.Subset(func(src int32) bool {
			return chance.Below(chance.Hash(key, chance.AboutAllowed, uint64(src)), sources) < share
		})
		if len(c.Allowed.Src) == 0 {
			c.Allowed = a.Sources.Live
		}
	}
	if key%3 > 0 {
		c.Overrides = uint64(max(64, len(a.Sources.IDs)/40))
	}
	n := chance.Between(chance.Hash(key, chance.AboutCreative), (a.perCampaign+1)/2, a.perCampaign+a.perCampaign/2)
	for i := range max(1, n) {
		c.Creatives = append(c.Creatives, a.buildCreative(c, i, s.period))
	}
	slices.SortFunc(c.Creatives, func(x, y *Creative) int { return cmp.Compare(x.ID, y.ID) })
	c.Creatives = slices.CompactFunc(c.Creatives, func(x, y *Creative) bool { return x.ID == y.ID })
	c.Newest = slices.Clone(c.Creatives)
	slices.SortFunc(c.Newest, NewestCreativeFirst)
	return c
}

func buildAudience(h uint64) Audience {
	countries := []string{"US", "US", "US", "US", "CA", "DE", "AU", "GB", "SG", "AE", "FR", "IT", "JP", "IL", "IE",
		"HK", "NL", ""}
	au := Audience{Country: countries[chance.Below(h, uint64(len(countries)))]}
	h = chance.Mix(h)
	if au.Country == "US" && h%3 == 0 {
		states := []string{"AZ", "CA", "CO", "FL", "GA", "IL", "MI", "NC", "NJ", "NY", "OH", "PA", "TX", "VA", "WA"}
		for i, st := range states {
			if h>>(8+i)&1 == 1 {
				au.States = append(au.States, st)
			}
		}
	}
	h = chance.Mix(h)
	for i, p := range []string{"DESKTOP", "MOBILE", "TABLET", "OTHER"} {
		if h>>i&1 == 1 {
			au.Platforms = append(au.Platforms, p)
		}
	}
	switch h >> 8 % 8 {
	case 0:
		au.SubscribedLessThan = 10080
	case 1:
		au.SubscribedMoreThan = 43200
	case 2:
		au.MinAge, au.MaxAge = 25, 64
	case 3:
		au.Gender = "F"
	}
	au.UnsupportedTargeting = h>>16%9 == 0
	return au
}

// LowestBid is the lowest bid that the service accepts, in millionths of a US dollar.
const LowestBid = 100_000

// MinBid returns the lowest bid that the service accepts for the audience.
func (a *Audience) MinBid() int64 {
	if a.MinAge > 0 || a.MaxAge > 0 || a.Gender != "" || a.SubscribedLessThan > 0 && a.SubscribedLessThan <= 10080 {
		return 300_000
	}
	return LowestBid
}

// Bid returns the default bid on a day. It may change every 30 days.
func (c *Campaign) Bid(d clock.Day) int64 {
	steps := [...]int64{100, 100, 90, 110, 125}
	step := steps[chance.Below(chance.Hash(c.Key, chance.AboutBid, uint64(d/30)), uint64(len(steps)))]
	return max(c.minBid, c.baseBid*step/100/10_000*10_000)
}

// pausedOn reports whether a day lies in one of the campaign's pauses of nine days.
func (c *Campaign) pausedOn(d clock.Day) bool {
	return chance.Below(chance.Hash(c.Key, chance.AboutPause, uint64(d/9)), 15) == 0
}

// Status returns the status on a day.
func (c *Campaign) Status(d clock.Day) string {
	switch {
	case d >= c.Archived:
		return "archived"
	case c.rejected && d > c.Created:
		return "rejected"
	case d >= c.Over || c.pausedOn(d):
		return "paused"
	}
	return "active"
}

// DeliversOn reports whether the campaign may deliver on a day.
func (c *Campaign) DeliversOn(d clock.Day) bool {
	return d >= c.Starts && d < c.Over && c.Status(d) == "active"
}

// OverrideBid returns the bid of a source that has its own bid. It is 0.5 to 2.5 times the default bid, depending on
// the hash of campaign and source.
func (c *Campaign) OverrideBid(bid int64, h uint64) int64 {
	return max(c.minBid, bid*int64(50+10*(h>>24%21))/100/10_000*10_000)
}

// Universe returns the sources from which the campaign buys.
func (c *Campaign) Universe(t *Sources) *Universe {
	if c.AllowList {
		return &c.Allowed
	}
	return &t.Live
}

// SourceHash returns the hash of campaign and source, on which bid and price depend.
func (c *Campaign) SourceHash(src int32) uint64 { return chance.Mix(c.Key ^ uint64(src)) }

// Overridden lists the sources that have their own bid.
func (c *Campaign) Overridden(t *Sources) []int32 {
	var list []int32
	for _, src := range c.Universe(t).Src {
		if c.Overrides > 0 && c.SourceHash(src)%c.Overrides == 1 {
			list = append(list, src)
		}
	}
	return list
}

// Blocked lists the sources that are blocked on a day. Only retired sources, which deliver nothing, are ever blocked,
// so that no row of the report contradicts the list.
func (c *Campaign) Blocked(t *Sources, d clock.Day) []int32 {
	var list []int32
	for _, src := range t.retired {
		h := chance.Hash(c.Key, chance.AboutBlocked, uint64(src))
		if h%3 > 0 && d >= c.Created+clock.Day(h>>8%150) {
			list = append(list, src)
		}
	}
	return list
}

// NewestCreativeFirst compares creatives by creation, the newest first.
func NewestCreativeFirst(x, y *Creative) int {
	return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.ID, x.ID))
}

// Creative returns the generated creative with the given ID in the campaign, or nil if there is none.
func (c *Campaign) Creative(id string) *Creative {
	i := slices.IndexFunc(c.Creatives, func(cr *Creative) bool { return cr.ID == id })
	if i < 0 {
		return nil
	}
	return c.Creatives[i]
}

// IsMade reports whether the campaign was created by a change.
func (c *Campaign) IsMade() bool { return c.Created == Never }
