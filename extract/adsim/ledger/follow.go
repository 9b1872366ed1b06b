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

// In a prepaid account, the spending of a campaign follows its settings. This begins on the day of the first deposit or
// on the day of the campaign's first change, whichever is earlier. On earlier days, and in an account that pays by
// card, a campaign spends as generated.
//
// When spending follows the settings, each generated row keeps only the traffic that arrives while the campaign and the
// creative run and the source is bought. A higher bid increases this traffic and the price of a click. If the rows of a
// campaign together cost more than its daily limit, they are scaled down in proportion. If all rows of a day then cost
// more than the remaining balance, all are scaled down in the same way.

// generatedOnly is the history of a campaign that spends as generated: a single Version without changes.
var generatedOnly = []Version{{Generated: true, Changes: &NoCampaignChanges}}

// versionsOf returns the versions of a campaign if its spending on a day follows the settings. It returns nil if the
// campaign spends as generated on that day.
func (st *State) versionsOf(c *market.Campaign, d clock.Day) []Version {
	if st.Changes == nil {
		return nil
	}
	versions := st.Changes.History[c.ID]
	if len(versions) > 1 && d >= clock.DayOf(versions[1].At, st.Account.Zone) {
		return versions
	}
	if st.prepaidOn(d) {
		return append(generatedOnly[:1:1], Version{At: d.Start(st.Account.Zone), Changes: &NoCampaignChanges})
	}
	return nil
}

// entriesOf computes the rows of a day, as entries sorted by campaign and creative.
func (st *State) entriesOf(d clock.Day) (list []Entry) {
	sd := st.dayOf(d)
	rows, traffic := generatedRows(st.Account, d)
	add := func(c *market.Campaign, versions []Version) {
		f := sd.follow(c, versions)
		f.generated, f.traffic = rows, traffic
		list = append(list, f.entries(versions)...)
	}
	existing := st.Account.ExistingOn(d)
	for _, c := range existing {
		versions := st.versionsOf(c, d)
		if versions == nil {
			versions = generatedOnly
		}
		add(c, versions)
	}
	if st.Changes != nil {
		more := st.Changes.Made
		for _, id := range slices.Sorted(maps.Keys(st.Changes.History)) { // archived campaigns included
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

// stopAt scales all rows down in proportion if together they cost more than amount, as if delivery stopped for all rows
// at the same time. The last click may exceed the amount. stopAt returns the resulting cost of the rows, before clicks
// are credited back.
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

// follower computes the rows of one campaign on one day.
type follower struct {
	*day
	campaign  *market.Campaign
	generated map[*market.Creative]int // number of rows that each creative would have without changes
	traffic   uint64                   // total weight that all creatives of the account would have without changes
	stretches []stretch
	universe  *market.Universe // universe of the last stretch
	limit     int64            // highest daily limit that was set on the day; 0 means no limit
}

// stretch is a part of the day during which the campaign's settings do not change.
type stretch struct {
	*Version
	begin, end uint32 // shares of the day's traffic that have arrived when the stretch begins and ends, in 65536ths
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
		start, end := f.spanOf(f.campaign, v.Changes)
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
			bid: Or(v.Changes.Bid, c.Bid(sd.day)), allowList: Or(v.Changes.AllowList, c.AllowList)}
		f.stretches = append(f.stretches, s)
		if !v.Generated && s.delivers {
			f.limit = max(f.limit, f.limitOf(c, v.Changes))
		}
		f.universe = f.universeOf(&s)
	}
	return f
}

// universeOf returns the sources that the campaign may buy during a stretch, without regard to its block list.
func (f *follower) universeOf(s *stretch) *market.Universe {
	c := f.campaign
	switch {
	case s.Generated || s.allowList == c.AllowList && len(s.Changes.Allowed) == 0 && !c.IsMade():
		return c.Universe(f.Account.Sources)
	case !s.allowList:
		return &f.Account.Sources.Live
	}
	u := f.Account.Sources.Live.Subset(func(src int32) bool { return f.allows(s.Version, src) })
	return &u
}

// allows reports whether a source is on the allow list of a version, changes included.
func (f *follower) allows(v *Version, src int32) bool {
	if allowed, changed := v.Changes.Allowed[src]; changed {
		return allowed
	}
	_, there := slices.BinarySearch(f.campaign.Allowed.Src, src)
	return f.campaign.AllowList && there
}

// delivers reports whether the campaign may be shown at an instant.
func (f *follower) delivers(v *Version, t time.Time) bool {
	if v.Generated {
		return !f.campaign.IsMade() && f.campaign.DeliversOn(f.day.day)
	}
	start, end := f.spanOf(f.campaign, v.Changes)
	if t.Before(start) || !end.IsZero() && !t.Before(end) {
		return false
	}
	return Or(v.Changes.Status, f.campaign.Status(f.day.day)) == "active"
}

// runs reports whether a creative runs during a stretch. A hidden creative does not run.
func (f *follower) runs(s *stretch, cr *market.Creative) bool {
	if s.Generated {
		return cr.Number == 0 && cr.ExistsOn(f.day.day) && cr.Status(f.day.day) == "active"
	}
	changes := s.creative(cr.ID)
	return !changes.Hidden && Or(changes.Status, cr.Status(f.day.day)) == "active"
}

// buys reports whether the campaign buys a source during a stretch, and returns the bid.
func (f *follower) buys(s *stretch, src int32) (bid int64, ok bool) {
	c := f.campaign
	generatedBid := c.Bid(f.day.day)
	h := c.SourceHash(src)
	overridden := c.Overrides > 0 && h%c.Overrides == 1
	if overridden {
		generatedBid = c.OverrideBid(generatedBid, h)
	}
	if s.Generated {
		return generatedBid, true
	}
	if s.allowList && !f.allows(s.Version, src) || !s.allowList && s.Changes.Blocked[src] {
		return 0, false
	}
	override, changed := s.Changes.Bids[src]
	switch {
	case changed && override > 0:
		return override, true
	case overridden && !changed:
		return generatedBid, true
	}
	return s.bid, true
}

// draw returns the bid for a source during a stretch, and a factor for the traffic that this bid buys. The factor 256
// stands for the generated traffic. The factor grows with the bid, from 16 (a sixteenth) to 1024 (four times the
// generated traffic). It is 0 if nothing is bought.
func (f *follower) draw(s *stretch, cr *market.Creative, src int32) (factor uint64, bid int64) {
	if !s.delivers || !f.runs(s, cr) {
		return 0, 0
	}
	bid, ok := f.buys(s, src)
	switch {
	case !ok:
		return 0, 0
	case s.Generated:
		return 256, bid
	}
	generatedBid := int64(500_000)
	if !f.campaign.IsMade() {
		generatedBid, _ = f.buys(&stretch{Version: &Version{Generated: true}}, src)
	}
	return min(max(256*uint64(bid)/uint64(generatedBid), 16), 1024), bid
}

// entries returns the campaign's creatives with their rows, scaled down to the daily limit.
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
			e.rows = f.generated[cr]
		}
		if e.rows == 0 && follows {
			e.rows = f.estimateRows(&e)
		}
		f.fill(&e)
		out = append(out, e)
	}
	if f.limit > 0 {
		stopAt(out, f.limit)
	}
	return out
}

// estimateRows returns the number of rows of a creative that has no generated number of rows. The number is
// proportional to the creative's weight in the traffic of the account.
func (f *follower) estimateRows(e *Entry) int {
	runs := slices.ContainsFunc(f.stretches, func(s stretch) bool { return s.delivers && f.runs(&s, e.Creative) })
	if len(e.universe.Src) == 0 || !runs {
		return 0
	}
	weight := f.campaign.Weight * e.Creative.Weight * (80 + e.key%41)
	hi, lo := bits.Mul64(rowsWanted(f.Account, f.day.day), weight)
	rows, _ := bits.Div64(hi, lo, max(f.traffic, weight))
	return min(1+int(rows), e.most())
}

// fill computes the rows of an entry (one creative on one day). The index of a row within the entry determines the
// row's source.
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
		if share == 0 || !e.exists(j, filledBy(uint32(min(share, 1<<16)))) {
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

// limitReached reports whether a campaign whose spending follows its settings has reached its daily limit today.
func (st *State) limitReached(c *market.Campaign) bool {
	at := *st
	at.AsOf, at.Frozen = st.Now, false
	versions := st.versionsOf(c, st.Today)
	f := at.dayOf(st.Today).follow(c, versions)
	f.generated, f.traffic = generatedRows(st.Account, st.Today)
	f.limit = f.limitOf(c, versions[len(versions)-1].Changes)
	return f.limit > 0 && stopAt(f.entries(versions), f.limit) >= f.limit
}
