package adsim

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// account is the made-up advertiser: a row of slots, each of which is always
// filled by one campaign. A slot's campaigns follow one another for ever, before
// and after any date, so that the account is alive at any clock and a day's rows
// depend on nothing but the seed and the day.
type account struct {
	index       int // among the accounts of the service
	seed        uint64
	zone        *time.Location
	ascii       bool
	campaigns   int // how many are listed at the start
	perCampaign int
	rowsPerDay  int
	slots       []slot
	idScale     int64
	sources     *sourceTable

	mu    sync.Mutex
	built map[slotLife]*campaign

	rolls cache[rollKey, *roll]
}

// roll is the campaigns that the advertiser API knows on a day, newest first.
type roll struct {
	list []*campaign
	byID map[string]*campaign
}

// rollKey is what a roll depends on.
type rollKey struct{ anchor, today day }

// slot is a place in the account; its campaigns are its lives.
type slot struct {
	index  int
	key    uint64
	period int // days from one life to the next
	phase  day // when life 0 began
}

type slotLife struct{ slot, life int }

// beginning is before every clock the simulator is made for.
var beginning = civil(2000, time.January, 1)

func newAccount(cfg Config, index int, zone *time.Location) *account {
	a := &account{
		index:       index,
		seed:        mix(cfg.Seed),
		zone:        zone,
		ascii:       cfg.EscapeUnicode,
		campaigns:   cfg.Campaigns,
		perCampaign: cfg.CreativesPerCampaign,
		rowsPerDay:  cfg.RowsPerDay,
		idScale:     1000,
		built:       make(map[slotLife]*campaign),
		rolls:       cache[rollKey, *roll]{most: 1 << 18, weigh: func(r *roll) int64 { return int64(len(r.list)) + 1 }},
	}
	a.sources = newSourceTable(a.seed, cfg.Sources)
	a.slots = make([]slot, max(1, (cfg.Campaigns*2+2)/3))
	for a.idScale < int64(len(a.slots)) {
		a.idScale *= 10
	}
	for i := range a.slots {
		key := chance(a.seed, aboutSlot, uint64(i))
		var period int
		switch i % 10 {
		case 0, 3, 7:
			period = between(mix(key), 500, 900)
		case 4, 9:
			period = between(mix(key), 60, 100)
		default:
			period = between(mix(key), 140, 400)
		}
		a.slots[i] = slot{
			index:  i,
			key:    key,
			period: period,
			phase:  beginning + day(below(mix(key+1), uint64(period))),
		}
	}
	return a
}

// lifeAt is which life fills the slot on a day.
func (s *slot) lifeAt(d day) int {
	n := int(d - s.phase)
	if n < 0 {
		return -1 - (-n-1)/s.period
	}
	return n / s.period
}

func (s *slot) birth(life int) day { return s.phase + day(life*s.period) }

// campaign is a life of a slot. It is built once and never changes: what changes
// with time (status, bid, lists) is a function of the day.
func (a *account) campaign(s *slot, life int) *campaign {
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

// existingOn lists the campaigns that the report may show for a day, by ID.
func (a *account) existingOn(d day) []*campaign {
	list := make([]*campaign, 0, len(a.slots))
	for i := range a.slots {
		s := &a.slots[i]
		if c := a.campaign(s, s.lifeAt(d)); d < c.archived {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y *campaign) int { return cmp.Compare(x.id, y.id) })
	return list
}

// listing is what the advertiser API knows on a day, newest first. anchor is the
// first day the service was asked on: as many campaigns as configured are there
// then, all those that were alive of late among them; later ones are added and
// none is ever taken away.
func (a *account) listing(anchor, today day) *roll {
	return a.rolls.get(rollKey{anchor, today}, func() *roll {
		r := &roll{list: a.listed(anchor, today), byID: map[string]*campaign{}}
		for _, c := range r.list {
			r.byID[c.id] = c
		}
		return r
	})
}

func (a *account) listed(anchor, today day) []*campaign {
	const late = 40 // more than the report's reach
	var list, older []*campaign
	for i := range a.slots {
		s := &a.slots[i]
		for life := s.lifeAt(today); ; life-- {
			c := a.campaign(s, life)
			switch {
			case c.created > anchor || c.archived >= anchor-late:
				list = append(list, c)
				continue
			case c.created > anchor-1500:
				older = append(older, c)
				continue
			}
			break
		}
	}
	atAnchor := 0
	for _, c := range list {
		if c.created <= anchor {
			atAnchor++
		}
	}
	slices.SortFunc(older, newestFirst)
	list = append(list, older[:min(len(older), max(0, a.campaigns-atAnchor))]...)
	slices.SortFunc(list, newestFirst)
	return list
}

func newestFirst(x, y *campaign) int {
	return cmp.Or(y.createdAt.Compare(x.createdAt), cmp.Compare(y.id, x.id))
}
