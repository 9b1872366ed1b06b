package variations

import (
	"cmp"
	"slices"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
)

// listsOfSources are the keys of the lists in source settings.
var listsOfSources = []string{"allowed_source_ids", "blocked_source_ids"}

// sourceQuirks are about source settings.
var sourceQuirks = []quirk{
	{Quirk: Quirk{Name: "sources-objects",
		Doc: `sources in a list are objects: {"source_id":"S1","since":".."}`},
		change: ofEntities(ofSources, editFields(listsOfSources, func(v *jsontext.Node) *jsontext.Node {
			for i, s := range v.Values {
				v.Values[i] = jsontext.ObjectNode().With("source_id", s).With("since", jsontext.TextNode("2026-11-01"))
			}
			return v
		}))},
	{Quirk: Quirk{Name: "sources-nested",
		Doc: `lists of sources are nested: {"targeting":{"mode":"block_list","lists":{"blocked":[..]}}}`},
		change: ofEntities(ofSources, func(e *jsontext.Node) {
			lists := jsontext.ObjectNode().With("allowed", e.Get("allowed_source_ids")).With("blocked",
				e.Get("blocked_source_ids"))
			targeting := jsontext.ObjectNode().With("mode", e.Get("mode")).With("lists", lists)
			e.Drop("mode", "allowed_source_ids", "blocked_source_ids")
			e.Set("targeting", targeting)
		})},
	{Quirk: Quirk{Name: "sources-nested-lists",
		Doc: `lists of sources are in an object: {"mode":"block_list","lists":{"blocked":{"ids":[..]}}}`},
		change: ofEntities(ofSources, func(e *jsontext.Node) {
			lists := jsontext.ObjectNode().
				With("allowed", jsontext.ObjectNode().With("ids", e.Get("allowed_source_ids"))).
				With("blocked", jsontext.ObjectNode().With("ids", e.Get("blocked_source_ids")))
			e.Drop("allowed_source_ids", "blocked_source_ids")
			e.Set("lists", lists)
		})},
	{Quirk: Quirk{Name: "sources-one-list",
		Doc: `the sources are one list, that of the mode: {"mode":"block_list","source_ids":[..]}`},
		change: ofEntities(ofSources, func(e *jsontext.Node) {
			key := "blocked_source_ids"
			if e.Get("mode").Text() == "allow_list" {
				key = "allowed_source_ids"
			}
			list := e.Get(key)
			e.Drop(listsOfSources...)
			e.Set("source_ids", list)
		})},
	{Quirk: Quirk{Name: "sources-rules",
		Doc: `the sources are a list of rules: "rules":[{"source_id":"S1","action":"block","bid":null}]`},
		change: ofEntities(ofSources, sourceRules)},
	{Quirk: Quirk{Name: "sources-null",
		Doc: "a list of sources that is empty is null"},
		change: ofEntities(ofSources, editFields(listsOfSources, func(v *jsontext.Node) *jsontext.Node {
			if len(v.Values) == 0 {
				return jsontext.Leaf("null")
			}
			return v
		}))},
	{Quirk: Quirk{Name: "sources-numbers",
		Doc: "IDs of sources in lists and bids are numbers: 4711"},
		change: ofEntities(ofSources, func(e *jsontext.Node) {
			editFields(listsOfSources, func(v *jsontext.Node) *jsontext.Node {
				for i, s := range v.Values {
					v.Values[i] = jsontext.LessPrefix(s)
				}
				return v
			})(e)
			e.Walk(func(of *jsontext.Node, key string) {
				if key == "source_id" {
					of.Edit(key, jsontext.LessPrefix)
				}
			})
		})},
	{Quirk: Quirk{Name: "bids-null",
		Doc: "bid_overrides is null: the bids could not be read"},
		change: ofEntities(ofSources, func(e *jsontext.Node) { e.Set("bid_overrides", jsontext.Leaf("null")) })},
	{Quirk: Quirk{Name: "bids-missing",
		Doc: "source settings have no key bid_overrides"},
		change: ofEntities(ofSources, dropFields("bid_overrides"))},
	{Quirk: Quirk{Name: "optimized-sources",
		Doc: "source settings list sources under optimization"},
		change: ofEntities(ofSources, func(e *jsontext.Node) {
			e.Set("optimized_source_ids", jsontext.ListNode(jsontext.TextNode("S101"), jsontext.TextNode("S118")))
		})},
	{Quirk: Quirk{Name: "not-enforced-sources",
		Doc: "source settings list sources whose change has not yet taken effect"},
		change: ofEntities(
			ofSources,
			func(e *jsontext.Node) { e.Set("not_enforced_source_ids", jsontext.ListNode(jsontext.TextNode("S101"))) },
		)},
	{Quirk: Quirk{Name: "mode-words",
		Doc: "the mode of source settings is blocklist or allowlist, in upper case"},
		change: ofEntities(ofSources, editFields([]string{"mode"}, func(v *jsontext.Node) *jsontext.Node {
			return jsontext.TextNode(map[string]string{"block_list": "BLOCKLIST", "allow_list": "ALLOWLIST"}[v.Text()])
		}))},
	{Quirk: Quirk{Name: "mode-missing",
		Doc: "neither source settings nor campaigns say which mode they are in"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			body = ofEntities(ofSources, dropFields("mode"))(x, body)
			return ofEntities(ofCampaigns, dropFields("source_targeting_mode"))(x, body)
		}},
}

// sourceRules makes one list of all that source settings say of sources.
func sourceRules(e *jsontext.Node) {
	rules := jsontext.ListNode()
	for key, action := range map[string]string{"allowed_source_ids": "allow", "blocked_source_ids": "block"} {
		if list := e.Get(key); list != nil {
			for _, s := range list.Values {
				rules.Values = append(
					rules.Values,
					jsontext.ObjectNode().With("source_id", s).With("action", jsontext.TextNode(action)),
				)
			}
		}
	}
	e.Drop("allowed_source_ids", "blocked_source_ids", "bid_overrides")
	e.Set("rules", rules)
}

// at makes a change of the replies to one question.
func at(p place, change func(x *exchange, e *jsontext.Node)) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		if x.place == p {
			for _, e := range entities(body) {
				change(x, e)
			}
		}
		return body
	}
}

// notUnderstood leaves nothing in an object that anybody could read.
func notUnderstood(_ *exchange, e *jsontext.Node) {
	e.Keys, e.Values = []string{"ok"}, []*jsontext.Node{jsontext.Leaf("true")}
}

// refuseAPI answers a question with an error of the advertiser API.
func refuseAPI(p place, status int, message string) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if x.place != p {
			return wire.Reply{}, false
		}
		return x.accounts[0].ApiError(status, advertiser.CodeOf(status), message, nil), true
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
		change: at(atMe, func(_ *exchange, e *jsontext.Node) {
			e.Edit("advertiser_id", jsontext.LessPrefix)
		})},
	{Quirk: Quirk{Name: "me-nested",
		Doc: `the key's info is nested: {"key":{..},"advertiser":{"id":"A1","name":".."}}`},
		change: at(atMe, func(_ *exchange, e *jsontext.Node) {
			advertiser := jsontext.ObjectNode().
				With("id", e.Get("advertiser_id")).
				With("name", e.Get("advertiser_name"))
			key := jsontext.ObjectNode().With("id", jsontext.TextNode("key_1")).With("scope", e.Get("scope"))
			e.Keys, e.Values = []string{"key", "advertiser"}, []*jsontext.Node{key, advertiser}
		})},
	{Quirk: Quirk{Name: "me-404",
		Doc: "the key's info is not there (404)"},
		override: refuseAPI(atMe, 404, "There is no such path.")},
	{Quirk: Quirk{Name: "me-scope-missing",
		Doc: "the key's info does not say whether the key can make changes"},
		change: at(atMe, func(_ *exchange, e *jsontext.Node) { e.Drop("scope", "can_make_changes") })},
	{Quirk: Quirk{Name: "limits-unreadable",
		Doc: `the limits say nothing: {"ok":true}`},
		change: at(atLimits, notUnderstood)},
	{Quirk: Quirk{Name: "limits-flat",
		Doc: `the limits are flat: {"campaign_create_used":0,"campaign_create_limit":20}`},
		change: at(atLimits, func(_ *exchange, e *jsontext.Node) {
			flat := jsontext.ObjectNode()
			for _, l := range e.Get("limits").Elements() {
				kind := l.Get("kind").Text()
				flat.Set(kind+"_used", l.Get("used"))
				flat.Set(kind+"_limit", l.Get("limit"))
			}
			*e = *flat
		})},
	{Quirk: Quirk{Name: "limits-remaining",
		Doc: "the limits say what remains, not what is used"},
		change: at(atLimits, func(_ *exchange, e *jsontext.Node) {
			for _, l := range e.Get("limits").Elements() {
				l.Set("remaining", jsontext.IntNode(l.Get("limit").Number()-l.Get("used").Number()))
				l.Drop("used")
			}
		})},
	{Quirk: Quirk{Name: "limits-empty",
		Doc: "the list of limits is empty"},
		change: at(atLimits, func(_ *exchange, e *jsontext.Node) { e.Set("limits", jsontext.ListNode()) })},
	{Quirk: Quirk{Name: "limits-404",
		Doc: "the limits are not there (404)"},
		override: refuseAPI(atLimits, 404, "There is no such path.")},
	{Quirk: Quirk{Name: "balance-unreadable",
		Doc: `the balance says nothing: {"ok":true}`},
		change: at(atBalance, notUnderstood)},
	{Quirk: Quirk{Name: "balance-nested",
		Doc: `the balance is nested: {"balance":{"amount":"12.30","currency":"USD"}}`},
		change: at(atBalance, func(_ *exchange, e *jsontext.Node) {
			e.Set("balance", money(e.Get("available_balance")))
			e.Drop("available_balance", "currency")
		})},
	{Quirk: Quirk{Name: "balance-renamed",
		Doc: "available_balance is called credit_left"},
		change: at(atBalance, func(_ *exchange, e *jsontext.Node) { e.Rename("available_balance", "credit_left") })},
	{Quirk: Quirk{Name: "balance-null",
		Doc: "available_balance is null"},
		change: at(
			atBalance,
			func(_ *exchange, e *jsontext.Node) { e.Set("available_balance", jsontext.Leaf("null")) },
		)},
	{Quirk: Quirk{Name: "balance-no-auto-funding",
		Doc: "the balance does not say whether the account is funded by itself"},
		change: at(atBalance, func(_ *exchange, e *jsontext.Node) { e.Drop("auto_funding") })},
	{Quirk: Quirk{Name: "auto-funding-flat",
		Doc: "auto-funding is flat: auto_funding_enabled, auto_funding_threshold, auto_funding_amount"},
		change: at(atBalance, func(_ *exchange, e *jsontext.Node) {
			if a := e.Get("auto_funding"); a != nil {
				for i, key := range a.Keys {
					e.Set("auto_funding_"+key, a.Values[i])
				}
				e.Drop("auto_funding")
			}
		})},
	{Quirk: Quirk{Name: "auto-funding-off",
		Doc: "auto-funding is switched off: false"},
		change: at(atBalance, func(_ *exchange, e *jsontext.Node) { e.Set("auto_funding", jsontext.Leaf("false")) })},
	{Quirk: Quirk{Name: "balance-error-200",
		Doc: `the balance is an error with status 200: {"error":".."}`},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place != atBalance {
				return body
			}
			return jsontext.ObjectNode().
				With("error", jsontext.ObjectNode().With("code", jsontext.TextNode("upstream_error")).
					With("message", jsontext.TextNode("The billing backend does not answer.")))
		}},
	{Quirk: Quirk{Name: "campaign-error-200",
		Doc: `the read of one campaign is an error with status 200: {"error":".."}`},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place != atCampaign {
				return body
			}
			return jsontext.ObjectNode().With("error", jsontext.TextNode("The campaign store is being moved."))
		}},
	{Quirk: Quirk{Name: "account-notice",
		Doc: "replies of the advertiser API carry account_notice and key_expiry_warning"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place.onAPI() && body.Kind == '{' {
				body.Set("account_notice", jsontext.TextNode("The balance lasts less than two days."))
				body.Set("key_expiry_warning", jsontext.TextNode("The key expires in 9 days."))
			}
			return body
		}},
	{Quirk: Quirk{Name: "no-expiry-header",
		Doc: "replies do not say when the key expires"},
		wire: func(_ *exchange, rep *wire.Reply) {
			rep.Header.Del("Service-Api-Key-Expires-At")
			rep.Header.Del("Service-Api-Key-Expiry-Warning")
		}},
}

// idQuirks are about how an object names itself.
var idQuirks = []quirk{
	{Quirk: Quirk{Name: "ids-long",
		Doc: "objects name their own ID campaign_id or creative_id"},
		change: ofOwnIDs(func(e *jsontext.Node, long string) { e.Rename("id", long) })},
	{Quirk: Quirk{Name: "ids-both",
		Doc: "objects have id and campaign_id or creative_id, which are equal"},
		change: ofOwnIDs(func(e *jsontext.Node, long string) { e.Set(long, e.Get("id")) })},
	{Quirk: Quirk{Name: "ids-number-beside",
		Doc: "id is a number of the database, campaign_id or creative_id is the ID"},
		change: ofOwnIDs(func(e *jsontext.Node, long string) {
			e.Set(long, e.Get("id"))
			e.Set("id", jsontext.Leaf(digitsOf(e.Get("id").Text())))
		})},
	{Quirk: Quirk{Name: "ids-number",
		Doc: "IDs of campaigns and creatives are numbers: 13463005"},
		change: ofOwnIDs(
			func(e *jsontext.Node, _ string) { e.Set("id", jsontext.Leaf(digitsOf(e.Get("id").Text()))) },
		)},
	{Quirk: Quirk{Name: "ids-uuid",
		Doc: "IDs of campaigns and creatives have another form than the description's"},
		change: ofOwnIDs(func(e *jsontext.Node, _ string) {
			e.Set("id", jsontext.TextNode("6ba7b810-9dad-11d1-80b4-00c0"+digitsOf(e.Get("id").Text())))
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
func ofOwnIDs(change func(e *jsontext.Node, long string)) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		long := "campaign_id"
		if slices.Contains(ofCreatives, x.place) {
			long = "creative_id"
		}
		return ofEntities(slices.Concat(ofCampaigns, ofCreatives), func(e *jsontext.Node) {
			if e.Get("id") != nil {
				change(e, long)
			}
		})(x, body)
	}
}
