package adsim

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"time"
)

// From its first change through the API on, the spending of a campaign follows its
// settings. Its rows are those that it would have by itself, as far as its settings
// allow them: each row gets the part of the day's traffic during which the campaign
// and its creative ran and the source was bought, more of it for a higher bid or a
// wider audience, at the price of the bid of that time, until the day's limit is
// reached. With settings as they were by themselves, the rows are the same.

// followed are the campaigns that follow their settings on a day, by ID.
func (st *state) followed(d day, zone *time.Location) []string {
	if st.changes == nil {
		return nil
	}
	var ids []string
	for id, versions := range st.changes.history {
		if d >= dayOf(versions[1].at, zone) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// followEntries puts the entries of the campaigns that follow their settings in the
// place of those that they would have by themselves. traffic is what all creatives
// draw by themselves.
func (a *account) followEntries(st *state, sd *spendDay, sc scope, all []entry, traffic uint64) []entry {
	ids := st.followed(sd.day, a.zone)
	if len(ids) == 0 {
		return all
	}
	byItself := map[string][]entry{}
	rest := all[:0:0]
	for _, e := range all {
		id := e.creative.campaign.id
		if _, follows := slices.BinarySearch(ids, id); follows {
			byItself[id] = append(byItself[id], e)
		} else {
			rest = append(rest, e)
		}
	}
	for _, id := range ids {
		if sc.campaign == "" || sc.campaign == id {
			f := a.followDay(st, sd, st.changes.history[id], byItself[id], traffic)
			rest = append(rest, f.entries()...)
		}
	}
	slices.SortStableFunc(rest, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.creative.campaign.id, y.creative.campaign.id), cmp.Compare(x.creative.id, y.creative.id))
	})
	return rest
}

// followDay is one such campaign on one day.
type followDay struct {
	*account
	sd        *spendDay
	campaign  *campaign
	bare      *version // before its first change
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

// rules is a version on a day.
type rules struct {
	*version
	bid, limit int64
	reach      uint64
	allowList  bool
	universe   *universe
}

// followCreative is a creative of the campaign with what it may have, by epoch.
type followCreative struct {
	entry
	lots [][]lot
}

// lot is what one source has for a creative on a whole day.
type lot struct {
	source              int32
	order               int // among the rows of its block, as they come in
	hash                uint64
	impressions, clicks uint64
}

func (a *account) followDay(st *state, sd *spendDay, versions []version, byItself []entry, traffic uint64) *followDay {
	f := &followDay{account: a, sd: sd, campaign: versions[1].campaign, bare: &versions[0]}
	f.layStretches(st, versions)
	f.layCreatives(st, byItself, traffic)
	f.applyLimits()
	return f
}

// rulesOf is what a version means on the day.
func (f *followDay) rulesOf(v *version) *rules {
	c := f.campaign
	r := &rules{version: v, bid: c.bid(f.sd.day), reach: c.audience.reach(), allowList: c.allowList, universe: c.universe(f.sources)}
	if v.byItself {
		return r
	}
	r.bid, r.allowList = or(v.of.bid, r.bid), or(v.of.allowList, r.allowList)
	if v.of.limit != nil {
		r.limit = *v.of.limit
	} else {
		r.limit = f.dailyLimit(c)
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

// layStretches cuts the day where something changes.
func (f *followDay) layStretches(st *state, versions []version) {
	began, ends := f.sd.day.start(f.zone), (f.sd.day + 1).start(f.zone)
	if st.asOf.Before(ends) {
		ends = st.asOf
	}
	cuts := []time.Time{began}
	cut := func(list ...time.Time) {
		for _, t := range list {
			if t.After(began) && t.Before(ends) {
				cuts = append(cuts, t)
			}
		}
	}
	var all []*rules
	for i := range versions {
		v := &versions[i]
		all = append(all, f.rulesOf(v))
		cut(v.at, v.at.Add(sourceLag))
		if !v.byItself {
			start, end := f.span(v)
			cut(v.of.pausedUntil, start, end)
		}
	}
	for _, m := range st.changes.balance {
		cut(m.at)
	}
	slices.SortFunc(cuts, time.Time.Compare)
	cuts = slices.CompactFunc(cuts, time.Time.Equal)
	at := func(t time.Time) *rules {
		i := sort.Search(len(all), func(i int) bool { return all[i].at.After(t) })
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
		s := stretch{from: from, to: to, begin: arrivedShare(f.sd.day, from, f.zone), end: arrivedShare(f.sd.day, to, f.zone), rules: at(from), late: at(from.Add(-sourceLag))}
		s.delivers = f.delivers(st, s.rules.version, from)
		if n := len(f.stretches); n > 0 {
			s.epoch = f.stretches[n-1].epoch
			if !sameUniverse(f.stretches[n-1].rules.universe, s.rules.universe) {
				s.epoch++
			}
		}
		f.stretches = append(f.stretches, s)
	}
}

func sameUniverse(x, y *universe) bool { return x == y || slices.Equal(x.src, y.src) }

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

// isMade says whether the campaign was created through the API or by a change.
func (c *campaign) isMade() bool { return c.created == never }

// runs says whether a creative runs in a version.
func (f *followDay) runs(v *version, cr *creative) bool {
	if v.byItself {
		return cr.number == 0 && cr.existsOn(f.sd.day) && cr.status(f.sd.day) == "active"
	}
	return or(v.creative(cr.id).status, cr.status(f.sd.day)) == "active"
}

// layCreatives finds the creatives that there are on the day, and what each may have.
func (f *followDay) layCreatives(st *state, byItself []entry, traffic uint64) {
	c, d := f.campaign, f.sd.day
	for _, cr := range slices.Concat(c.creatives, st.changes.campaign(c.id).made) {
		if cr.number == 0 && !cr.existsOn(d) || cr.number > 0 && dayOf(cr.createdAt, f.zone) > d {
			continue
		}
		fc := &followCreative{entry: entry{creative: cr, key: chance(cr.key, aboutRows, uint64(d)), universe: c.universe(f.sources)}}
		fc.clickRate = c.clickRate * (70 + cr.key%61) / 100
		fc.convertRate = c.convertRate * (70 + cr.key>>8%61) / 100
		if i := slices.IndexFunc(byItself, func(e entry) bool { return e.creative == cr }); i >= 0 {
			fc.rows = byItself[i].rows
		}
		f.layLots(fc, traffic)
		f.creatives = append(f.creatives, fc)
	}
}

// layLots computes what a creative may have of each source, for every epoch in
// which it runs at all.
func (f *followDay) layLots(fc *followCreative, traffic uint64) {
	own := fc.entry
	for _, s := range f.stretches {
		for len(fc.lots) <= s.epoch {
			fc.lots = append(fc.lots, nil)
		}
		if fc.lots[s.epoch] != nil || !s.delivers || !f.runs(s.rules.version, fc.creative) {
			continue
		}
		e := own
		if e.rows == 0 || !sameUniverse(e.universe, s.rules.universe) {
			e.universe = s.rules.universe
			e.rows = f.usualRows(&e, traffic)
		}
		fc.lots[s.epoch] = f.lotsOf(&e)
	}
}

// usualRows is how many rows a creative has that has none by itself.
func (f *followDay) usualRows(e *entry, traffic uint64) int {
	if len(e.universe.src) == 0 {
		return 0
	}
	weight := f.campaign.weight * e.creative.weight * (80 + e.key%41)
	hi, lo := bits.Mul64(f.rowsWanted(f.sd.day), weight)
	rows, _ := bits.Div64(hi, lo, max(traffic, weight))
	return min(1+int(rows), e.most())
}

// lotsOf computes the rows of an entry as [spendDay.compute] does, for a whole day.
func (f *followDay) lotsOf(e *entry) []lot {
	lots := make([]lot, e.rows)
	for j := range lots {
		h := mix(e.key + uint64(j)*0x9e3779b97f4a7c15)
		l := lot{source: e.universe.pick(j, e.rows, h), hash: mix(h)}
		block := mix(e.key ^ uint64(j/64)*0x9e3779b97f4a7c15)
		l.order = (int(block>>8&63) + int(block&63|1)*(j%64)) & 63
		l.impressions, l.clicks = f.sd.whole(e, l.source, l.hash)
		lots[j] = l
	}
	return lots
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
	if !s.delivers || !f.runs(s.rules.version, cr) {
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

// measured is what a row has after some stretches.
type measured struct {
	share  uint64 // of the traffic, in 65536ths
	clicks uint64
	spend  int64
	price  int64 // of the last click
	more   uint64
}

// measure adds the stretches of an epoch up for a row. What follows the last one
// until the day's end is as in it.
func (f *followDay) measure(cr *creative, l *lot, epoch int) (m measured) {
	for i := range f.stretches {
		s := &f.stretches[i]
		if s.epoch != epoch || s.end == s.begin && i+1 < len(f.stretches) {
			continue
		}
		factor, bid := f.draw(s, cr, l.source)
		m.more = 0
		if factor == 0 {
			continue
		}
		m.share += uint64(s.end-s.begin) * factor >> 8
		shown := max(1, l.impressions*m.share>>16)
		clicks := min(shown, (l.clicks*m.share+l.hash>>44&0xffff)>>16)
		m.price = priceOf(bid, f.campaign.sourceHash(l.source))
		m.spend += int64(clicks-m.clicks) * m.price
		m.clicks = clicks
		if i == len(f.stretches)-1 {
			m.more = uint64(1<<16-s.end) * factor >> 8
		}
	}
	return m
}

// spent is what the campaign has cost.
func (f *followDay) spent() (sum int64) {
	for _, fc := range f.creatives {
		for epoch := range fc.lots {
			for i := range fc.lots[epoch] {
				l := &fc.lots[epoch][i]
				if m := f.measure(fc.creative, l, epoch); f.visible(l, m.share) {
					sum += m.spend
				}
			}
		}
	}
	return sum
}

// visible says whether a row with a share of the traffic has come in.
func (f *followDay) visible(l *lot, share uint64) bool {
	return share > 0 && l.order < filledBy(uint32(min(share, 1<<16)))
}

// applyLimits ends delivery where the limit of the time is reached.
func (f *followDay) applyLimits() {
	whole := f.stretches
	f.stretches = nil
	for _, s := range whole {
		f.stretches = append(f.stretches, s)
		if s.rules.limit == 0 || !s.delivers || f.spent() <= s.rules.limit {
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
	}
}

// until is the first part of a stretch.
func (f *followDay) until(s stretch, t time.Time) stretch {
	s.to, s.end = t, arrivedShare(f.sd.day, t, f.zone)
	return s
}

// entries are the campaign's creatives with their rows.
func (f *followDay) entries() []entry {
	var out []entry
	for _, fc := range f.creatives {
		e := fc.entry
		e.follows = true
		for epoch := range fc.lots {
			for i := range fc.lots[epoch] {
				e.list = f.appendRow(e.list, fc, &fc.lots[epoch][i], epoch)
			}
		}
		slices.SortStableFunc(e.list, func(x, y row) int { return int(x.source - y.source) })
		e.list = mergeSources(e.list)
		if f.sd.edits != nil || f.sd.scales != nil {
			for i := range e.list {
				f.sd.restate(&e.list[i])
			}
		}
		e.rows = len(e.list)
		out = append(out, e)
	}
	return out
}

// appendRow appends the row of a lot, if it has come in.
func (f *followDay) appendRow(rows []row, fc *followCreative, l *lot, epoch int) []row {
	m := f.measure(fc.creative, l, epoch)
	if !f.visible(l, m.share) {
		return rows
	}
	r := row{day: f.sd.day, source: l.source, campaign: f.campaign, creative: fc.creative}
	clicks := l.clicks * (m.share + m.more) >> 16 // when the day is over
	clicked := int64(m.clicks)
	if back := f.sd.credit(l.hash, l.clicks); back > 0 {
		back = min(back, clicked)
		clicked -= back
		m.spend = max(0, m.spend-back*m.price)
	}
	r.Impressions = int64(max(1, l.impressions*m.share>>16))
	r.Clicks, r.Spend = clicked, m.spend
	r.Conversions = f.sd.conversions(&fc.entry, l.source, l.hash, clicks, clicked)
	return append(rows, r)
}

// mergeSources adds up neighbours of one source.
func mergeSources(rows []row) []row {
	out := rows[:0]
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].source == r.source {
			out[n-1].add(r.Measures)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// limitReached says whether a campaign that follows its settings has spent what it
// may on this day.
func (a *account) limitReached(st *state, c *campaign) bool {
	versions := st.changes.history[c.id]
	at := *st
	at.asOf = st.now
	sd := &spendDay{day: st.today, sources: a.sources, began: st.today.start(a.zone).Unix(), known: st.now.Unix()}
	own, traffic := a.byItself(st.today)
	own = slices.DeleteFunc(own, func(e entry) bool { return e.creative.campaign != c })
	f := a.followDay(&at, sd, versions, own, traffic)
	limit := f.rulesOf(&versions[len(versions)-1]).limit
	return limit > 0 && f.spent() >= limit
}

// countryReach is how many of a thousand subscribers are in a country.
var countryReach = map[string]uint64{"US": 560, "CA": 60, "DE": 60, "AU": 40, "GB": 80, "SG": 10, "AE": 10, "FR": 50, "IT": 40, "JP": 50, "IL": 10, "IE": 10, "HK": 10, "NL": 10}

var platformReach = map[string]uint64{"DESKTOP": 42, "MOBILE": 46, "TABLET": 9, "OTHER": 3}

// reach is how many of the subscribers an audience has, in 1048576ths, and 1 at least.
func (a *audience) reach() uint64 {
	r := uint64(1 << 20)
	if a.country != "" {
		r = r * countryReach[a.country] / 1000
	}
	if a.country == "US" && len(a.states) > 0 {
		r = r * uint64(len(a.states)) / 50
	}
	if len(a.platforms) > 0 {
		sum := uint64(0)
		for _, p := range a.platforms {
			sum += platformReach[p]
		}
		r = r * sum / 100
	}
	const minutes = 5_256_000
	if a.moreThan > 0 {
		r = r * uint64(minutes-a.moreThan+minutes/50) / (minutes + minutes/50)
	}
	if a.lessThan > 0 {
		r = r * uint64(a.lessThan+minutes/50) / (minutes + minutes/50)
	}
	if a.minAge > 0 || a.maxAge > 0 {
		oldest := 120
		if a.maxAge > 0 {
			oldest = a.maxAge
		}
		r = r * uint64(max(1, oldest-max(a.minAge, 13)+1)) / 108
	}
	if a.gender != "" {
		r /= 2
	}
	return max(1, r)
}
