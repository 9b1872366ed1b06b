package ledger

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// From its first change through the API on, the spending of a campaign follows its settings. It
// starts from the rows that the campaign would have without changes. Each row gets the part of the
// day's traffic during which the campaign and its creative ran and the source was bought, more of
// it for a higher bid or a wider audience, at the price of the bid of that time, until the day's
// limit is reached. If the settings equal the original ones, the rows are the same.

// followed are the campaigns that follow their settings on a day, by ID.
func (st *State) followed(d clock.Day, zone *time.Location) []string {
	if st.Changes == nil {
		return nil
	}
	var ids []string
	for id, versions := range st.Changes.History {
		if d >= clock.DayOf(versions[1].At, zone) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// followEntries puts the entries of the campaigns that follow their settings in the
// place of those that they would have by themselves. traffic is what all creatives
// draw by themselves.
func (st *State) followEntries(sd *Day, sc Scope, all []Entry, traffic uint64) []Entry {
	ids := st.followed(sd.day, st.Account.Zone)
	if len(ids) == 0 {
		return all
	}
	byItself := map[string][]Entry{}
	rest := all[:0:0]
	for _, e := range all {
		id := e.Creative.Campaign.ID
		if _, follows := slices.BinarySearch(ids, id); follows {
			byItself[id] = append(byItself[id], e)
		} else {
			rest = append(rest, e)
		}
	}
	for _, id := range ids {
		if sc.campaign == "" || sc.campaign == id {
			f := st.followDay(sd, st.Changes.History[id], byItself[id], traffic)
			rest = append(rest, f.entries()...)
		}
	}
	slices.SortStableFunc(rest, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Creative.Campaign.ID, y.Creative.Campaign.ID), cmp.Compare(x.Creative.ID,
			y.Creative.ID))
	})
	return rest
}

// followDay is one such campaign on one day.
type followDay struct {
	*market.Account
	st        *State
	sd        *Day
	campaign  *market.Campaign
	bare      *Version // before its first change
	creatives []*followCreative
	stretches []stretch
}

// stretch is a part of the day over which nothing changes.
type stretch struct {
	from, to   time.Time
	begin, end uint32 // the shares of the traffic that have arrived then
	rules      *rules // what holds
	late       *rules // what holds for sources that changes reach late
	epoch      int    // stretches of one epoch have one universe
	delivers   bool
}

func (st *State) followDay(sd *Day, versions []Version, byItself []Entry, traffic uint64) *followDay {
	f := &followDay{Account: st.Account, st: st, sd: sd, campaign: versions[1].campaign, bare: &versions[0]}
	f.layStretches(st, versions)
	f.layCreatives(st, byItself, traffic)
	f.applyLimits()
	return f
}

// layStretches cuts the day at each change.
func (f *followDay) layStretches(st *State, versions []Version) {
	began, ends := f.sd.day.Start(f.Zone), (f.sd.day + 1).Start(f.Zone)
	if st.AsOf.Before(ends) {
		ends = st.AsOf
	}
	cuts := []time.Time{began}
	cut := func(list ...time.Time) {
		for _, t := range list {
			if t.After(began) && t.Before(ends) {
				cuts = append(cuts, t)
			}
		}
	}
	// What was over before the day, even for slow sources, does not matter.
	first := sort.Search(len(versions), func(i int) bool { return versions[i].At.After(began.Add(-market.SourceLag)) })
	versions = versions[max(0, first-1):]
	var all []*rules
	for i := range versions {
		v := &versions[i]
		all = append(all, f.rulesOf(v))
		cut(v.At, v.At.Add(market.SourceLag))
		if !v.ByItself {
			start, end := f.span(v)
			cut(v.Of.PausedUntil, start, end)
		}
	}
	for _, m := range st.Changes.Balance {
		cut(m.At)
	}
	slices.SortFunc(cuts, time.Time.Compare)
	cuts = slices.CompactFunc(cuts, time.Time.Equal)
	at := func(t time.Time) *rules {
		i := sort.Search(len(all), func(i int) bool { return all[i].At.After(t) })
		return all[max(0, i-1)]
	}
	for i, from := range cuts {
		to := ends
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		if !to.After(from) {
			break
		}
		s := stretch{
			from:  from,
			to:    to,
			begin: clock.ArrivedShare(f.sd.day, from, f.Zone),
			end: clock.ArrivedShare(f.sd.day, to,
				f.Zone),
			rules: at(from),
			late:  at(from.Add(-market.SourceLag)),
		}
		s.delivers = f.delivers(st, s.rules.Version, from)
		if n := len(f.stretches); n > 0 {
			s.epoch = f.stretches[n-1].epoch
			if !sameUniverse(f.stretches[n-1].rules.universe, s.rules.universe) {
				s.epoch++
			}
		}
		f.stretches = append(f.stretches, s)
	}
}

func sameUniverse(x, y *market.Universe) bool { return x == y || slices.Equal(x.Src, y.Src) }

// spent is what the campaign has cost.
func (f *followDay) spent() (sum int64) {
	for _, fc := range f.creatives {
		for epoch := range fc.lots {
			for i := range fc.lots[epoch] {
				l := &fc.lots[epoch][i]
				if m := f.measure(fc.Creative, l, epoch); f.visible(l, m.share) {
					sum += m.spend
				}
			}
		}
	}
	return sum
}

// applyLimits ends delivery where the limit of the time is reached.
func (f *followDay) applyLimits() {
	all := f.stretches
	f.stretches = nil
	before := int64(0) // spent in the stretches so far
	for _, s := range all {
		if s.rules.limit > 0 && s.delivers && before >= s.rules.limit {
			s.delivers = false
		}
		f.stretches = append(f.stretches, s)
		if !s.delivers {
			continue
		}
		if before = f.spent(); s.rules.limit == 0 || before <= s.rules.limit {
			continue
		}
		last := len(f.stretches) - 1
		seconds := int(s.to.Sub(s.from) / time.Second)
		stop := sort.Search(seconds, func(n int) bool {
			f.stretches[last] = f.until(s, s.from.Add(time.Duration(n)*time.Second))
			return f.spent() >= s.rules.limit
		})
		at := s.from.Add(time.Duration(stop) * time.Second)
		f.stretches[last] = f.until(s, at)
		rest := s
		rest.from, rest.begin, rest.delivers = at, f.stretches[last].end, false
		f.stretches = append(f.stretches, rest)
		before = f.spent()
	}
}

// until is the first part of a stretch.
func (f *followDay) until(s stretch, t time.Time) stretch {
	s.to, s.end = t, clock.ArrivedShare(f.sd.day, t, f.Zone)
	return s
}

// limitReached reports whether a campaign that follows its settings has spent its limit of this
// day.
func (st *State) limitReached(c *market.Campaign) bool {
	versions := st.Changes.History[c.ID]
	at := *st
	at.AsOf = st.Now
	sd := &Day{
		day:     st.Today,
		sources: st.Account.Sources,
		began:   st.Today.Start(st.Account.Zone).Unix(),
		known:   st.Now.Unix(),
	}
	own, traffic := byItself(st.Account, st.Today)
	own = slices.DeleteFunc(own, func(e Entry) bool { return e.Creative.Campaign != c })
	f := at.followDay(sd, versions, own, traffic)
	limit := f.rulesOf(&versions[len(versions)-1]).limit
	return limit > 0 && f.spent() >= limit
}

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

// allows reports whether a source is on the allow list of a version.
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

// delivers reports whether the campaign may be shown at an instant. A pause takes a
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

// runs reports whether a creative runs in a version. One that is hidden does not, as
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

// buys reports whether a source is bought by the rules, and at what bid.
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

// draw returns a source's traffic during a stretch, in 256ths of the traffic without changes, and
// the bid.
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
