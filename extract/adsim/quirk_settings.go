package adsim

import (
	"cmp"
	"slices"
)

// listsOfSources are the keys of the lists in source settings.
var listsOfSources = []string{"allowed_source_ids", "blocked_source_ids"}

// sourceQuirks are about source settings.
var sourceQuirks = []quirk{
	{Quirk: Quirk{Name: "sources-objects",
		Doc: `sources in a list are objects: {"source_id":"S1","since":".."}`},
		change: ofEntities(ofSources, editFields(listsOfSources, func(v *node) *node {
			for i, s := range v.values {
				v.values[i] = objectNode().with("source_id", s).with("since", textNode("2026-11-01"))
			}
			return v
		}))},
	{Quirk: Quirk{Name: "sources-nested",
		Doc: `lists of sources are nested: {"targeting":{"mode":"block_list","lists":{"blocked":[..]}}}`},
		change: ofEntities(ofSources, func(e *node) {
			lists := objectNode().with("allowed", e.get("allowed_source_ids")).with("blocked",
				e.get("blocked_source_ids"))
			targeting := objectNode().with("mode", e.get("mode")).with("lists", lists)
			e.drop("mode", "allowed_source_ids", "blocked_source_ids")
			e.set("targeting", targeting)
		})},
	{Quirk: Quirk{Name: "sources-nested-lists",
		Doc: `lists of sources are in an object: {"mode":"block_list","lists":{"blocked":{"ids":[..]}}}`},
		change: ofEntities(ofSources, func(e *node) {
			lists := objectNode().with("allowed", objectNode().with("ids", e.get("allowed_source_ids"))).
				with("blocked", objectNode().with("ids", e.get("blocked_source_ids")))
			e.drop("allowed_source_ids", "blocked_source_ids")
			e.set("lists", lists)
		})},
	{Quirk: Quirk{Name: "sources-one-list",
		Doc: `the sources are one list, that of the mode: {"mode":"block_list","source_ids":[..]}`},
		change: ofEntities(ofSources, func(e *node) {
			key := "blocked_source_ids"
			if e.get("mode").text() == "allow_list" {
				key = "allowed_source_ids"
			}
			list := e.get(key)
			e.drop(listsOfSources...)
			e.set("source_ids", list)
		})},
	{Quirk: Quirk{Name: "sources-rules",
		Doc: `the sources are a list of rules: "rules":[{"source_id":"S1","action":"block","bid":null}]`},
		change: ofEntities(ofSources, sourceRules)},
	{Quirk: Quirk{Name: "sources-null",
		Doc: "a list of sources that is empty is null"},
		change: ofEntities(ofSources, editFields(listsOfSources, func(v *node) *node {
			if len(v.values) == 0 {
				return leaf("null")
			}
			return v
		}))},
	{Quirk: Quirk{Name: "sources-numbers",
		Doc: "IDs of sources in lists and bids are numbers: 4711"},
		change: ofEntities(ofSources, func(e *node) {
			editFields(listsOfSources, func(v *node) *node {
				for i, s := range v.values {
					v.values[i] = lessPrefix(s)
				}
				return v
			})(e)
			e.walk(func(of *node, key string) {
				if key == "source_id" {
					of.edit(key, lessPrefix)
				}
			})
		})},
	{Quirk: Quirk{Name: "bids-null",
		Doc: "bid_overrides is null: the bids could not be read"},
		change: ofEntities(ofSources, func(e *node) { e.set("bid_overrides", leaf("null")) })},
	{Quirk: Quirk{Name: "bids-missing",
		Doc: "source settings have no key bid_overrides"},
		change: ofEntities(ofSources, dropFields("bid_overrides"))},
	{Quirk: Quirk{Name: "optimized-sources",
		Doc: "source settings list sources under optimization"},
		change: ofEntities(ofSources, func(e *node) {
			e.set("optimized_source_ids", listNode(textNode("S101"), textNode("S118")))
		})},
	{Quirk: Quirk{Name: "not-enforced-sources",
		Doc: "source settings list sources whose change has not yet taken effect"},
		change: ofEntities(ofSources, func(e *node) { e.set("not_enforced_source_ids", listNode(textNode("S101"))) })},
	{Quirk: Quirk{Name: "mode-words",
		Doc: "the mode of source settings is blocklist or allowlist, in upper case"},
		change: ofEntities(ofSources, editFields([]string{"mode"}, func(v *node) *node {
			return textNode(map[string]string{"block_list": "BLOCKLIST", "allow_list": "ALLOWLIST"}[v.text()])
		}))},
	{Quirk: Quirk{Name: "mode-missing",
		Doc: "neither source settings nor campaigns say which mode they are in"},
		change: func(x *exchange, body *node) *node {
			body = ofEntities(ofSources, dropFields("mode"))(x, body)
			return ofEntities(ofCampaigns, dropFields("source_targeting_mode"))(x, body)
		}},
}

// sourceRules makes one list of all that source settings say of sources.
func sourceRules(e *node) {
	rules := listNode()
	for key, action := range map[string]string{"allowed_source_ids": "allow", "blocked_source_ids": "block"} {
		if list := e.get(key); list != nil {
			for _, s := range list.values {
				rules.values = append(rules.values, objectNode().with("source_id", s).with("action", textNode(action)))
			}
		}
	}
	e.drop("allowed_source_ids", "blocked_source_ids", "bid_overrides")
	e.set("rules", rules)
}

// at makes a change of the replies to one question.
func at(p place, change func(x *exchange, e *node)) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		if x.place == p {
			for _, e := range entities(body) {
				change(x, e)
			}
		}
		return body
	}
}

// notUnderstood leaves nothing in an object that anybody could read.
func notUnderstood(_ *exchange, e *node) {
	e.keys, e.values = []string{"ok"}, []*node{leaf("true")}
}

// refuseAPI answers a question with an error of the advertiser API.
func refuseAPI(p place, status int, message string) func(x *exchange) (reply, bool) {
	return func(x *exchange) (reply, bool) {
		if x.place != p {
			return reply{}, false
		}
		return x.accounts[0].apiError(status, codeOf(status), message, nil), true
	}
}

// accountQuirks are about the three reads of the account, of which the description
// shows hardly a field.
var accountQuirks = []quirk{
	{Quirk: Quirk{Name: "me-unreadable",
		Doc: `the key's info says nothing: {"ok":true}`},
		change: at(atMe, notUnderstood)},
	{Quirk: Quirk{Name: "me-number",
		Doc: "the key's info has the advertiser's ID as a number"},
		change: at(atMe, func(_ *exchange, e *node) {
			e.edit("advertiser_id", lessPrefix)
		})},
	{Quirk: Quirk{Name: "me-nested",
		Doc: `the key's info is nested: {"key":{..},"advertiser":{"id":"A1","name":".."}}`},
		change: at(atMe, func(_ *exchange, e *node) {
			advertiser := objectNode().with("id", e.get("advertiser_id")).with("name", e.get("advertiser_name"))
			key := objectNode().with("id", textNode("key_1")).with("scope", e.get("scope"))
			e.keys, e.values = []string{"key", "advertiser"}, []*node{key, advertiser}
		})},
	{Quirk: Quirk{Name: "me-404",
		Doc: "the key's info is not there (404)"},
		override: refuseAPI(atMe, 404, "There is no such path.")},
	{Quirk: Quirk{Name: "me-scope-missing",
		Doc: "the key's info does not say whether the key can make changes"},
		change: at(atMe, func(_ *exchange, e *node) { e.drop("scope", "can_make_changes") })},
	{Quirk: Quirk{Name: "limits-unreadable",
		Doc: `the limits say nothing: {"ok":true}`},
		change: at(atLimits, notUnderstood)},
	{Quirk: Quirk{Name: "limits-flat",
		Doc: `the limits are flat: {"campaign_create_used":0,"campaign_create_limit":20}`},
		change: at(atLimits, func(_ *exchange, e *node) {
			flat := objectNode()
			for _, l := range e.get("limits").elements() {
				kind := l.get("kind").text()
				flat.set(kind+"_used", l.get("used"))
				flat.set(kind+"_limit", l.get("limit"))
			}
			*e = *flat
		})},
	{Quirk: Quirk{Name: "limits-remaining",
		Doc: "the limits say what remains, not what is used"},
		change: at(atLimits, func(_ *exchange, e *node) {
			for _, l := range e.get("limits").elements() {
				l.set("remaining", intNode(l.get("limit").number()-l.get("used").number()))
				l.drop("used")
			}
		})},
	{Quirk: Quirk{Name: "limits-empty",
		Doc: "the list of limits is empty"},
		change: at(atLimits, func(_ *exchange, e *node) { e.set("limits", listNode()) })},
	{Quirk: Quirk{Name: "limits-404",
		Doc: "the limits are not there (404)"},
		override: refuseAPI(atLimits, 404, "There is no such path.")},
	{Quirk: Quirk{Name: "balance-unreadable",
		Doc: `the balance says nothing: {"ok":true}`},
		change: at(atBalance, notUnderstood)},
	{Quirk: Quirk{Name: "balance-nested",
		Doc: `the balance is nested: {"balance":{"amount":"12.30","currency":"USD"}}`},
		change: at(atBalance, func(_ *exchange, e *node) {
			e.set("balance", money(e.get("available_balance")))
			e.drop("available_balance", "currency")
		})},
	{Quirk: Quirk{Name: "balance-renamed",
		Doc: "available_balance is called credit_left"},
		change: at(atBalance, func(_ *exchange, e *node) { e.rename("available_balance", "credit_left") })},
	{Quirk: Quirk{Name: "balance-null",
		Doc: "available_balance is null"},
		change: at(atBalance, func(_ *exchange, e *node) { e.set("available_balance", leaf("null")) })},
	{Quirk: Quirk{Name: "balance-no-auto-funding",
		Doc: "the balance does not say whether the account is funded by itself"},
		change: at(atBalance, func(_ *exchange, e *node) { e.drop("auto_funding") })},
	{Quirk: Quirk{Name: "auto-funding-flat",
		Doc: "auto-funding is flat: auto_funding_enabled, auto_funding_threshold, auto_funding_amount"},
		change: at(atBalance, func(_ *exchange, e *node) {
			if a := e.get("auto_funding"); a != nil {
				for i, key := range a.keys {
					e.set("auto_funding_"+key, a.values[i])
				}
				e.drop("auto_funding")
			}
		})},
	{Quirk: Quirk{Name: "auto-funding-off",
		Doc: "auto-funding is switched off: false"},
		change: at(atBalance, func(_ *exchange, e *node) { e.set("auto_funding", leaf("false")) })},
	{Quirk: Quirk{Name: "balance-error-200",
		Doc: `the balance is an error with status 200: {"error":".."}`},
		change: func(x *exchange, body *node) *node {
			if x.place != atBalance {
				return body
			}
			return objectNode().with("error", objectNode().with("code", textNode("upstream_error")).
				with("message", textNode("The billing backend does not answer.")))
		}},
	{Quirk: Quirk{Name: "campaign-error-200",
		Doc: `the read of one campaign is an error with status 200: {"error":".."}`},
		change: func(x *exchange, body *node) *node {
			if x.place != atCampaign {
				return body
			}
			return objectNode().with("error", textNode("The campaign store is being moved."))
		}},
	{Quirk: Quirk{Name: "account-notice",
		Doc: "replies of the advertiser API carry account_notice and key_expiry_warning"},
		change: func(x *exchange, body *node) *node {
			if x.place.onAPI() && body.kind == '{' {
				body.set("account_notice", textNode("The balance lasts less than two days."))
				body.set("key_expiry_warning", textNode("The key expires in 9 days."))
			}
			return body
		}},
	{Quirk: Quirk{Name: "no-expiry-header",
		Doc: "replies do not say when the key expires"},
		wire: func(_ *exchange, rep *reply) {
			rep.header.Del("Service-Api-Key-Expires-At")
			rep.header.Del("Service-Api-Key-Expiry-Warning")
		}},
}

// idQuirks are about how an object names itself.
var idQuirks = []quirk{
	{Quirk: Quirk{Name: "ids-long",
		Doc: "objects name their own ID campaign_id or creative_id"},
		change: ofOwnIDs(func(e *node, long string) { e.rename("id", long) })},
	{Quirk: Quirk{Name: "ids-both",
		Doc: "objects have id and campaign_id or creative_id, which are equal"},
		change: ofOwnIDs(func(e *node, long string) { e.set(long, e.get("id")) })},
	{Quirk: Quirk{Name: "ids-number-beside",
		Doc: "id is a number of the database, campaign_id or creative_id is the ID"},
		change: ofOwnIDs(func(e *node, long string) {
			e.set(long, e.get("id"))
			e.set("id", leaf(digitsOf(e.get("id").text())))
		})},
	{Quirk: Quirk{Name: "ids-number",
		Doc: "IDs of campaigns and creatives are numbers: 13463005"},
		change: ofOwnIDs(func(e *node, _ string) { e.set("id", leaf(digitsOf(e.get("id").text()))) })},
	{Quirk: Quirk{Name: "ids-uuid",
		Doc: "IDs of campaigns and creatives have another form than the description's"},
		change: ofOwnIDs(func(e *node, _ string) {
			e.set("id", textNode("6ba7b810-9dad-11d1-80b4-00c0"+digitsOf(e.get("id").text())))
		})},
}

// digitsOf is the digits of an ID, without zeros in front.
func digitsOf(id string) string {
	var digits []byte
	for _, c := range []byte(id) {
		if c >= '0' && c <= '9' && (len(digits) > 0 || c > '0') {
			digits = append(digits, c)
		}
	}
	return cmp.Or(string(digits), "0")
}

// ofOwnIDs makes a change of each campaign and creative that is named by id; long is
// the other name of the key.
func ofOwnIDs(change func(e *node, long string)) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		long := "campaign_id"
		if slices.Contains(ofCreatives, x.place) {
			long = "creative_id"
		}
		return ofEntities(slices.Concat(ofCampaigns, ofCreatives), func(e *node) {
			if e.get("id") != nil {
				change(e, long)
			}
		})(x, body)
	}
}
