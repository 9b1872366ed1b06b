package ledger

import (
	"math/bits"
	"slices"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// followCreative is a creative of the campaign with its allowed traffic, by epoch.
type followCreative struct {
	Entry
	lots [][]lot
}

// lot is what one source has for a creative on a whole day.
type lot struct {
	source              int32
	order               int // among the rows of its block, as they come in
	hash                uint64
	impressions, clicks uint64
}

// layCreatives finds the creatives that there are on the day, and what each may have.
func (f *followDay) layCreatives(st *State, byItself []Entry, traffic uint64) {
	c, d := f.campaign, f.sd.day
	for _, cr := range slices.Concat(c.Creatives, st.Changes.Campaign(c.ID).Made) {
		if cr.Number == 0 && !cr.ExistsOn(d) || cr.Number > 0 && clock.DayOf(cr.CreatedAt, f.Zone) > d {
			continue
		}
		fc := &followCreative{Entry: Entry{Creative: cr, key: chance.Hash(cr.Key, chance.AboutRows, uint64(d)),
			universe: c.Universe(f.Sources)}}
		fc.ClickRate, fc.ConvertRate = cr.Rates()
		st.Changes.Plant(&fc.Entry, d)
		if i := slices.IndexFunc(byItself, func(e Entry) bool { return e.Creative == cr }); i >= 0 {
			fc.rows = byItself[i].rows
		}
		f.layLots(fc, traffic)
		f.creatives = append(f.creatives, fc)
	}
}

// layLots computes what a creative may have of each source, for every epoch in
// which it runs at all.
func (f *followDay) layLots(fc *followCreative, traffic uint64) {
	own := fc.Entry
	for _, s := range f.stretches {
		for len(fc.lots) <= s.epoch {
			fc.lots = append(fc.lots, nil)
		}
		if fc.lots[s.epoch] != nil || !s.delivers || !f.runs(s.rules.Version, fc.Creative) {
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
func (f *followDay) usualRows(e *Entry, traffic uint64) int {
	if len(e.universe.Src) == 0 {
		return 0
	}
	weight := f.campaign.Weight * e.Creative.Weight * (80 + e.key%41)
	hi, lo := bits.Mul64(rowsWanted(f.Account, f.sd.day), weight)
	rows, _ := bits.Div64(hi, lo, max(traffic, weight))
	return min(1+int(rows), e.most())
}

// lotsOf computes the rows of an entry as [spendDay.compute] does, for a whole day.
func (f *followDay) lotsOf(e *Entry) []lot {
	lots := make([]lot, e.rows)
	for j := range lots {
		h := chance.Mix(e.key + uint64(j)*0x9e3779b97f4a7c15)
		l := lot{source: e.universe.Pick(j, e.rows, h), hash: chance.Mix(h)}
		block := chance.Mix(e.key ^ uint64(j/64)*0x9e3779b97f4a7c15)
		l.order = (int(block>>8&63) + int(block&63|1)*(j%64)) & 63
		l.impressions, l.clicks = f.sd.counts(e, l.source, l.hash)
		lots[j] = l
	}
	return lots
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
func (f *followDay) measure(cr *market.Creative, l *lot, epoch int) (m measured) {
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
		m.price = priceOf(bid, f.campaign.SourceHash(l.source))
		m.spend += int64(clicks-m.clicks) * m.price
		m.clicks = clicks
		if i == len(f.stretches)-1 {
			m.more = uint64(1<<16-s.end) * factor >> 8
		}
	}
	return m
}

// visible reports whether a row with a share of the traffic has come in.
func (f *followDay) visible(l *lot, share uint64) bool {
	return share > 0 && l.order < filledBy(uint32(min(share, 1<<16)))
}

// entries are the campaign's creatives with their rows.
func (f *followDay) entries() []Entry {
	var out []Entry
	for _, fc := range f.creatives {
		e := fc.Entry
		e.follows = true
		for epoch := range fc.lots {
			for i := range fc.lots[epoch] {
				e.list = f.appendRow(e.list, fc, &fc.lots[epoch][i], epoch)
			}
		}
		slices.SortStableFunc(e.list, func(x, y Row) int { return int(x.Source - y.Source) })
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
func (f *followDay) appendRow(rows []Row, fc *followCreative, l *lot, epoch int) []Row {
	m := f.measure(fc.Creative, l, epoch)
	if !f.visible(l, m.share) {
		return rows
	}
	r := Row{Day: f.sd.day, Source: l.source, Campaign: f.campaign, Creative: fc.Creative}
	clicks := l.clicks * (m.share + m.more) >> 16 // when the day is over
	clicked := int64(m.clicks)
	if back := f.sd.credit(l.hash, l.clicks); back > 0 {
		back = min(back, clicked)
		clicked -= back
		m.spend = max(0, m.spend-back*m.price)
	}
	r.Impressions = int64(max(1, l.impressions*m.share>>16))
	r.Clicks, r.Spend = clicked, m.spend
	r.Conversions = f.sd.conversions(&fc.Entry, l.source, l.hash, clicks, clicked)
	return append(rows, r)
}

// mergeSources adds up neighbours of one source.
func mergeSources(rows []Row) []Row {
	out := rows[:0]
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].Source == r.Source {
			out[n-1].Add(r.Measures)
		} else {
			out = append(out, r)
		}
	}
	return out
}
