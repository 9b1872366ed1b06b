package ledger

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// From its first change through the API on, the spending of a campaign follows its
// settings. Its rows are those that it would have by itself, as far as its settings
// allow them: each row gets the part of the day's traffic during which the campaign
// and its creative ran and the source was bought, more of it for a higher bid or a
// wider audience, at the price of the bid of that time, until the day's limit is
// reached. With settings as they were by themselves, the rows are the same.

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

// layStretches cuts the day where something changes.
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
	whole := f.stretches
	f.stretches = nil
	before := int64(0) // spent in the stretches so far
	for _, s := range whole {
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

// limitReached says whether a campaign that follows its settings has spent what it
// may on this day.
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
