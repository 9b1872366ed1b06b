package main

import (
	"maps"
	"slices"
	"time"

	"spendsync/extract/adsim"
)

// changeList puts sources on the list of a mode, or takes them off.
func (l *life) changeList(mode, op string, on bool) bool {
	listOf := func(a *ad) map[string]bool {
		if mode == "allow_list" {
			return a.allowed
		}
		return a.blocked
	}
	least := 0
	if mode == "allow_list" {
		least = 1 // the last allowed source stays
	}
	a := l.pick(func(a *ad) bool { return isOpen(a) && a.mode == mode && (on || len(listOf(a)) > least) })
	if a == nil {
		return false
	}
	list, ids := listOf(a), l.sources(1+l.rng.IntN(3))
	if !on {
		ids = slices.Sorted(maps.Keys(list))[:1]
	}
	l.must(op, args{"campaign_id": a.id, "source_ids": ids})
	for _, id := range ids {
		if on {
			list[id] = true
		} else {
			delete(list, id)
		}
	}
	a.acted = true
	l.agreesOnSources(a)
	return true
}

// sources draws some.
func (l *life) sources(n int) (ids []string) {
	all := slices.Concat(l.service.GoodSources(), l.service.BadSources())
	for _, i := range l.rng.Perm(len(all))[:min(n, len(all))] {
		ids = append(ids, all[i])
	}
	return ids
}

// tryBlock only asks what a block would do.
func (l *life) tryBlock() bool {
	a := l.pick(func(a *ad) bool { return isOpen(a) && a.mode == "block_list" })
	if a == nil {
		return false
	}
	l.must("block_sources", args{"campaign_id": a.id, "source_ids": l.sources(2), "dry_run": true})
	l.agreesOnSources(a)
	return true
}

// blockForNothing blocks what is not blocked, and takes that back.
func (l *life) blockForNothing() bool {
	a := l.pick(func(a *ad) bool { return isOpen(a) && a.mode == "block_list" && a.seen })
	if a == nil {
		return false
	}
	ids := slices.DeleteFunc(l.sources(3), func(id string) bool { return a.blocked[id] })
	if len(ids) == 0 {
		return false
	}
	l.must("block_sources", args{"campaign_id": a.id, "source_ids": ids})
	l.wait(time.Minute)
	l.must("unblock_sources", args{"campaign_id": a.id, "source_ids": ids})
	a.acted, a.undone = true, true
	l.agreesOnSources(a)
	return true
}

func (l *life) bidForSources() bool {
	a := l.pick(isOpen)
	if a == nil {
		return false
	}
	ids, bid := l.sources(1+l.rng.IntN(2)), min(max(a.bid*int64(5+l.rng.IntN(15))/10/10_000*10_000, 300_000),
		25_000_000)
	l.must("set_source_bids", args{"campaign_id": a.id, "source_ids": ids, "bid": inDollars(bid)})
	for _, id := range ids {
		a.bids[id] = bid
	}
	a.acted = true
	l.agreesOnSources(a)
	return true
}

// resetBid takes a source's own bid away, one way or the other.
func (l *life) resetBid(a *ad, id string, how args) bool {
	if a == nil {
		return false
	}
	in := args{"campaign_id": a.id, "source_ids": []string{id}}
	maps.Copy(in, how)
	l.must("set_source_bids", in)
	delete(a.bids, id)
	a.acted = true
	l.agreesOnSources(a)
	return true
}

func (l *life) toAllowList() bool {
	a := l.pick(func(a *ad) bool { return isOpen(a) && a.mode == "block_list" && a.seen })
	if a == nil || l.count(func(a *ad) bool { return isOpen(a) && a.mode == "allow_list" }) > 2 {
		return false
	}
	a.mode = "allow_list"
	var add []string
	for _, id := range l.sources(3) {
		if !a.allowed[id] {
			add = append(add, id)
			a.allowed[id] = true
		}
	}
	return l.byDashboard(a, adsim.Change{Campaign: a.id, Sources: &adsim.SourceChange{Mode: a.mode, Allow: add}})
}
