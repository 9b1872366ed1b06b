package ledger

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// In a prepaid account spending follows the settings. Each row that a campaign would have without changes gets the part
// of the day's traffic during which the campaign and its creative ran and the source was bought, more of it for a
// higher bid, at the price of the bid of that time. If that is more than the day's limit, or than what is left of the
// balance, each row gets its part of the amount.

// byItselfOnly are the versions of a campaign that follows the seed alone.
var byItselfOnly = []Version{{ByItself: true, Of: &NoCampaignChanges}}

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
		return append(byItselfOnly[:1:1], Version{At: d.Start(st.Account.Zone), Of: &NoCampaignChanges})
	}
	return nil
}

// entriesOf computes the creatives of a day with their rows, by campaign and creative.
func (st *State) entriesOf(d clock.Day) (list []Entry) {
	sd := st.dayOf(d)
	rows, traffic := byItself(st.Account, d)
	add := func(c *market.Campaign, versions []Version) {
		f := sd.follow(c, versions)
		f.usual, f.traffic = rows, traffic
		list = append(list, f.entries(versions)...)
	}
	existing := st.Account.ExistingOn(d)
	for _, c := range existing {
		versions := st.versionsOf(c, d)
		if versions == nil {
			versions = byItselfOnly
		}
		add(c, versions)
	}
	if st.Changes != nil {
		more := st.Changes.Made
		for _, id := range slices.Sorted(maps.Keys(st.Changes.History)) { // of an archived one, too
			if c := st.Campaign(id); c != nil && !slices.Contains(existing, c) && !c.IsMade() {
				more = append(slices.Clip(more), c)
			}
		}
		for _, c := range more {
			if versions := st.versionsOf(c, d); versions != nil {
				add(c, versions)
			}
		}
	}
	if st.prepaidOn(d) {
		stopAt(list, st.fundsFor(d))
	}
	slices.SortStableFunc(list, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Creative.Campaign.ID, y.Creative.Campaign.ID),
			cmp.Compare(x.Creative.ID, y.Creative.ID))
	})
	return list
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

// follower is one campaign on one day.
type follower struct {
	*day
	campaign  *market.Campaign
	usual     map[*market.Creative]int // rows without changes
	traffic   uint64                   // of all creatives without changes
	stretches []stretch
	universe  *market.Universe // of the last stretch
	limit     int64            // the highest of the day; 0: none
}

// stretch is a part of the day over which nothing changes.
type stretch struct {
	*Version
	begin, end uint32 // the shares of the traffic that have arrived then
	bid        int64
	allowList  bool
	delivers   bool
}

func (sd *day) follow(c *market.Campaign, versions []Version) *follower {
	f := &follower{day: sd, campaign: c}
	zone := sd.Account.Zone
	began, ends := sd.day.Start(zone), (sd.day + 1).Start(zone)
	if sd.AsOf.Before(ends) {
		ends = sd.AsOf
	}
	cuts := []time.Time{began}
	for i := range versions {
		v := &versions[i]
		start, end := f.spanOf(f.campaign, v.Of)
		for _, t := range []time.Time{v.At, start, end} {
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
		s := stretch{Version: v, begin: clock.ArrivedShare(sd.day, from, zone),
			end: clock.ArrivedShare(sd.day, to, zone), delivers: f.delivers(v, from),
			bid: Or(v.Of.Bid, c.Bid(sd.day)), allowList: Or(v.Of.AllowList, c.AllowList)}
		f.stretches = append(f.stretches, s)
		if !v.ByItself && s.delivers {
			f.limit = max(f.limit, f.limitOf(c, v.Of))
		}
		f.universe = f.universeOf(&s)
	}
	return f
}

// universeOf is the sources that may be bought in a stretch.
func (f *follower) universeOf(s *stretch) *market.Universe {
	c := f.campaign
	switch {
	case s.ByItself || s.allowList == c.AllowList && len(s.Of.Allowed) == 0 && !c.IsMade():
		return c.Universe(f.Account.Sources)
	case !s.allowList:
		return &f.Account.Sources.Live
	}
	u := f.Account.Sources.Live.Subset(func(src int32) bool { return f.allows(s.Version, src) })
	return &u
}

// allows reports whether a source is on the allow list of a version.
func (f *follower) allows(v *Version, src int32) bool {
	if on, asked := v.Of.Allowed[src]; asked {
		return on
	}
	_, there := slices.BinarySearch(f.campaign.Allowed.Src, src)
	return f.campaign.AllowList && there
}

// delivers reports whether the campaign may be shown at an instant.
func (f *follower) delivers(v *Version, t time.Time) bool {
	if v.ByItself {
		return !f.campaign.IsMade() && f.campaign.DeliversOn(f.day.day)
	}
	start, end := f.spanOf(f.campaign, v.Of)
	if t.Before(start) || !end.IsZero() && !t.Before(end) || f.Balance == "depleted" {
		return false
	}
	return Or(v.Of.Status, f.campaign.Status(f.day.day)) == "active"
}

// runs reports whether a creative runs in a stretch. One that is hidden does not, as delivery_status has it too.
func (f *follower) runs(s *stretch, cr *market.Creative) bool {
	if s.ByItself {
		return cr.Number == 0 && cr.ExistsOn(f.day.day) && cr.Status(f.day.day) == "active"
	}
	of := s.creative(cr.ID)
	return of.Hidden != Hide && Or(of.Status, cr.Status(f.day.day)) == "active"
}

// buys reports whether a source is bought in a stretch, and at what bid.
func (f *follower) buys(s *stretch, src int32) (bid int64, ok bool) {
	c := f.campaign
	byItself := c.Bid(f.day.day)
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
	case is && asked > 0:
		return asked, true
	case own && !is:
		return byItself, true
	}
	return s.bid, true
}

// draw returns a source's traffic during a stretch, in 256ths of the traffic without changes, and the bid. Twice the
// bid draws twice the traffic, from a sixteenth to four times.
func (f *follower) draw(s *stretch, cr *market.Creative, src int32) (factor uint64, bid int64) {
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
	usual := int64(500_000)
	if !f.campaign.IsMade() {
		usual, _ = f.buys(&stretch{Version: &Version{ByItself: true}}, src)
	}
	return min(max(256*uint64(bid)/uint64(usual), 16), 1024), bid
}

// entries are the campaign's creatives with their rows, within the day's limit.
func (f *follower) entries(versions []Version) []Entry {
	var out []Entry
	c, d := f.campaign, f.day.day
	creatives, follows := c.Creatives, len(versions) > 1
	if follows {
		creatives = slices.Concat(creatives, f.Changes.Campaign(c.ID).Made)
	}
	for _, cr := range creatives {
		if cr.Number == 0 && !cr.ExistsOn(d) || cr.Number > 0 && clock.DayOf(cr.CreatedAt, f.Account.Zone) > d {
			continue
		}
		e := Entry{Creative: cr, key: chance.Hash(cr.Key, chance.AboutRows, uint64(d)), universe: f.universe}
		e.ClickRate, e.ConvertRate = cr.Rates()
		f.Changes.Plant(&e, d)
		if f.universe == c.Universe(f.Account.Sources) {
			e.rows = f.usual[cr]
		}
		if e.rows == 0 && follows {
			e.rows = f.usualRows(&e)
		}
		f.fill(&e)
		out = append(out, e)
	}
	if f.limit > 0 {
		stopAt(out, f.limit)
	}
	return out
}

// usualRows is how many rows a creative has that has none by itself.
func (f *follower) usualRows(e *Entry) int {
	runs := slices.ContainsFunc(f.stretches, func(s stretch) bool { return s.delivers && f.runs(&s, e.Creative) })
	if len(e.universe.Src) == 0 || !runs {
		return 0
	}
	weight := f.campaign.Weight * e.Creative.Weight * (80 + e.key%41)
	hi, lo := bits.Mul64(rowsWanted(f.Account, f.day.day), weight)
	rows, _ := bits.Div64(hi, lo, max(f.traffic, weight))
	return min(1+int(rows), e.most())
}

// fill computes the rows of an entry. The index of a row determines its source.
func (f *follower) fill(e *Entry) {
	for j := range e.rows {
		h := chance.Mix(e.key + uint64(j)*0x9e3779b97f4a7c15)
		source := e.universe.Pick(j, e.rows, h)
		h = chance.Mix(h)
		impressions, clicks := f.counts(e, source, h)
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
		r := Row{Day: f.day.day, Source: source, Campaign: f.campaign, Creative: e.Creative}
		back := min(f.credit(h, clicks), int64(clicked))
		r.Impressions = int64(max(1, impressions*share>>16))
		r.Clicks, r.Spend = int64(clicked)-back, max(0, spend-back*price)
		r.Conversions = f.conversions(e, source, h, clicks*(share+more)>>16, r.Clicks)
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
	at.AsOf, at.Frozen = st.Now, false
	versions := st.versionsOf(c, st.Today)
	f := at.dayOf(st.Today).follow(c, versions)
	f.usual, f.traffic = byItself(st.Account, st.Today)
	f.limit = f.limitOf(c, versions[len(versions)-1].Of)
	return f.limit > 0 && stopAt(f.entries(versions), f.limit) >= f.limit
}
