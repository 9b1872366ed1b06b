package adsim

import (
	"slices"
	"time"
)

// rules is a version on a day.
type rules struct {
	*version
	bid, limit int64
	reach      uint64
	allowList  bool
	universe   *universe
	running    map[*creative]bool // found so far
}

// rulesOf is what a version means on the day.
func (f *followDay) rulesOf(v *version) *rules {
	c := f.campaign
	r := &rules{version: v, bid: c.bid(f.sd.day), reach: c.audience.reach(), allowList: c.allowList,
		universe: c.universe(f.sources), running: map[*creative]bool{}}
	if v.byItself {
		return r
	}
	r.bid, r.allowList = or(v.of.bid, r.bid), or(v.of.allowList, r.allowList)
	if v.of.limit != nil {
		r.limit = *v.of.limit
	} else {
		r.limit = f.st.dailyLimit(c)
	}
	if v.of.audience != nil {
		r.reach = v.of.audience.reach()
	}
	switch {
	case !r.allowList:
		r.universe = &f.sources.live
	case !c.allowList || len(v.of.allowed) > 0:
		u := f.sources.live.subset(func(src int32) bool { return f.allows(v, src) })
		r.universe = &u
	}
	return r
}

// allows says whether a source is on the allow list of a version.
func (f *followDay) allows(v *version, src int32) bool {
	if on, asked := v.of.allowed[src]; asked {
		return on
	}
	_, there := slices.BinarySearch(f.campaign.allowed.src, src)
	return f.campaign.allowList && there
}

// span is from when to when a version may be delivered.
func (f *followDay) span(v *version) (start, end time.Time) {
	c := f.campaign
	if v.of.start != nil {
		start = *v.of.start
	} else {
		start = c.starts.start(f.zone)
	}
	if v.of.end != nil {
		end = *v.of.end
	} else if c.ends {
		end = c.over.start(f.zone)
	}
	return start, end
}

// delivers says whether the campaign may be shown at an instant. A pause takes a
// while to finish.
func (f *followDay) delivers(st *state, v *version, t time.Time) bool {
	if v.byItself {
		return !f.campaign.isMade() && f.campaign.deliversOn(f.sd.day)
	}
	start, end := f.span(v)
	if t.Before(start) || !end.IsZero() && !t.Before(end) || st.balanceAt(t) == "depleted" {
		return false
	}
	return or(v.of.status, f.campaign.status(f.sd.day)) == "active" || t.Before(v.of.pausedUntil)
}

// runs says whether a creative runs in a version. One that is hidden does not, as
// delivery_status has it too.
func (f *followDay) runs(v *version, cr *creative) bool {
	if v.byItself {
		return cr.number == 0 && cr.existsOn(f.sd.day) && cr.status(f.sd.day) == "active"
	}
	of := v.creative(cr.id)
	return of.hidden != Hide && or(of.status, cr.status(f.sd.day)) == "active"
}

// isRunning is runs, found once for all sources.
func (f *followDay) isRunning(r *rules, cr *creative) bool {
	on, known := r.running[cr]
	if !known {
		on = f.runs(r.version, cr)
		r.running[cr] = on
	}
	return on
}

// buys says whether a source is bought by the rules, and at what bid.
func (f *followDay) buys(r *rules, src int32) (bid int64, ok bool) {
	c, d := f.campaign, f.sd.day
	byItself := c.bid(d)
	h := c.sourceHash(src)
	own := c.overrides > 0 && h%c.overrides == 1
	if own {
		byItself = c.overrideBid(byItself, h)
	}
	if r.byItself {
		return byItself, true
	}
	if r.allowList && !f.allows(r.version, src) || !r.allowList && r.of.blocked[src] {
		return 0, false
	}
	asked, is := r.of.bids[src]
	switch {
	case r.of.optimized[src]:
		return max(lowestBid, r.bid*int64(50+min(f.sources.worth[src]*50/256, 100))/100), true
	case is && asked > 0:
		return asked, true
	case own && !is:
		return byItself, true
	}
	return r.bid, true
}

// usual is the bid of a source and the reach of the audience that the row's numbers
// are made for.
func (f *followDay) usualOf(src int32) (bid int64, reach uint64) {
	if f.campaign.isMade() {
		plain := audience{country: "US"}
		return 500_000, plain.reach()
	}
	bid, _ = f.buys(f.rulesOfBare(), src)
	return bid, f.campaign.audience.reach()
}

// rulesOfBare is the rules of before the first change, made once.
func (f *followDay) rulesOfBare() *rules {
	for i := range f.stretches {
		if f.stretches[i].rules.byItself {
			return f.stretches[i].rules
		}
	}
	return &rules{version: f.bare}
}

// draw is how much of the traffic a source gets during a stretch, in 256ths of what
// it would by itself, and the bid.
func (f *followDay) draw(s *stretch, cr *creative, src int32) (factor uint64, bid int64) {
	if !s.delivers || !f.isRunning(s.rules, cr) {
		return 0, 0
	}
	r := *s.rules
	if f.slow(src) {
		r.version, r.allowList = s.late.version, s.late.allowList
	}
	bid, ok := f.buys(&r, src)
	if !ok {
		return 0, 0
	}
	if s.rules.byItself {
		return 256, bid
	}
	usual, reach := f.usualOf(src)
	byBid := min(max(256*uint64(bid)/uint64(usual), 16), 1024)
	byReach := min(max(256*s.rules.reach/reach, 1), 1024)
	return byBid * byReach >> 8, bid
}
