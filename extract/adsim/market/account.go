package market

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/memo"
)

// Account is the generated advertiser. The account has a fixed number of slots. At any time each slot contains one
// campaign; when the campaign ends, the slot's next campaign begins. The sequence of a slot has no first and no last
// campaign, so that the account has campaigns at any time, and the rows of a day depend only on the seed and the day.
type Account struct {
	index       int // index of the account among the accounts of the service
	Seed        uint64
	Zone        *time.Location
	campaigns   int // Config.Campaigns
	perCampaign int // Config.CreativesPerCampaign
	RowsPerDay  int
	Slots       []slot
	idScale     int64 // a power of ten that is not less than the number of slots
	Sources     *Sources

	mu    sync.Mutex
	built map[slotLife]*Campaign

	rolls memo.Cache[rollKey, *roll]
}

// roll contains the campaigns that the advertiser API lists on one day.
type roll struct {
	List []*Campaign // newest first
	ByID map[string]*Campaign
}

// rollKey contains everything that determines a roll.
type rollKey struct{ anchor, today clock.Day }

// slot generates a sequence of campaigns, one after another. Each campaign is a life of the slot, and the lives are
// numbered.
type slot struct {
	index  int
	key    uint64
	period int       // number of days from the start of one life to the start of the next
	phase  clock.Day // start of life 0
}

type slotLife struct{ slot, life int }

// Life 0 of a slot begins on this day or later. Earlier lives have negative numbers.
var beginning = clock.Civil(2000, time.January, 1)

// NewAccount generates the index-th account of a service.
func NewAccount(cfg config.Config, index int, zone *time.Location) *Account {
	a := &Account{
		index:       index,
		Seed:        chance.Mix(cfg.Seed),
		Zone:        zone,
		campaigns:   cfg.Campaigns,
		perCampaign: cfg.CreativesPerCampaign,
		RowsPerDay:  cfg.RowsPerDay,
		idScale:     1000,
		built:       make(map[slotLife]*Campaign),
		rolls: memo.Cache[rollKey, *roll]{
			Most:  1 << 18,
			Weigh: func(r *roll) int64 { return int64(len(r.List)) + 1 },
		},
	}
	a.Sources = newSources(a.Seed, cfg.Sources)
	a.Slots = make([]slot, max(1, (cfg.Campaigns*2+2)/3))
	for a.idScale < int64(len(a.Slots)) {
		a.idScale *= 10
	}
	for i := range a.Slots {
		key := chance.Hash(a.Seed, chance.AboutSlot, uint64(i))
		var period int
		switch i % 10 {
		case 0, 3, 7:
			period = chance.Between(chance.Mix(key), 500, 900)
		case 4, 9:
			period = chance.Between(chance.Mix(key), 60, 100)
		default:
			period = chance.Between(chance.Mix(key), 140, 400)
		}
		a.Slots[i] = slot{
			index:  i,
			key:    key,
			period: period,
			phase:  beginning + clock.Day(chance.Below(chance.Mix(key+1), uint64(period))),
		}
	}
	return a
}

// lifeAt returns the number of the slot's life on a day.
func (s *slot) lifeAt(d clock.Day) int {
	n := int(d - s.phase)
	if n < 0 {
		return -1 - (-n-1)/s.period
	}
	return n / s.period
}

func (s *slot) birth(life int) clock.Day { return s.phase + clock.Day(life*s.period) }

// campaign returns the campaign of one life of a slot. The Campaign is built once and is immutable. Its status, bid and
// lists change over time; they are computed from the day.
func (a *Account) campaign(s *slot, life int) *Campaign {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slotLife{s.index, life}
	c := a.built[at]
	if c == nil {
		c = a.buildCampaign(s, life)
		a.built[at] = c
	}
	return c
}

// ExistingOn lists the campaigns that can have rows on a day, sorted by ID.
func (a *Account) ExistingOn(d clock.Day) []*Campaign {
	list := make([]*Campaign, 0, len(a.Slots))
	for i := range a.Slots {
		s := &a.Slots[i]
		if c := a.campaign(s, s.lifeAt(d)); d < c.Archived {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y *Campaign) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// Listing returns the campaigns that the advertiser API lists on a day. The first argument is the day of the first
// request. On that day the configured number of campaigns is listed, including all campaigns that existed recently.
// Later, new campaigns are added and no campaign is removed.
func (a *Account) Listing(anchor, today clock.Day) *roll {
	return a.rolls.Get(rollKey{anchor, today}, func() *roll {
		r := &roll{List: a.listed(anchor, today), ByID: map[string]*Campaign{}}
		for _, c := range r.List {
			r.ByID[c.ID] = c
		}
		return r
	})
}

func (a *Account) listed(anchor, today clock.Day) []*Campaign {
	const late = 40 // in days; the period that the report covers is shorter
	var list, older []*Campaign
	for i := range a.Slots {
		s := &a.Slots[i]
		for life := s.lifeAt(today); ; life-- {
			c := a.campaign(s, life)
			switch {
			case c.Created > anchor || c.Archived >= anchor-late:
				list = append(list, c)
				continue
			case c.Created > anchor-1500:
				older = append(older, c)
				continue
			}
			break
		}
	}
	atAnchor := 0
	for _, c := range list {
		if c.Created <= anchor {
			atAnchor++
		}
	}
	slices.SortFunc(older, NewestFirst)
	list = append(list, older[:min(len(older), max(0, a.campaigns-atAnchor))]...)
	slices.SortFunc(list, NewestFirst)
	return list
}

// NewestFirst compares campaigns by creation, the newest first.
func NewestFirst(x, y *Campaign) int {
	return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.ID, x.ID))
}
