package variations

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
)

const (
	instants  = "start_date end_date created_at submitted_at expires_at resets_at refreshed_at"
	sourceIDs = "allowed_source_ids blocked_source_ids"
)

// deep applies a form to the members that keys names, at any depth, in the replies of the advertiser API.
func deep(keys string, f form) change {
	names := strings.Fields(keys)
	return edit(ofAPI, func(e *node) {
		e.Walk(func(of *node, key string) {
			if slices.Contains(names, key) {
				f(of, key)
			}
		})
	})
}

// fieldQuirks are about the fields of a campaign.
var fieldQuirks = behaviors{
	"camel-keys": {
		change: edit(ofAPI, func(e *node) { e.Walk(func(of *node, key string) { of.Rename(key, camel(key)) }) })},
	"keys-flicker": {change: each(ofAPI, func(x *exchange, _ int, e *node) {
		e.Set("request_id", text(x.accounts[0].World.RequestID()))
		e.Set("generated_at", text(x.now.UTC().Format(time.RFC3339Nano)+strconv.Itoa(x.times("flicker"))))
	})},
}

// times changes all times of the advertiser API's replies.
func times(to func(t time.Time) *node) change {
	return deep(instants, func(of *node, key string) {
		if t, err := time.Parse(time.RFC3339Nano, of.Get(key).Text()); err == nil {
			of.Set(key, to(t))
		}
	})
}

func formatted(layout string, zone *time.Location) change {
	return times(func(t time.Time) *node { return text(t.In(zone).Format(layout)) })
}

func epoch(of func(t time.Time) int64) func(t time.Time) *node {
	return func(t time.Time) *node { return leaf(strconv.FormatInt(of(t), 10)) }
}

var chicagoWinter = time.FixedZone("", -6*3600)

// timeQuirks change the format of times in the advertiser API.
var timeQuirks = behaviors{
	"times-epoch":        {change: times(epoch(time.Time.Unix))},
	"times-epoch-millis": {change: times(epoch(time.Time.UnixMilli))},
	"times-epoch-text":   {change: times(func(t time.Time) *node { return quoted(epoch(time.Time.UnixMilli)(t)) })},
	"times-object": {
		change: times(func(t time.Time) *node { return with("$date", text(t.UTC().Format(time.RFC3339))) })},
}

// audience changes the audience of each campaign that shows it.
func audience(do func(e, audience *node)) change {
	return edit(ofCampaigns, func(e *node) {
		if a := e.Get("audience"); a != nil && a.Kind == '{' {
			do(e, a)
		}
	})
}

// audienceQuirks are about the audience of a campaign.
var audienceQuirks = behaviors{
	"audience-nulls": {change: audience(func(_, a *node) {
		for key := range strings.FieldsSeq("country min_age max_age gender subscribed_more_than_minutes_ago " +
			"subscribed_less_than_minutes_ago states platforms") {
			switch {
			case a.Get(key) != nil:
			case key == "states" || key == "platforms":
				a.Set(key, list())
			default:
				a.Set(key, leaf("null"))
			}
		}
	})},
	"audience-numbers-text": {change: audience(func(_, a *node) { replaceAll(a, quoted) })},
	"audience-lists-text": {change: audience(func(_, a *node) {
		replaceAll(a, func(v *node) *node {
			if v.Kind != '[' {
				return v
			}
			return text(strings.Join(textsOf(v), ","))
		})
	})},
	"audience-country-list": {
		change: audience(func(_, a *node) { a.Edit("country", func(v *node) *node { return list(v) }) })},
	"audience-nested": {change: audience(func(_, a *node) {
		for _, part := range [][2]string{{"country", "geo"}, {"platforms", "device"}} {
			inner := object()
			if v := a.Get(part[0]); v != nil {
				inner.Set(part[0], v)
				a.Drop(part[0])
			}
			a.Set(part[1], inner)
		}
	})},
	"audience-flag-outside": {change: audience(func(e, a *node) {
		e.Set("unsupported_targeting", leaf(strconv.FormatBool(a.Get("unsupported_targeting") != nil)))
		a.Drop("unsupported_targeting")
	})},
}

// creativeQuirks are about the fields of a creative.
var creativeQuirks = behaviors{
	"buttons-list": {change: edit(ofCreatives, func(e *node) {
		buttons := list()
		for _, key := range []string{"button1", "button2"} {
			if v := e.Get(key); v != nil && v.Raw != "null" {
				buttons.Values = append(buttons.Values, v)
			}
		}
		e.Drop("button1", "button2")
		e.Set("buttons", buttons)
	})},
	"reasons-objects": {change: reasons(func(v *node) *node {
		for i, r := range v.Values {
			v.Values[i] = with("code", text("R"+strconv.Itoa(i+1)), "text", r)
		}
		return v
	})},
	"reasons-text":    {change: reasons(func(v *node) *node { return text(strings.Join(textsOf(v), "; ")) })},
	"reasons-null":    {change: reasons(func(*node) *node { return leaf("null") })},
	"pending-version": {change: edit(ofCreatives, pendingVersion)},
}

// reasons changes the reasons for which a creative was rejected. All creatives but the running ones have some,
// so that there is something to change.
func reasons(to func(v *node) *node) change {
	return edit(ofCreatives, func(e *node) {
		if e.Get("status").Text() == "active" {
			return
		}
		if v := e.Get("rejection_reasons"); v == nil || v.Kind != '[' {
			e.Set("rejection_reasons", list(text("Misleading claim"), text("Poor image")))
			e.Set("rejection_comment", text("Please change the title."))
		}
		e.Edit("rejection_reasons", to)
	})
}

// pendingVersion gives a running creative a version that is reviewed.
func pendingVersion(e *node) {
	if e.Get("status").Text() != "active" || e.Get("pending_version") != nil {
		return
	}
	v := with("title", text("A new title"), "message", text("A new message"))
	for _, key := range []string{"link", "image_id", "icon_id", "button1", "button2"} {
		if was := e.Get(key); was != nil {
			v.Set(key, was)
		}
	}
	if len(e.Get("title").Text())%3 > 0 {
		v.Set("status", text("pending_review"))
	} else {
		v.With("status", text("rejected")).With("rejection_reasons", list(text("Misleading claim"))).
			Set("rejection_comment", text("Please change the title."))
	}
	e.Set("pending_version", v.With("submitted_at", text("2026-11-20T15:00:00Z")))
}

// sourceQuirks are about source settings.
var sourceQuirks = behaviors{
	"sources-objects": {change: in(ofSources, sourceIDs, value(func(v *node) *node {
		return replaceAll(v, func(s *node) *node { return with("source_id", s, "since", text("2026-11-01")) })
	}))},
	"sources-nested": {change: edit(ofSources, func(e *node) {
		lists := with("allowed", e.Get("allowed_source_ids"), "blocked", e.Get("blocked_source_ids"))
		targeting := with("mode", e.Get("mode"), "lists", lists)
		e.Drop("mode", "allowed_source_ids", "blocked_source_ids")
		e.Set("targeting", targeting)
	})},
	"sources-nested-lists": {change: edit(ofSources, func(e *node) {
		lists := with("allowed", with("ids", e.Get("allowed_source_ids")),
			"blocked", with("ids", e.Get("blocked_source_ids")))
		e.Drop("allowed_source_ids", "blocked_source_ids")
		e.Set("lists", lists)
	})},
	"sources-one-list": {change: edit(ofSources, func(e *node) {
		key := "blocked_source_ids"
		if e.Get("mode").Text() == "allow_list" {
			key = "allowed_source_ids"
		}
		of := e.Get(key)
		e.Drop("allowed_source_ids", "blocked_source_ids")
		e.Set("source_ids", of)
	})},
	"sources-rules": {change: edit(ofSources, func(e *node) {
		rules := list()
		for _, of := range [][2]string{{"allowed_source_ids", "allow"}, {"blocked_source_ids", "block"}} {
			for _, s := range e.Get(of[0]).Elements() {
				rules.Values = append(rules.Values, with("source_id", s, "action", text(of[1])))
			}
		}
		e.Drop("allowed_source_ids", "blocked_source_ids", "bid_overrides")
		e.Set("rules", rules)
	})},
	"sources-null": {change: in(ofSources, sourceIDs, value(func(v *node) *node {
		if len(v.Values) == 0 {
			return leaf("null")
		}
		return v
	}))},
	"sources-numbers": {change: all(in(ofSources, sourceIDs, func(e *node, key string) {
		for _, s := range e.Get(key).Elements() {
			*s = *jsontext.LessPrefix(s)
		}
	}), func(x *exchange, body *node) *node {
		if x.place == atSources {
			return deep("source_id", asID)(x, body)
		}
		return body
	})},
	"bids-map": {
		change: in(ofSources, "bid_overrides", value(func(v *node) *node { return byKey(v, "source_id", "bid") }))},
}

// refuseAPI answers requests of a place with an error of the advertiser API.
func refuseAPI(p place, status int, message string) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if x.place != p {
			return wire.Reply{}, false
		}
		return x.accounts[0].APIError(status, advertiser.CodeOf(status), message, nil), true
	}
}

var (
	ofMe      = []place{atMe}
	ofLimits  = []place{atLimits}
	ofBalance = []place{atBalance}
)

// accountQuirks change the three reads of the account; the description shows hardly any of their
// fields.
var accountQuirks = behaviors{
	"me-nested": {change: edit(ofMe, func(e *node) {
		*e = *with("key", with("id", text("key_1"), "scope", e.Get("scope")),
			"advertiser", with("id", e.Get("advertiser_id"), "name", e.Get("advertiser_name")))
	})},
	"me-404":     {override: refuseAPI(atMe, 404, "There is no such path.")},
	"limits-map": {change: in(ofLimits, "limits", value(func(v *node) *node { return byKey(v, "kind", "") }))},
	"limits-flat": {change: edit(ofLimits, func(e *node) {
		flat := object()
		for _, l := range e.Get("limits").Elements() {
			kind := l.Get("kind").Text()
			flat.With(kind+"_used", l.Get("used")).Set(kind+"_limit", l.Get("limit"))
		}
		*e = *flat
	})},
	"limits-remaining": {change: edit(ofLimits, func(e *node) {
		for _, l := range e.Get("limits").Elements() {
			l.Set("remaining", num(l.Get("limit").Number()-l.Get("used").Number()))
			l.Drop("used")
		}
	})},
	"limits-404": {override: refuseAPI(atLimits, 404, "There is no such path.")},
	"balance-nested": {change: edit(ofBalance, func(e *node) {
		e.Set("balance", money(e.Get("available_balance")))
		e.Drop("available_balance", "currency")
	})},
	"auto-funding-flat": {change: edit(ofBalance, func(e *node) {
		if a := e.Get("auto_funding"); a != nil {
			for i, key := range a.Keys {
				e.Set("auto_funding_"+key, a.Values[i])
			}
			e.Drop("auto_funding")
		}
	})},
	"account-notice": {change: body(ofAPI, func(body *node) {
		if body.Kind == '{' {
			body.Set("account_notice", text("The balance lasts less than two days."))
			body.Set("key_expiry_warning", text("The key expires in 9 days."))
		}
	})},
	"no-expiry-header": {wire: func(_ *exchange, rep *wire.Reply) {
		for _, name := range []string{"Service-Api-Key-Expires-At", "Service-Api-Key-Expiry-Warning"} {
			http.Header.Del(rep.Header, name)
		}
	}},
}

// byKey turns a list of objects into an object. The members are named by key; they are the rest of each object or,
// if member is set, that member of it.
func byKey(objects *node, key, member string) *node {
	all := object()
	for _, o := range objects.Values {
		name := o.Get(key).Text()
		o.Drop(key)
		if member != "" {
			o = o.Get(member)
		}
		all.Set(name, o)
	}
	return all
}

// ownIDs changes each campaign and creative that is named by id; long is the other name of the key.
func ownIDs(do func(e *node, long string)) change {
	return each(ofBoth, func(x *exchange, _ int, e *node) {
		if long := map[bool]string{false: "campaign_id", true: "creative_id"}; e.Get("id") != nil {
			do(e, long[slices.Contains(ofCreatives, x.place)])
		}
	})
}

// idQuirks change the form of IDs.
var idQuirks = behaviors{
	"ids-long": {change: ownIDs(func(e *node, long string) { e.Rename("id", long) })},
	"ids-both": {change: ownIDs(func(e *node, long string) { e.Set(long, e.Get("id")) })},
	"ids-number-beside": {change: ownIDs(func(e *node, long string) {
		e.With(long, e.Get("id")).Set("id", leaf(digitsOf(e.Get("id").Text())))
	})},
	"ids-number": {change: ownIDs(func(e *node, _ string) { e.Set("id", leaf(digitsOf(e.Get("id").Text()))) })},
	"ids-uuid": {change: ownIDs(func(e *node, _ string) {
		e.Set("id", text("6ba7b810-9dad-11d1-80b4-00c0"+digitsOf(e.Get("id").Text())))
	})},
}
