package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The account as its advertiser knows it, from what he did and was answered.

// ad is one campaign.
type ad struct {
	id, name, status string
	bid, limit, cpa  int64 // millionths; 0: not set
	start, end       time.Time
	audience         map[string]any
	unsupported      bool
	mode             string
	blocked, allowed map[string]bool
	bids             map[string]int64
	creatives        []*piece // oldest first
	hidden           bool     // the dashboard does not show it any more
	seen             bool     // at a sync
	settled          bool     // archived, and read whole since
	delivery         string   // as answered, of one that is only looked at
	acted            bool     // since the last sync
	undone           bool     // something was changed and changed back since then
	lastPage         string   // what the last sync saw of it
	waits            bool     // nobody touches it until its creatives are rejected
}

// wording is what a creative says.
type wording struct{ title, message, link, image, icon, button1, button2 string }

// piece is one creative.
type piece struct {
	of               *ad
	id, status       string
	text             wording
	reasons, comment string
	next             *wording  // the version that waits for its review
	due              time.Time // of the review of either
	hidden, seen     bool
}

// amount is an amount of a reply in millionths.
func amount(v any) int64 {
	if v == nil {
		return 0
	}
	whole, frac, _ := strings.Cut(v.(json.Number).String(), ".")
	n, err := strconv.ParseInt(whole+(frac + "000000")[:6], 10, 64)
	if err != nil || len(frac) > 6 {
		panic(fmt.Sprintf("%v is not an amount", v))
	}
	return n
}

// dollars is an amount for a body.
func inDollars(millionths int64) json.Number {
	return json.Number(fmt.Sprintf("%d.%06d", millionths/1_000_000, millionths%1_000_000))
}

func moneyCell(millionths int64) string {
	if millionths == 0 {
		return "NULL"
	}
	return inDollars(millionths).String()
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}

func asTime(v any) time.Time {
	t, _ := time.Parse(time.RFC3339, asText(v))
	return t
}

func asTexts(v any) (out []string) {
	list, _ := v.([]any)
	for _, s := range list {
		out = append(out, s.(string))
	}
	slices.Sort(out)
	return out
}

func asSet(v any) map[string]bool {
	set := map[string]bool{}
	for _, s := range asTexts(v) {
		set[s] = true
	}
	return set
}

// take takes what an answer says of the campaign's own settings.
func (a *ad) take(m map[string]any) {
	a.id, a.name, a.status, a.delivery = asText(m["id"]), asText(m["name"]), asText(m["status"]),
		asText(m["delivery_status"])
	a.bid, a.limit, a.cpa = amount(m["default_bid"]), amount(m["daily_spend_limit"]), amount(m["target_cpa"])
	a.start, a.end, a.mode = asTime(m["start_date"]), asTime(m["end_date"]), asText(m["source_targeting_mode"])
	a.audience, _ = m["audience"].(map[string]any)
	a.audience = maps.Clone(a.audience)
	a.unsupported = a.audience["unsupported_targeting"] == true
	delete(a.audience, "unsupported_targeting")
}

// takeSources takes what an answer says of its sources.
func (a *ad) takeSources(m map[string]any) {
	a.blocked, a.allowed, a.bids = asSet(m["blocked_source_ids"]), asSet(m["allowed_source_ids"]), map[string]int64{}
	list, _ := m["bid_overrides"].([]any)
	for _, b := range list {
		b := b.(map[string]any)
		a.bids[asText(b["source_id"])] = amount(b["bid"])
	}
}

// take takes what an answer says of the creative.
func (p *piece) take(m map[string]any) {
	p.id, p.status = asText(m["id"]), asText(m["status"])
	p.text = wording{asText(m["title"]), asText(m["message"]), asText(m["link"]), asText(m["image_id"]),
		asText(m["icon_id"]), asText(m["button1"]), asText(m["button2"])}
	p.reasons, p.comment = strings.Join(asTexts(m["rejection_reasons"]), ","), asText(m["rejection_comment"])
}

// cells are the campaign's columns in campaign_history.
func (a *ad) cells() []string {
	cells := []string{a.name, a.status, moneyCell(a.bid), moneyCell(a.limit), moneyCell(a.cpa), micros(a.start),
		micros(a.end)}
	au := func(name string) string {
		switch v := a.audience[name].(type) {
		case nil:
			return "NULL"
		case []any:
			return orNull(strings.Join(asTexts(v), ","))
		case []string:
			return orNull(strings.Join(slices.Sorted(slices.Values(v)), ","))
		default:
			return fmt.Sprint(v)
		}
	}
	for _, name := range []string{"country", "states", "platforms", "subscribed_more_than_minutes_ago",
		"subscribed_less_than_minutes_ago", "min_age", "max_age", "gender"} {
		cells = append(cells, au(name))
	}
	return append(cells, a.mode, strconv.FormatBool(a.unsupported))
}

// rules are the campaign's rules about sources, by key, with the bid.
func (a *ad) rules() map[string]string {
	out := map[string]string{}
	list, rule := a.blocked, "blocked"
	if a.mode == "allow_list" {
		list, rule = a.allowed, "allowed"
	}
	for s := range list {
		out[s+"|"+rule] = "NULL"
	}
	for s, bid := range a.bids {
		out[s+"|bid_override"] = moneyCell(bid)
	}
	return out
}

func (p *piece) cells() []string {
	t := p.text
	cells := []string{t.title, t.message, t.link, t.image, t.icon, t.button1, t.button2, p.status, p.reasons, p.comment}
	for i := range cells {
		cells[i] = orNull(cells[i])
	}
	return cells
}

// deliveryOf says what becomes of the campaign, as the description has it: funds
// reports whether there are any, spent is what it has cost today.
func (a *ad) deliveryOf(now time.Time, funds bool, spent int64) string {
	running, refused := 0, 0
	for _, p := range a.creatives {
		switch {
		case p.hidden:
		case p.status == "active":
			running++
		case p.status == "rejected":
			refused++
		}
	}
	switch {
	case a.status != "active":
		return a.status
	case now.Before(a.start):
		return "scheduled"
	case !a.end.IsZero() && !now.Before(a.end):
		return "paused"
	case running == 0 && refused > 0:
		return "all_creatives_rejected"
	case running == 0:
		return "waiting_for_creatives"
	case !funds:
		return "waiting_for_funds"
	case spent >= a.limit:
		return "daily_limit_reached"
	}
	return "active"
}

// page adds what there is of the campaign.
func (a *ad) page(f facts, delivery string) {
	if a.hidden {
		return
	}
	f.add("campaign_history", a.id, a.id, a.cells()...)
	f.add("campaign_delivery_history", a.id, a.id, delivery)
	f.add("source_mode_history", a.id, a.id, a.mode)
	for key, bid := range a.rules() {
		f.add("source_rule_history", a.id, a.id+"|"+key, bid)
	}
	for _, p := range a.creatives {
		if !p.hidden {
			f.add("creative_history", a.id, p.id, p.cells()...)
		}
	}
}
