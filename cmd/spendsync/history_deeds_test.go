package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/extract/adsim"
)

// deeds are the kinds of things that an advertiser, the dashboard and the reviewer
// do. Each does one, and reports whether there was something to do it to.
var deeds = []struct {
	what string
	do   func(*life) bool
}{
	{"create a campaign", func(l *life) bool { return l.create(nil, l.wording("First"), l.wording("Second")) }},
	{"create a paused campaign", func(l *life) bool { return l.create(args{"status": "paused"}, l.wording("First")) }},
	{"create a campaign for later", func(l *life) bool {
		return l.create(args{"start_date": l.service.Now().Add(150 * time.Minute).Format(time.RFC3339)},
			l.wording("First"))
	}},
	{"create a campaign with nothing but a bad creative", func(l *life) bool {
		if !l.create(nil, l.wording("Guaranteed riches")) {
			return false
		}
		l.ads[len(l.ads)-1].waits = l.deliverys["all_creatives_rejected"] == 0
		return true
	}},
	{"clone a campaign", (*life).cloneAd},
	{"pause a campaign", func(l *life) bool { return l.setStatus(l.pick(isActive), "paused") }},
	{"start a paused campaign", func(l *life) bool { return l.setStatus(l.pick(isPaused), "active") }},
	{"archive a campaign", func(l *life) bool {
		if l.count(isOpen) < 5 || l.done["archive a campaign"] > 0 && l.rng.IntN(8) > 0 {
			return false
		}
		return l.setStatus(l.pick(isOpen), "archived")
	}},
	{"rename a campaign", func(l *life) bool { return l.update(l.pick(isOpen), args{"name": l.name("Renamed")}) }},
	{"raise a bid", func(l *life) bool {
		a := l.pick(isOpen)
		return a != nil && l.update(a, args{"default_bid": inDollars(min(a.bid*3/2, 9_000_000))})
	}},
	{"lower a bid", func(l *life) bool {
		a := l.pick(isOpen)
		return a != nil && l.update(a, args{"default_bid": inDollars(max(a.bid*2/3/10_000*10_000, 300_000))})
	}},
	{"change a daily limit", func(l *life) bool {
		a := l.pick(isOpen)
		return a != nil &&
			l.update(a,
				args{"daily_spend_limit": inDollars(min(2*a.limit, 100_000_000+int64(l.rng.IntN(9))*25_000_000))})
	}},
	{"set a target CPA", func(l *life) bool {
		a := l.pick(isOpen)
		if a == nil {
			return false
		}
		cpa := int64(5+l.rng.IntN(20)) * 1_000_000
		if a.cpa > 0 {
			cpa = min(cpa, 2*a.cpa)
		}
		return l.update(a, args{"target_cpa": inDollars(cpa)})
	}},
	{"end a target CPA", func(l *life) bool {
		return l.done["optimize a source"] > 0 && l.update(l.pick(func(a *ad) bool { return isOpen(a) && a.cpa > 0 }),
			args{"target_cpa": nil})
	}},
	{"change an audience", func(l *life) bool { return l.update(l.pick(isOpen), args{"audience": l.audience()}) }},
	{"open an audience", func(l *life) bool {
		return l.update(l.pick(func(a *ad) bool { return isOpen(a) && len(a.audience) > 0 }), args{"audience": args{}})
	}},
	{"end a campaign on a date", func(l *life) bool {
		return l.update(l.pick(isRunning(l)),
			args{"end_date": l.service.Now().Add(time.Duration(2+l.rng.IntN(60)) * time.Hour).Truncate(time.Second).
				Format(time.RFC3339)})
	}},
	{"take an end date away", func(l *life) bool {
		return l.update(l.pick(func(a *ad) bool { return isOpen(a) && !a.end.IsZero() }), args{"end_date": nil})
	}},
	{"change two fields of a campaign", func(l *life) bool {
		a := l.pick(isOpen)
		return l.update(a, args{"name": l.name("Twice")}) &&
			l.update(a,
				args{"daily_spend_limit": inDollars(min(2*a.limit, 150_000_000+int64(l.rng.IntN(4))*10_000_000))})
	}},
	{"change a name and change it back", func(l *life) bool {
		a := l.pick(func(a *ad) bool { return isOpen(a) && a.seen && !a.acted })
		if a == nil {
			return false
		}
		was := a.name
		if !l.update(a, args{"name": l.name("Mistaken")}) {
			return false
		}
		a.undone = l.update(a, args{"name": was})
		return true
	}},
	{"pause and start again", func(l *life) bool {
		a := l.pick(func(a *ad) bool { return isActive(a) && a.seen && !a.acted })
		if l.usedUp || !l.setStatus(a, "paused") {
			return false
		}
		l.wait(time.Minute)
		a.undone = l.setStatus(a, "active")
		return true
	}},
	{"be refused", (*life).beRefused},
	{usedUp, (*life).useUp},

	{"block sources", func(l *life) bool { return l.changeList("block_list", "block_sources", true) }},
	{"unblock sources", func(l *life) bool { return l.changeList("block_list", "unblock_sources", false) }},
	{"allow sources", func(l *life) bool { return l.changeList("allow_list", "allow_sources", true) }},
	{"disallow sources", func(l *life) bool { return l.changeList("allow_list", "disallow_sources", false) }},
	{"try a block", (*life).tryBlock},
	{"block and unblock again", (*life).blockForNothing},
	{"bid for sources", (*life).bidForSources},
	{"reset a source's bid", func(l *life) bool {
		a := l.pick(func(a *ad) bool { return isOpen(a) && len(a.bids) > 0 })
		return a != nil && l.resetBid(a, slices.Sorted(maps.Keys(a.bids))[0], args{"bid": nil})
	}},
	{"optimize a source", func(l *life) bool {
		return l.resetBid(l.pick(func(a *ad) bool { return isOpen(a) && a.cpa > 0 }), l.sources(1)[0],
			args{"optimize": true})
	}},

	{"add creatives", func(l *life) bool { return l.add(false, l.wording("A fine offer"), l.wording("Another one")) }},
	{"add a creative that breaks the rules", func(l *life) bool {
		return l.add(false, l.wording("Guaranteed profit"))
	}},
	{"draft a creative", func(l *life) bool {
		return l.add(true, wording{title: l.name("Draft"), button1: "Click Here"})
	}},
	{"finish a draft", (*life).finishDraft},
	{"edit a creative in review", func(l *life) bool { return l.edit("pending_review", l.name("Edited")) }},
	{"edit a rejected creative", func(l *life) bool { return l.edit("rejected", l.name("Mended")) }},
	{"edit a running creative", func(l *life) bool { return l.edit("active", l.name("Second version")) }},
	{"break the rules in a running creative", func(l *life) bool { return l.edit("active", l.name("A miracle")) }},
	{"pause a creative", func(l *life) bool { return l.setPiece("active", "paused") }},
	{"start a paused creative", func(l *life) bool { return l.setPiece("paused", "active") }},
	{"archive a creative", func(l *life) bool { return l.setPiece("any", "archived") }},
	{"clone a creative", func(l *life) bool { return l.clonePiece(false) }},
	{"clone a creative into another campaign", func(l *life) bool { return l.clonePiece(true) }},
	{"approve on the spot", func(l *life) bool { return l.review(adsim.Verdict{Approve: true}) }},
	{"reject on the spot", func(l *life) bool {
		return l.review(adsim.Verdict{Reasons: []string{"wrong_language", "adult"}, Comment: "Not here."})
	}},

	{"the dashboard goes over to an allow list", (*life).toAllowList},
	{"the dashboard goes back to the block list", func(l *life) bool {
		a := l.pick(func(a *ad) bool { return isOpen(a) && a.mode == "allow_list" && a.seen })
		if a == nil || l.done["disallow sources"] == 0 {
			return false
		}
		a.mode = "block_list"
		return l.byDashboard(a, adsim.Change{Campaign: a.id, Sources: &adsim.SourceChange{Mode: a.mode}})
	}},
	{"the dashboard excludes some of the audience", func(l *life) bool {
		a := l.pick(func(a *ad) bool { return isOpen(a) && !a.unsupported })
		if a == nil {
			return false
		}
		a.unsupported = true
		return l.byDashboard(a, adsim.Change{Campaign: a.id, Set: map[string]any{"unsupported_targeting": true}})
	}},
	{"the service rejects a campaign", func(l *life) bool {
		a := l.pick(isActive)
		if a == nil || l.count(isActive) < 2 {
			return false
		}
		a.status = "rejected"
		return l.byDashboard(a, adsim.Change{Campaign: a.id, Set: map[string]any{"status": "rejected"}})
	}},
	{"pause a rejected campaign", func(l *life) bool {
		return l.setStatus(l.pick(func(a *ad) bool {
			return a.status == "rejected" && a.seen && !a.hidden &&
				!a.acted
		}), "paused")
	}},
	{"a campaign vanishes", func(l *life) bool {
		// A creative that no sync has read would be known from the report alone.
		a := l.pick(func(a *ad) bool {
			return isPaused(a) && a.seen && !slices.ContainsFunc(a.creatives, func(p *piece) bool { return !p.seen })
		})
		if a == nil || l.count(func(a *ad) bool { return a.hidden }) > 0 {
			return false
		}
		a.hidden = true
		return l.byDashboard(a, adsim.Change{Campaign: a.id, Do: adsim.Hide})
	}},
	{"a campaign is back", func(l *life) bool {
		for _, a := range l.ads {
			if a.hidden && l.diary.isDeleted("campaign_history", a.id) {
				a.hidden = false
				return l.byDashboard(a, adsim.Change{Campaign: a.id, Do: adsim.Show})
			}
		}
		return false
	}},
	{"a creative vanishes", func(l *life) bool {
		p := l.piece(func(p *piece) bool { return p.seen && p.status != "archived" })
		if p == nil {
			return false
		}
		p.hidden = true
		return l.byDashboard(p.of, adsim.Change{Creative: p.id, Do: adsim.Hide})
	}},
	{"a creative is back", func(l *life) bool {
		for _, a := range l.ads {
			for _, p := range a.creatives {
				if p.hidden && !a.hidden && a.status != "archived" && l.diary.isDeleted("creative_history", p.id) {
					p.hidden = false
					return l.byDashboard(a, adsim.Change{Creative: p.id, Do: adsim.Show})
				}
			}
		}
		return false
	}},
	{wired, (*life).wire},
}

func isOpen(a *ad) bool   { return a.status != "archived" && !a.hidden }
func isActive(a *ad) bool { return a.status == "active" && !a.hidden }
func isPaused(a *ad) bool { return a.status == "paused" && !a.hidden }

func isRunning(l *life) func(*ad) bool {
	return func(a *ad) bool { return isActive(a) && a.start.Before(l.service.Now()) }
}

// pick draws a campaign; nil where there is none.
func (l *life) pick(fits func(*ad) bool) *ad {
	var list []*ad
	for _, a := range l.ads {
		if !a.waits && fits(a) {
			list = append(list, a)
		}
	}
	if list == nil {
		return nil
	}
	return list[l.rng.IntN(len(list))]
}

func (l *life) count(fits func(*ad) bool) (n int) {
	for _, a := range l.ads {
		if fits(a) {
			n++
		}
	}
	return n
}

// piece draws a creative that is shown, of a campaign that may be changed.
func (l *life) piece(fits func(*piece) bool) *piece {
	var list []*piece
	for _, a := range l.ads {
		for _, p := range a.creatives {
			if isOpen(a) && !a.waits && !p.hidden && fits(p) {
				list = append(list, p)
			}
		}
	}
	if list == nil {
		return nil
	}
	return list[l.rng.IntN(len(list))]
}

// name is a name that was not there before.
func (l *life) name(what string) string {
	l.number++
	return fmt.Sprintf("%s %d", what, l.number)
}

// try does an operation that the day's budget of changes may stand against.
func (l *life) try(op string, in args) (map[string]any, bool) {
	l.t.Helper()
	answer, code := l.call(op, in)
	switch {
	case code == "":
		return answer, true
	case code == "rate_limited":
		l.isUsedUp()
		return nil, false
	}
	l.t.Fatalf("%s: %s %v: refused with %v", l.service.Now(), op, in, answer)
	return nil, false
}

// isUsedUp holds that the day's changes of campaigns are used up.
func (l *life) isUsedUp() {
	l.t.Helper()
	for _, m := range l.must("get_limits", args{})["limits"].([]any) {
		if m := m.(map[string]any); m["kind"] == "campaign_update" && m["used"] == m["limit"] {
			l.usedUp = true
			return
		}
	}
	l.t.Fatalf("%s: refused, and yet not all changes are used up", l.service.Now())
}

// agrees holds the service's answer about a campaign against what he knows.
func (l *life) agrees(a *ad, answer map[string]any) {
	l.t.Helper()
	var said ad
	said.take(answer)
	if got, want := strings.Join(said.cells(), "|"), strings.Join(a.cells(), "|"); got != want {
		l.t.Errorf("%s: of campaign %s the service answers\n%s\nhe knows\n%s", l.service.Now(), a.id, got, want)
	}
}

// agreesOnSources asks for the sources and holds the answer against what he knows.
func (l *life) agreesOnSources(a *ad) {
	l.t.Helper()
	said := ad{mode: a.mode}
	said.takeSources(l.must("get_source_settings", args{"campaign_id": a.id}))
	if got, want := said.rules(), a.rules(); !maps.Equal(got, want) {
		l.t.Errorf("%s: of campaign %s the service answers the rules\n%v\nhe knows\n%v", l.service.Now(), a.id,
			got, want)
	}
}

// newAd is a campaign of his own.
func (l *life) newAd() *ad {
	a := &ad{blocked: map[string]bool{}, allowed: map[string]bool{}, bids: map[string]int64{}, mode: "block_list",
		acted: true}
	l.ads = append(l.ads, a)
	return a
}

// A sync asks at most 120 times in a minute, and three times for each campaign.
const mostAds, mostOpenAds = 33, 9

func (l *life) create(more args, creatives ...wording) bool {
	if len(l.ads) >= mostAds || l.count(isOpen) >= mostOpenAds {
		return false
	}
	bid, name := int64(100+l.rng.IntN(400))*10_000, l.name("Campaign")
	in := args{"name": name, "audience": args{}, "default_bid": inDollars(bid), "daily_spend_limit": 100}
	maps.Copy(in, more)
	got := l.must("create_campaign", in)
	a := l.newAd()
	a.id, a.name, a.status, a.bid, a.limit, a.start = asText(got["id"]), name, "active", bid, 100_000_000,
		l.service.Now().Truncate(time.Second)
	if in["status"] != nil {
		a.status = "paused"
	}
	if in["start_date"] != nil {
		a.start = asTime(in["start_date"])
	}
	l.agrees(a, got)
	return l.addTo(a, false, creatives...)
}

func (l *life) cloneAd() bool {
	from := l.pick(func(a *ad) bool { return !a.hidden && a.limit > 0 && len(a.creatives) > 1 })
	if from == nil || len(l.ads) >= mostAds || l.count(isOpen) >= mostOpenAds {
		return false
	}
	name := l.name("Clone")
	got := l.must("clone_campaign", args{"campaign_id": from.id, "name": name, "status": "active"})
	a := l.newAd()
	*a = ad{
		id: asText(got["id"]), name: name, status: "active", bid: from.bid, limit: from.limit, cpa: from.cpa,
		start: from.start, end: from.end,
		audience: maps.Clone(from.audience), unsupported: from.unsupported, mode: from.mode, blocked: map[string]bool{},
		allowed: map[string]bool{}, bids: maps.Clone(from.bids), acted: true,
	}
	if a.mode == "allow_list" {
		a.allowed = maps.Clone(from.allowed)
	} else {
		a.blocked = maps.Clone(from.blocked)
	}
	l.agrees(a, got)
	l.agreesOnSources(a)
	var want []wording
	for _, p := range from.creatives {
		if !p.hidden && slices.Contains([]string{"active", "paused", "pending_review"}, p.status) {
			want = append(want, p.text)
		}
	}
	want = want[max(0, len(want)-20):]
	var copies []wording
	for _, id := range slices.Backward(got["cloned_creative_ids"].([]any)) {
		p := &piece{of: a, due: l.service.Now().Add(reviewTakes)}
		p.take(l.must("get_creative", args{"creative_id": id}))
		a.creatives = append(a.creatives, p)
		copies = append(copies, p.text)
		if p.status != "pending_review" {
			l.t.Errorf("the copy %s is %s", p.id, p.status)
		}
	}
	if !slices.Equal(copies, want) {
		l.t.Errorf("the clone of %s has the creatives %v, want %v", from.id, copies, want)
	}
	return true
}

func (l *life) setStatus(a *ad, status string) bool {
	if a == nil {
		return false
	}
	got, ok := l.try("set_campaign_status", args{"campaign_id": a.id, "status": status})
	if !ok {
		return false
	}
	a.status, a.acted = status, true
	l.agrees(a, got)
	return true
}

// update sends fields, and knows them.
func (l *life) update(a *ad, fields args) bool {
	if a == nil {
		return false
	}
	in := args{"campaign_id": a.id}
	maps.Copy(in, fields)
	got, ok := l.try("update_campaign", in)
	if !ok {
		return false
	}
	for name, v := range fields {
		switch name {
		case "name":
			a.name = v.(string)
		case "default_bid":
			a.bid = amount(v)
		case "daily_spend_limit":
			a.limit = amount(v)
		case "target_cpa":
			a.cpa = amount(v)
		case "end_date":
			a.end = asTime(v)
		case "audience":
			a.audience, a.unsupported = v.(args), false
		}
	}
	a.acted = true
	l.agrees(a, got)
	return true
}

// audience draws one; its least bid is 0.30, which all of his are.
func (l *life) audience() args {
	au := args{"country": "US", "platforms": []string{"MOBILE", "DESKTOP"}[:1+l.rng.IntN(2)]}
	switch l.rng.IntN(4) {
	case 0:
		au["states"] = []string{"TX", "NY", "CA"}
	case 1:
		au["min_age"], au["max_age"] = 21+l.rng.IntN(9), 65
	case 2:
		au["gender"] = "F"
	case 3:
		au["subscribed_less_than_minutes_ago"], au["subscribed_more_than_minutes_ago"] = 100_000, 1000+l.rng.IntN(9)
	}
	return au
}

// beRefused asks for what may not be: nothing changes.
func (l *life) beRefused() bool {
	a := l.pick(isOpen)
	gone := l.pick(func(a *ad) bool { return a.status == "archived" && !a.hidden })
	if a == nil || gone == nil || l.usedUp {
		return false
	}
	for _, c := range []struct {
		op, code string
		in       args
	}{
		{"update_campaign", "validation_failed", args{"campaign_id": a.id, "default_bid": inDollars(a.bid*2 + 10_000)}},
		{"update_campaign", "validation_failed", args{"campaign_id": a.id, "name": "  "}},
		{"update_campaign", "conflict", args{"campaign_id": gone.id, "name": "From the dead"}},
		{"set_campaign_status", "conflict", args{"campaign_id": gone.id, "status": "active"}},
		{"block_sources", "validation_failed", args{"campaign_id": a.id, "source_ids": []string{"no-such-source"}}},
		{"get_campaign", "not_found", args{"campaign_id": "C1234567"}},
	} {
		if answer, code := l.call(c.op, c.in); code != c.code {
			l.t.Errorf("%s %v: got %q, want %s: %v", c.op, c.in, code, c.code, answer)
		}
	}
	return true
}

// usedUp is done in the last hour before the day's budget of changes is renewed, or else
// little could be done for long.
const usedUp = "use up the day's changes"

// useUp renames a campaign until the day's changes are used up.
func (l *life) useUp() bool {
	a := l.pick(isOpen)
	if a == nil || l.usedUp || l.service.Now().UTC().Hour() != 23 {
		return false
	}
	for range 100 {
		name := l.name("Restless")
		switch answer, code := l.call("update_campaign", args{"campaign_id": a.id, "name": name}); code {
		case "":
			a.name, a.acted = name, true
		case "rate_limited":
			l.isUsedUp()
			return true
		default:
			l.t.Fatalf("renaming: %v", answer)
		}
	}
	l.t.Fatalf("%s: 100 changes are not too many", l.service.Now())
	return false
}

// byDashboard is what nobody can do through the API.
func (l *life) byDashboard(a *ad, c adsim.Change) bool {
	l.t.Helper()
	a.acted = true
	l.change(c)
	return true
}

// wired is done when the funds have run out and two syncs have seen it.
const wired = "wire funds"

func (l *life) wire() bool {
	if l.emptyFor < 2 {
		return false
	}
	l.emptyFor = 0
	if err := l.service.AddFunds(int64(200+l.rng.IntN(1200)) * 1_000_000); err != nil {
		l.t.Fatal(err)
	}
	for _, a := range l.ads {
		a.acted = true
	}
	return true
}

// askFunds asks whether there are any, as of now.
func (l *life) askFunds() bool {
	l.t.Helper()
	b := l.must("get_balance", args{"fresh": true})
	if left := amount(b["available_balance"]); b["payment_mode"] != "prepaid" ||
		(b["status"] == "depleted") != (left == 0) {
		l.t.Errorf("%s: the balance is %v", l.service.Now(), b)
	}
	if b["status"] == "depleted" {
		l.emptyFor++
	}
	return b["status"] != "depleted"
}
