package ledger

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// From its first change through the API on, the spending of a campaign follows its settings; in a prepaid account that
// of every campaign does. Each row that the campaign would have without changes gets the part of the day's traffic
// during which the campaign and its creative ran and the source was bought, more of it for a higher bid or a wider
// audience, at the price of the bid of that time. If that is more than the day's limit, or than what is left of a
// prepaid balance, each row gets its part of the amount.

// versionsOf are the versions of a campaign that follows its settings on a day, nil for any other.
func (st *State) versionsOf(c *market.Campaign, d clock.Day) []Version {
	if st.Changes == nil {
		return nil
	}
	versions := st.Changes.History[c.ID]
	if len(versions) > 1 && d >= clock.DayOf(versions[1].At, st.Account.Zone) {
		return versions
	}
	if st.prepaidOn(d) {
		return []Version{{ByItself: true, Of: &NoCampaignChanges},
			{At: d.Start(st.Account.Zone), Of: &NoCampaignChanges}}
	}
	return nil
}

// followEntries puts the entries of the campaigns that follow their settings in the place of those that they would
// have by themselves. traffic is what all creatives draw by themselves.
func (st *State) followEntries(sd *Day, all []Entry, traffic uint64) []Entry {
	if st.Changes == nil {
		return all
	}
	campaigns := slices.Concat(st.Account.ExistingOn(sd.day), st.Changes.Made)
	for id := range st.Changes.History { // one that is archived by itself may have been changed before
		if c := st.Campaign(id); c != nil && !slices.Contains(campaigns, c) {
			campaigns = append(campaigns, c)
		}
	}
	var followed, rest []Entry
	is := map[*market.Campaign]bool{}
	for _, c := range campaigns {
		if versions := st.versionsOf(c, sd.day); versions != nil {
			is[c] = true
			f := st.followDay(sd, c, versions, all, traffic)
			followed = append(followed, f.entries()...)
		}
	}
	if len(is) == 0 {
		return all
	}
	if st.prepaidOn(sd.day) {
		stopAt(followed, st.fundsFor(sd.day))
	}
	for _, e := range all {
		if !is[e.Creative.Campaign] {
			rest = append(rest, e)
		}
	}
	for i := range followed {
		e := &followed[i]
		for j := range e.list {
			sd.restate(&e.list[j])
		}
		e.rows = len(e.list)
	}
	rest = append(rest, followed...)
	slices.SortStableFunc(rest, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Creative.Campaign.ID, y.Creative.Campaign.ID),
			cmp.Compare(x.Creative.ID, y.Creative.ID))
	})
	return rest
}

// stopAt leaves every row its part of an amount, if all together cost more: delivery stops at one time for all. The
// last click may pass the amount. It returns what the rows have cost before credits.
func stopAt(entries []Entry, amount int64) (spent int64) {
	var all, before int64
	for _, e := range entries {
		for _, gross := range e.gross {
			all += gross
		}
	}
	if all <= amount {
		return all
	}
	share := float64(amount) / float64(all)
	for k := range entries {
		e := &entries[k]
		if amount <= 0 {
			e.list, e.gross = nil, nil
		}
		for i := range e.list {
			r, gross := &e.list[i], e.gross[i]
			before += gross
			left, clicks := int64(float64(before)/float64(all)*float64(amount))-spent, int64(0)
			if left > 0 && gross > 0 {
				clicks = min((r.Clicks*left+gross-1)/gross, r.Clicks)
			}
			was := max(1, r.Clicks)
			r.Spend, r.Conversions = r.Spend/was*clicks, r.Conversions*clicks/was
			r.Clicks, r.Impressions = clicks, max(1, clicks, int64(float64(r.Impressions)*share))
			e.gross[i] = max(0, left, r.Spend)
			spent += e.gross[i]
		}
	}
	return spent
}

// followDay is one such campaign on one day.
type followDay struct {
	*market.Account
	st        *State
	sd        *Day
	campaign  *market.Campaign
	all       []Entry // of the day without changes
	traffic   uint64
	stretches []stretch
	universe  *market.Universe // of the last stretch
	limit     int64            // the highest of the day; 0: none
}

// stretch is a part of the day over which nothing changes.
type stretch struct {
	*Version
	begin, end uint32 // the shares of the traffic that have arrived then
	bid        int64
	reach      uint64
	allowList  bool
	delivers   bool
}

func (st *State) followDay(sd *Day, c *market.Campaign, versions []Version, all []Entry, traffic uint64) *followDay {
	f := &followDay{Account: st.Account, st: st, sd: sd, campaign: c, all: all, traffic: traffic}
	began, ends := sd.day.Start(f.Zone), (sd.day + 1).Start(f.Zone)
	if st.AsOf.Before(ends) {
		ends = st.AsOf
	}
	cuts := []time.Time{began}
	for i := range versions {
		v := &versions[i]
		start, end := f.span(v)
		for _, t := range []time.Time{v.At, v.Of.PausedUntil, start, end} {
			if t.After(began) && t.Before(ends) {
				cuts = append(cuts, t)
			}
		}
	}
	slices.SortFunc(cuts, time.Time.Compare)
	cuts = slices.CompactFunc(cuts, time.Time.Equal)
	for i, from := range cuts {
		to := ends
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		v := &versions[0]
		for k := range versions {
			if !versions[k].At.After(from) {
				v = &versions[k]
			}
		}
		audience := Or(v.Of.Audience, c.Audience)
		s := stretch{Version: v, begin: clock.ArrivedShare(sd.day, from, f.Zone),
			end: clock.ArrivedShare(sd.day, to, f.Zone), delivers: f.delivers(v, from),
			bid: Or(v.Of.Bid, c.Bid(sd.day)), allowList: Or(v.Of.AllowList, c.AllowList),
			reach: audience.Reach()}
		f.stretches = append(f.stretches, s)
		if !v.ByItself && s.delivers {
			f.limit = max(f.limit, f.limitOf(v))
		}
		f.universe = f.universeOf(&s)
	}
	return f
}

// limitOf is the daily limit of a version, 0 for none.
func (f *followDay) limitOf(v *Version) int64 {
	if v.Of.Limit != nil {
		return *v.Of.Limit
	}
	return f.st.DailyLimit(f.campaign)
}

// universeOf is the sources that may be bought in a stretch.
func (f *followDay) universeOf(s *stretch) *market.Universe {
	c := f.campaign
	switch {
	case s.ByItself || s.allowList == c.AllowList && len(s.Of.Allowed) == 0 && !c.IsMade():
		return c.Universe(f.Sources)
	case !s.allowList:
		return &f.Sources.Live
	}
	u := f.Sources.Live.Subset(func(src int32) bool { return f.allows(s.Version, src) })
	return &u
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
	start = Or(v.Of.Start, c.Starts.Start(f.Zone))
	if c.Ends {
		end = c.Over.Start(f.Zone)
	}
	return start, Or(v.Of.End, end)
}

// delivers reports whether the campaign may be shown at an instant. A pause takes a while to finish.
func (f *followDay) delivers(v *Version, t time.Time) bool {
	if v.ByItself {
		return !f.campaign.IsMade() && f.campaign.DeliversOn(f.sd.day)
	}
	start, end := f.span(v)
	if t.Before(start) || !end.IsZero() && !t.Before(end) || f.st.Balance == "depleted" {
		return false
	}
	return Or(v.Of.Status, f.campaign.Status(f.sd.day)) == "active" || t.Before(v.Of.PausedUntil)
}

// runs reports whether a creative runs in a stretch. One that is hidden does not, as delivery_status has it too.
func (f *followDay) runs(s *stretch, cr *market.Creative) bool {
	if s.ByItself {
		return cr.Number == 0 && cr.ExistsOn(f.sd.day) && cr.Status(f.sd.day) == "active"
	}
	of := s.creative(cr.ID)
	return of.Hidden != Hide && Or(of.Status, cr.Status(f.sd.day)) == "active"
}

// buys reports whether a source is bought in a stretch, and at what bid.
func (f *followDay) buys(s *stretch, src int32) (bid int64, ok bool) {
	c := f.campaign
	byItself := c.Bid(f.sd.day)
	h := c.SourceHash(src)
	own := c.Overrides > 0 && h%c.Overrides == 1
	if own {
		byItself = c.OverrideBid(byItself, h)
	}
	if s.ByItself {
		return byItself, true
	}
	if s.allowList && !f.allows(s.Version, src) || !s.allowList && s.Of.Blocked[src] {
		return 0, false
	}
	asked, is := s.Of.Bids[src]
	switch {
	case s.Of.Optimized[src]:
		return max(market.LowestBid, s.bid*int64(50+min(f.Sources.Worth[src]*50/256, 100))/100), true
	case is && asked > 0:
		return asked, true
	case own && !is:
		return byItself, true
	}
	return s.bid, true
}

// draw returns a source's traffic during a stretch, in 256ths of the traffic without changes, and the bid. Twice the
// bid draws twice the traffic, from a sixteenth to four times; an audience draws by its share of the subscribers.
func (f *followDay) draw(s *stretch, cr *market.Creative, src int32) (factor uint64, bid int64) {
	if !s.delivers || !f.runs(s, cr) {
		return 0, 0
	}
	bid, ok := f.buys(s, src)
	switch {
	case !ok:
		return 0, 0
	case s.ByItself:
		return 256, bid
	}
	usual, reach := int64(500_000), f.campaign.Audience.Reach()
	if f.campaign.IsMade() {
		reach = (&market.Audience{Country: "US"}).Reach()
	} else {
		usual, _ = f.buys(&stretch{Version: &Version{ByItself: true}}, src)
	}
	byBid := min(max(256*uint64(bid)/uint64(usual), 16), 1024)
	byReach := min(max(256*s.reach/reach, 1), 1024)
	return byBid * byReach >> 8, bid
}

// entries are the campaign's creatives with their rows, within the day's limit.
func (f *followDay) entries() []Entry {
	var out []Entry
	c, d := f.campaign, f.sd.day
	for _, cr := range slices.Concat(c.Creatives, f.st.Changes.Campaign(c.ID).Made) {
		if cr.Number == 0 && !cr.ExistsOn(d) || cr.Number > 0 && clock.DayOf(cr.CreatedAt, f.Zone) > d {
			continue
		}
		e := Entry{Creative: cr, key: chance.Hash(cr.Key, chance.AboutRows, uint64(d)), universe: f.universe}
		e.ClickRate, e.ConvertRate = cr.Rates()
		f.st.Changes.Plant(&e, d)
		i := slices.IndexFunc(f.all, func(e Entry) bool { return e.Creative == cr })
		if i >= 0 && f.universe == c.Universe(f.Sources) {
			e.rows = f.all[i].rows
		}
		if e.rows == 0 {
			e.rows = f.usualRows(&e)
		}
		e.follows = true
		f.fill(&e)
		out = append(out, e)
	}
	if f.limit > 0 {
		stopAt(out, f.limit)
	}
	return out
}

// usualRows is how many rows a creative has that has none by itself.
func (f *followDay) usualRows(e *Entry) int {
	runs := slices.ContainsFunc(f.stretches, func(s stretch) bool { return s.delivers && f.runs(&s, e.Creative) })
	if len(e.universe.Src) == 0 || !runs {
		return 0
	}
	weight := f.campaign.Weight * e.Creative.Weight * (80 + e.key%41)
	hi, lo := bits.Mul64(rowsWanted(f.Account, f.sd.day), weight)
	rows, _ := bits.Div64(hi, lo, max(f.traffic, weight))
	return min(1+int(rows), e.most())
}

// fill computes the rows of an entry, as [Day.compute] does, of the stretches.
func (f *followDay) fill(e *Entry) {
	for j := range e.rows {
		h := chance.Mix(e.key + uint64(j)*0x9e3779b97f4a7c15)
		source := e.universe.Pick(j, e.rows, h)
		h = chance.Mix(h)
		impressions, clicks := f.sd.counts(e, source, h)
		var share, more, clicked uint64
		var spend, price int64
		for i := range f.stretches {
			s := &f.stretches[i]
			factor, bid := f.draw(s, e.Creative, source)
			if more = 0; factor == 0 {
				continue
			}
			share += uint64(s.end-s.begin) * factor >> 8
			now := min(max(1, impressions*share>>16), (clicks*share+h>>44&0xffff)>>16)
			price = priceOf(bid, f.campaign.SourceHash(source))
			spend += int64(now-clicked) * price
			clicked = now
			more = uint64(1<<16-s.end) * factor >> 8
		}
		if share == 0 || !e.isThere(j, filledBy(uint32(min(share, 1<<16)))) {
			continue
		}
		r := Row{Day: f.sd.day, Source: source, Campaign: f.campaign, Creative: e.Creative}
		back := min(f.sd.credit(h, clicks), int64(clicked))
		r.Impressions = int64(max(1, impressions*share>>16))
		r.Clicks, r.Spend = int64(clicked)-back, max(0, spend-back*price)
		r.Conversions = f.sd.conversions(e, source, h, clicks*(share+more)>>16, r.Clicks)
		at, there := slices.BinarySearchFunc(e.list, source, func(r Row, s int32) int { return int(r.Source - s) })
		if there {
			e.list[at].Add(r.Measures)
			e.gross[at] += spend
			continue
		}
		e.list, e.gross = slices.Insert(e.list, at, r), slices.Insert(e.gross, at, spend)
	}
}

// limitReached reports whether a campaign that follows its settings has spent its limit of today.
func (st *State) limitReached(c *market.Campaign) bool {
	at := *st
	at.AsOf = st.Now
	all, traffic := byItself(st.Account, st.Today)
	versions := st.versionsOf(c, st.Today)
	f := at.followDay(at.bareDay(st.Today), c, versions, all, traffic)
	f.limit = f.limitOf(&versions[len(versions)-1])
	return f.limit > 0 && stopAt(f.entries(), f.limit) >= f.limit
}

// bareDay is a day without its rows.
func (st *State) bareDay(d clock.Day) *Day {
	return &Day{day: d, sources: st.Account.Sources, began: d.Start(st.Account.Zone).Unix(), known: st.AsOf.Unix()}
}
