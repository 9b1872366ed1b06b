package adsim

import (
	"cmp"
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
func (st *state) followEntries(sd *spendDay, sc scope, all []entry, traffic uint64) []entry {
	ids := st.followed(sd.day, st.account.zone)
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
			f := st.followDay(sd, st.changes.history[id], byItself[id], traffic)
			rest = append(rest, f.entries()...)
		}
	}
	slices.SortStableFunc(rest, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.creative.campaign.id, y.creative.campaign.id), cmp.Compare(x.creative.id,
			y.creative.id))
	})
	return rest
}

// followDay is one such campaign on one day.
type followDay struct {
	*account
	st        *state
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

func (st *state) followDay(sd *spendDay, versions []version, byItself []entry, traffic uint64) *followDay {
	f := &followDay{account: st.account, st: st, sd: sd, campaign: versions[1].campaign, bare: &versions[0]}
	f.layStretches(st, versions)
	f.layCreatives(st, byItself, traffic)
	f.applyLimits()
	return f
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
	// What was over before the day, even for slow sources, does not matter.
	first := sort.Search(len(versions), func(i int) bool { return versions[i].at.After(began.Add(-sourceLag)) })
	versions = versions[max(0, first-1):]
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
		s := stretch{from: from, to: to, begin: arrivedShare(f.sd.day, from, f.zone), end: arrivedShare(f.sd.day, to,
			f.zone), rules: at(from), late: at(from.Add(-sourceLag))}
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
	s.to, s.end = t, arrivedShare(f.sd.day, t, f.zone)
	return s
}

// limitReached says whether a campaign that follows its settings has spent what it
// may on this day.
func (st *state) limitReached(c *campaign) bool {
	versions := st.changes.history[c.id]
	at := *st
	at.asOf = st.now
	sd := &spendDay{
		day:     st.today,
		sources: st.account.sources,
		began:   st.today.start(st.account.zone).Unix(),
		known:   st.now.Unix(),
	}
	own, traffic := byItself(st.account, st.today)
	own = slices.DeleteFunc(own, func(e entry) bool { return e.creative.campaign != c })
	f := at.followDay(sd, versions, own, traffic)
	limit := f.rulesOf(&versions[len(versions)-1]).limit
	return limit > 0 && f.spent() >= limit
}
