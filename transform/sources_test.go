package transform

import (
	"fmt"
	"strings"
	"testing"

	"spendsync/extract"
	"spendsync/schema"
)

// told returns a SourceRead as a short text: the mode, the kinds of rules that were read, and the rules.
func told(s SourceRead) string {
	parts := []string{"NULL"}
	if s.Mode.SourceMode.Valid {
		parts[0] = s.Mode.SourceMode.V
	}
	if len(modeUnread(s)) > 0 {
		parts[0] = "unread"
	}
	for _, kind := range []struct {
		name string
		read bool
	}{{schema.RuleAllowed, s.Kinds[schema.RuleAllowed]}, {schema.RuleBid, s.Kinds[schema.RuleBid]},
		{schema.RuleBlocked, s.Kinds[schema.RuleBlocked]}} {
		if kind.read {
			parts = append(parts, kind.name+":")
		}
		for _, r := range s.Rules {
			if r.Rule != kind.name {
				continue
			}
			if part := r.SourceID; r.Bid.Valid {
				parts = append(parts, part+"="+r.Bid.V.String())
			} else {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, " ")
}

func TestSources_Golden(t *testing.T) {
	for _, name := range cases(t, "sources", ".json") {
		t.Run(name, func(t *testing.T) {
			c := replying(t, map[string]string{"/v1/campaigns/C1000001/sources": "sources/" + name + ".json"})
			e, err := c.Sources(t.Context(), "C1000001")
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			s, err := Sources(e, "C1000001", settings)
			fmt.Fprintf(&got, "mode, unread %v, error %v\n", modeUnread(s), err)
			show(&got, s.Mode)
			fmt.Fprintf(&got, "read: blocked %v, allowed %v, bids %v\n", s.Kinds[schema.RuleBlocked],
				s.Kinds[schema.RuleAllowed], s.Kinds[schema.RuleBid])
			for _, r := range s.Rules {
				got.WriteString("rule\n")
				show(&got, r)
			}
			golden(t, "sources/"+name+".golden", got.String())
		})
	}
}

func TestSources_TakesEveryForm(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"mode/block":      {`{"mode":"block"}`, "block_list"},
		"mode/blocklist":  {`{"source_mode":"BLOCKLIST"}`, "block_list"},
		"mode/allow-list": {`{"source_targeting_mode":"allow-list"}`, "allow_list"},
		"mode/new":        {`{"mode":"Smart List"}`, "Smart List"},
		"mode/null":       {`{"mode":null}`, "unread"},
		"mode/missing":    {`{"blocked":[]}`, "unread blocked:"},
		"mode/under-sources": {`{"campaign_id":"C1000001","sources":{"mode":"block","blocked":["S1"]}}`,
			"block_list allowed: blocked: S1"},
		"lists/both": {`{"mode":"block","blocked_source_ids":["S2","S1","S2"],"allowed_source_ids":["S3"]}`,
			"block_list allowed: S3 blocked: S1 S2"},
		"lists/objects": {`{"mode":"allow","allowed_sources":[{"source_id":"S1","id":7},{"id":"S2"}],` +
			`"blocked_sources":[]}`, "allow_list allowed: S1 S2 blocked:"},
		"lists/own-alone": {`{"mode":"block","blocked":["S1"]}`, "block_list allowed: blocked: S1"},
		"lists/other-null": {`{"mode":"allow","allowed":["S1"],"blocked":null}`,
			"allow_list allowed: S1 blocked:"},
		"lists/own-null":    {`{"mode":"block","blocked":null,"allowed":[]}`, "block_list allowed:"},
		"lists/own-missing": {`{"mode":"allow","blocked":[]}`, "allow_list blocked:"},
		"lists/mode-new":    {`{"mode":"smart","blocked":["S1"]}`, "smart blocked: S1"},
		"one-list/block":    {`{"mode":"block","sources":["S1"]}`, "block_list allowed: blocked: S1"},
		"one-list/allow":    {`{"mode":"allow","source_ids":[{"id":"S1"}]}`, "allow_list allowed: S1 blocked:"},
		"one-list/named-counts": {`{"mode":"allow","allowed":["S2"],"sources":["S1"]}`,
			"allow_list allowed: S2 blocked:"},
		"nested/each-its-kind": {`{"sources":[{"id":"S1","status":"blocked"},{"id":"S2","status":"Allowed"}]}`,
			"unread allowed: S2 blocked: S1"},
		"one-list/none": {`{"mode":"block","sources":[]}`, "block_list allowed: blocked:"},
		"one-list/kinds-count": {`{"mode":"block","sources":[{"id":"S1","rule":"allow"},{"id":"S2","rule":"block"}]}`,
			"block_list allowed: S1 blocked: S2"},
		"bids/null":     {`{"mode":"block","bid_overrides":null}`, "block_list"},
		"bids/missing":  {`{"mode":"block"}`, "block_list"},
		"bids/none":     {`{"mode":"block","bid_overrides":[]}`, "block_list bid_override:"},
		"bids/none-map": {`{"mode":"block","bid_overrides":{}}`, "block_list bid_override:"},
		"bids/list": {`{"bid_overrides":[{"source_id":"S2","bid":0.5},{"id":"S1","amount":1e-1}]}`,
			"unread bid_override: S1=0.10 S2=0.50"},
		"bids/list-null": {`{"bid_overrides":[{"source_id":"S2","bid":null}]}`, "unread bid_override: S2"},
		"bids/map": {`{"bid_overrides":{"S2":0.5,"S1":0.123456,"S3":null}}`,
			"unread bid_override: S1=0.123456 S2=0.50 S3"},
		"bids/map-of-objects": {`{"bids":{"S2":{"bid":0.5},"S1":{"amount":1,"source_id":"S1"}}}`,
			"unread bid_override: S1=1.00 S2=0.50"},
		"bids/same-twice": {`{"bids":[{"id":"S1","bid":0.5},{"id":"S1","bid":0.50}]}`,
			"unread bid_override: S1=0.50"},
		"bids/noise": {`{"bids":{"S1":0.30000000000000004}}`, "unread bid_override: S1=0.30"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Sources(entity(t, "C1000001", tc.body), "C1000001", settings)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(s); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
			if s.Mode.CampaignID != "C1000001" || s.Mode.AccountID != "acme" || s.Mode.RunID != "01KRUN" ||
				s.Mode.Raw.V != tc.body {
				t.Errorf("mode %+v", s.Mode)
			}
			for _, r := range s.Rules {
				if r.CampaignID != "C1000001" || r.AccountID != "acme" || r.RunID != "01KRUN" {
					t.Errorf("rule %+v", r)
				}
			}
		})
	}
}

func TestSources_RefusesWhatItDoesNotKnow(t *testing.T) {
	const modes, rules = "source_mode_history", "source_rule_history"
	for name, tc := range map[string]struct {
		body, table, column string
		want                error
		says                string
	}{
		"nothing": {`{"websites":[],"x":1}`, modes, "source_mode", ErrForm, `an object with the keys ` +
			`"websites", "x": a form`},
		"empty":           {`{}`, modes, "source_mode", ErrForm, "the keys none"},
		"mode/number":     {`{"mode":1}`, modes, "source_mode", ErrNotText, "source_mode 1"},
		"other-campaign":  {`{"campaign_id":"C1000002","mode":"block"}`, modes, "campaign_id", ErrOther, "C1000002"},
		"list/two-lists":  {`{"blocked":{"a":["S1"],"b":["S2"]}}`, rules, "blocked", ErrForm, `"S1"`},
		"list/text":       {`{"blocked":"S1"}`, rules, "blocked", ErrForm, `"S1"`},
		"list/number":     {`{"blocked":[1.7]}`, rules, "blocked", ErrNotText, "1.7"},
		"list/null-entry": {`{"allowed":[null]}`, rules, "allowed", ErrForm, `"" is not the ID of a source`},
		"list/odd-id":     {`{"allowed":["S\u00071"]}`, rules, "allowed", ErrForm, `"S\a1" is not the ID of a source`},
		"list/unknown": {`{"allowed":[{"site":"S1","on":true}]}`, rules, "allowed", ErrForm,
			`the keys "on", "site"`},
		"one-list/no-mode":  {`{"sources":["S1"]}`, rules, "rule", ErrForm, "without a known mode"},
		"one-list/new-mode": {`{"sources":["S1"],"mode":"smart"}`, rules, "rule", ErrForm, "without a known mode"},
		"bids/text":         {`{"bid_overrides":"none"}`, rules, "bid_override", ErrForm, `"none"`},
		"bids/number":       {`{"bid_overrides":0}`, rules, "bid_override", ErrForm, ""},
		"bids/price-text":   {`{"bid_overrides":{"S1":"0,5"}}`, rules, "bid_override", schema.ErrNotNumber, `"0,5"`},
		"bids/price-empty": {`{"bid_overrides":{"S1":""}}`, rules, "bid_override", schema.ErrNotNumber,
			`"": not a number`},
		"bids/negative":  {`{"bid_overrides":{"S1":-0.5}}`, rules, "bid_override", ErrNegative, "-0.5"},
		"bids/too-large": {`{"bid_overrides":{"S1":1000000}}`, rules, "bid_override", schema.ErrRange, "1000000"},
		"bids/map-key": {`{"bid_overrides":{"S\u00071":0.5}}`, rules, "bid_override", ErrForm, `"S\a1" is not the ID ` +
			`of a source`},
		"bids/map-unknown": {`{"bid_overrides":{"S1":{"usd":1}}}`, rules, "bid_override", ErrForm, `the keys "usd"`},
		"bids/list-unknown": {`{"bid_overrides":[{"source_id":"S1","usd":1}]}`, rules, "bid_override", ErrForm,
			`the keys "source_id", "usd"`},
		"bids/list-no-id":      {`{"bid_overrides":[{"bid":1}]}`, rules, "bid_override", ErrForm, `the keys "bid"`},
		"bids/list-of-texts":   {`{"bid_overrides":["17"]}`, rules, "bid_override", ErrForm, "17"},
		"bids/list-of-numbers": {`{"bid_overrides":[17]}`, rules, "bid_override", ErrForm, "17"},
		"bids/two-bids": {`{"bid_overrides":[{"id":"S1","bid":1},{"id":"S1","bid":2}]}`, rules, "bid_override",
			errTwoBids, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Sources(entity(t, "C1000001", tc.body), "C1000001", settings)
			err = firstOf(err, &s.Decoded)
			if s.Mode.Raw.V != tc.body && tc.want != ErrOther {
				t.Errorf("raw %s", s.Mode.Raw.V)
			}
			wantFieldError(t, err, tc.want, tc.table, "C1000001", tc.column)
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %q does not say %q", err, tc.says)
			}
			if s.Rules != nil || s.Kinds[schema.RuleBid] || s.Kinds[schema.RuleBlocked] || s.Kinds[schema.RuleAllowed] {
				t.Errorf("read %+v beside an error", s)
			}
		})
	}
	_, err := Sources(extract.Entity{}, "C1000001", settings)
	wantFieldError(t, err, ErrMissing, "source_mode_history", "", "campaign_id")
}

// TestSources_OneEntryDoesNotCostTheOthers: an entry that is not understood does not affect the other entries, and its
// kind of rules counts as not completely read.
func TestSources_OneEntryDoesNotCostTheOthers(t *testing.T) {
	body := `{"mode":"block","blocked":["S1","S/2","S3"],"bid_overrides":[{"id":"S1","bid":0.5},{"id":"S2","bid":"0,` +
		`5"},{"id":"S3","bid":1},{"id":"S3","bid":2}]}`
	s, err := Sources(entity(t, "C1000001", body), "C1000001", settings)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, r := range s.Rules {
		rules = append(rules, r.Rule+" "+r.SourceID)
	}
	if got, want := strings.Join(rules, ", "), "bid_override S1, blocked S1, blocked S3"; got != want {
		t.Errorf("rules %s, want %s", got, want)
	}
	if s.Kinds[schema.RuleBlocked] || s.Kinds[schema.RuleAllowed] || s.Kinds[schema.RuleBid] {
		t.Errorf("read whole: %+v", s)
	}
	if got := strings.Join(s.Unread, " "); got != "blocked allowed bid_overrides" || len(s.Refused) != 2 ||
		len(s.Withheld) != 0 {
		t.Errorf("unread %s, refused %v, withheld %v", got, s.Refused, s.Withheld)
	}
	sorted := `{"mode":"block","sources":[{"id":"S1","rule":"block"},{"id":"S2","rule":"allow"},{"id":"S3"}]}`
	s, err = Sources(entity(t, "C1000001", sorted), "C1000001", settings)
	if got := told(s); got != "block_list S2 S1" || err != nil {
		t.Errorf("told %q, error %v", got, err)
	}
	if len(s.Refused) != 1 || s.Refused[0].Column != "rule" || s.Refused[0].Value != `{"id":"S3"}` {
		t.Errorf("refused %v", s.Refused)
	}
	if s, _ = Sources(entity(t, "C1000001", `{"mode":"block","blocked":[],"bid_overrides":null}`), "C1000001",
		settings); strings.Join(s.Withheld, " ") != "bid_overrides" {
		t.Errorf("withheld %v", s.Withheld)
	}
}
