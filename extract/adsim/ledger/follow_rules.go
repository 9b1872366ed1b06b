package ledger

import (
	"slices"
	"time"

	"spendsync/extract/adsim/market"
)

// rules is a version on a day.
type rules struct {
	*Version
	bid, limit int64
	reach      uint64
	allowList  bool
	universe   *market.Universe
	running    map[*market.Creative]bool // found so far
}

// rulesOf is what a version means on the day.
func (f *followDay) rulesOf(v *Version) *rules {
	c := f.campaign
	r := &rules{Version: v, bid: c.Bid(f.sd.day), reach: c.Audience.Reach(), allowList: c.AllowList,
		universe: c.Universe(f.Sources), running: map[*market.Creative]bool{}}
	if v.ByItself {
		return r
	}
	r.bid, r.allowList = Or(v.Of.Bid, r.bid), Or(v.Of.AllowList, r.allowList)
	if v.Of.Limit != nil {
		r.limit = *v.Of.Limit
	} else {
		r.limit = f.st.DailyLimit(c)
	}
	if v.Of.Audience != nil {
		r.reach = v.Of.Audience.Reach()
	}
	switch {
	case !r.allowList:
		r.universe = &f.Sources.Live
	case !c.AllowList || len(v.Of.Allowed) > 0:
		u := f.Sources.Live.Subset(func(src int32) bool { return f.allows(v, src) })
		r.universe = &u
	}
	return r
}

// allows says whether a source is on the allow list of a version.
func (f *followDay) allows(v *Version, src int32) bool {
	if on, asked := v.Of.Allowed[src]; asked {
		return on
	}
	_, there := slices.BinarySearch(f.campaign.Allowed.Src, src)
	return f.campaign.AllowList && there
}

// span is from when to when a version may be delivered.
func (f *followDay) span(v *Version) (start, end time.Time) {
	c := f.campaign
	if v.Of.Start != nil {
		start = *v.Of.Start
	} else {
		start = c.Starts.Start(f.Zone)
	}
	if v.Of.End != nil {
		end = *v.Of.End
	} else if c.Ends {
		end = c.Over.Start(f.Zone)
	}
	return start, end
}

// delivers says whether the campaign may be shown at an instant. A pause takes a
// while to finish.
func (f *followDay) delivers(st *State, v *Version, t time.Time) bool {
	if v.ByItself {
		return !f.campaign.IsMade() && f.campaign.DeliversOn(f.sd.day)
	}
	start, end := f.span(v)
	if t.Before(start) || !end.IsZero() && !t.Before(end) || st.BalanceAt(t) == "depleted" {
		return false
	}
	return Or(v.Of.Status, f.campaign.Status(f.sd.day)) == "active" || t.Before(v.Of.PausedUntil)
}

// runs says whether a creative runs in a version. One that is hidden does not, as
// delivery_status has it too.
func (f *followDay) runs(v *Version, cr *market.Creative) bool {
	if v.ByItself {
		return cr.Number == 0 && cr.ExistsOn(f.sd.day) && cr.Status(f.sd.day) == "active"
	}
	of := v.creative(cr.ID)
	return of.Hidden != Hide && Or(of.Status, cr.Status(f.sd.day)) == "active"
}

// isRunning is runs, found once for all sources.
func (f *followDay) isRunning(r *rules, cr *market.Creative) bool {
	on, known := r.running[cr]
	if !known {
		on = f.runs(r.Version, cr)
		r.running[cr] = on
	}
	return on
}

// buys says whether a source is bought by the rules, and at what bid.
func (f *followDay) buys(r *rules, src int32) (bid int64, ok bool) {
	c, d := f.campaign, f.sd.day
	byItself := c.Bid(d)
	h := c.SourceHash(src)
	own := c.Overrides > 0 && h%c.Overrides == 1
	if own {
		byItself = c.OverrideBid(byItself, h)
	}
	if r.ByItself {
		return byItself, true
	}
	if r.allowList && !f.allows(r.Version, src) || !r.allowList && r.Of.Blocked[src] {
		return 0, false
	}
	asked, is := r.Of.Bids[src]
	switch {
	case r.Of.Optimized[src]:
		return max(market.LowestBid, r.bid*int64(50+min(f.Sources.Worth[src]*50/256, 100))/100), true
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
	if f.campaign.IsMade() {
		plain := market.Audience{Country: "US"}
		return 500_000, plain.Reach()
	}
	bid, _ = f.buys(f.rulesOfBare(), src)
	return bid, f.campaign.Audience.Reach()
}

// rulesOfBare is the rules of before the first change, made once.
func (f *followDay) rulesOfBare() *rules {
	for i := range f.stretches {
		if f.stretches[i].rules.ByItself {
			return f.stretches[i].rules
		}
	}
	return &rules{Version: f.bare}
}

// draw is how much of the traffic a source gets during a stretch, in 256ths of what
// it would by itself, and the bid.
func (f *followDay) draw(s *stretch, cr *market.Creative, src int32) (factor uint64, bid int64) {
	if !s.delivers || !f.isRunning(s.rules, cr) {
		return 0, 0
	}
	r := *s.rules
	if f.Slow(src) {
		r.Version, r.allowList = s.late.Version, s.late.allowList
	}
	bid, ok := f.buys(&r, src)
	if !ok {
		return 0, 0
	}
	if s.rules.ByItself {
		return 256, bid
	}
	usual, reach := f.usualOf(src)
	byBid := min(max(256*uint64(bid)/uint64(usual), 16), 1024)
	byReach := min(max(256*s.rules.reach/reach, 1), 1024)
	return byBid * byReach >> 8, bid
}
