package transform

import (
	"fmt"
	"strings"
	"testing"

	"spendsync/schema"
)

func TestAccount_Golden(t *testing.T) {
	for _, name := range cases(t, "account", ".me.json") {
		t.Run(name, func(t *testing.T) {
			c := replying(t, map[string]string{
				"/v1/me": "account/" + name + ".me.json", "/v1/limits": "account/" + name + ".limits.json",
				"/v1/balance": "account/" + name + ".balance.json",
			})
			me, err1 := c.Me(t.Context())
			limits, err2 := c.Limits(t.Context())
			balance, err3 := c.Balance(t.Context())
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			var got strings.Builder
			all := Account(me, limits, balance, seenAt, settings)
			snap, lims, ref, canWrite, unread, err := all.Snapshot, all.Limits, all.Ref, all.CanWrite,
				append(all.Unread, all.Key.Unread...), firstOf(all.Key.Err(), &all.Decoded)
			fmt.Fprintf(&got, "account %s, can write %v, unread %v, error %v\n", ref, canWrite, unread, err)
			show(&got, snap)
			for _, l := range lims {
				got.WriteString("limit\n")
				show(&got, l)
			}
			golden(t, "account/"+name+".golden", got.String())
		})
	}
}

const (
	sampleMe      = `{"advertiser_id":"A17","can_make_changes":false}`
	sampleLimits  = `{"limits":[{"kind":"create","used":1,"limit":50,"resets_at":"2026-03-09T00:00:00Z"}]}`
	sampleBalance = `{"available_balance":5,"payment_mode":"card","average_daily_spend":2,"days_left":2.5,` +
		`"status":"low","message":"m"}`
)

func account(t *testing.T, me, limits, balance string) (schema.AccountSnapshot, []schema.AccountLimit, string,
	schema.Null[bool], []string, error) {
	t.Helper()
	all := Account(entity(t, "", me), entity(t, "", limits), entity(t, "", balance), seenAt, settings)
	return all.Snapshot, all.Limits, all.Ref, all.CanWrite, append(all.Unread, all.Key.Unread...),
		firstOf(all.Key.Err(), &all.Decoded)
}

func TestAccount_FindsWhomTheKeyActsFor(t *testing.T) {
	for name, tc := range map[string]struct{ me, ref, canWrite string }{
		"id":                {`{"advertiser_id":"A17"}`, "A17", "unread"},
		"id/number":         {`{"account_id":17}`, "17", "unread"},
		"id/beside-the-key": {`{"id":"key_1","advertiser_id":"A17"}`, "A17", "unread"},
		"id/first":          {`{"account_id":"x","advertiser_id":"A17"}`, "A17", "unread"},
		"id/null":           {`{"advertiser_id":null,"account_id":"A17"}`, "A17", "unread"},
		"object":            {`{"advertiser":{"id":"A17","name":"x"}}`, "A17", "unread"},
		"object/long":       {`{"account":{"id":1,"account_id":"A17"}}`, "A17", "unread"},
		"object/none":       {`{"account":{"name":"x"},"key":{"advertiser_id":"A17"}}`, "A17", "unread"},
		"text":              {`{"account":"A17"}`, "A17", "unread"},
		"key":               {`{"api_key":{"id":1,"account":{"id":"A17"},"scope":"write"}}`, "A17", "true"},
		"can/false":         {`{"advertiser_id":"A17","can_make_changes":false,"scope":"write"}`, "A17", "false"},
		"can/true":          {`{"advertiser_id":"A17","can_write":true}`, "A17", "true"},
		"read-only":         {`{"advertiser_id":"A17","read_only":true}`, "A17", "false"},
		"read-only/not":     {`{"advertiser_id":"A17","read_only":false}`, "A17", "true"},
		"scope/read":        {`{"advertiser_id":"A17","scope":"READ"}`, "A17", "false"},
		"scope/both":        {`{"advertiser_id":"A17","scope":"read_write"}`, "A17", "true"},
		"scopes":            {`{"advertiser_id":"A17","scopes":["read","write"]}`, "A17", "true"},
		"scopes/read":       {`{"advertiser_id":"A17","permissions":["read"]}`, "A17", "false"},
		"scope/new":         {`{"advertiser_id":"A17","scope":"admin"}`, "A17", "unread"},
		"scope/null":        {`{"advertiser_id":"A17","scope":null}`, "A17", "unread"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, ref, canWrite, unread, err := account(t, tc.me, sampleLimits, sampleBalance)
			if err != nil {
				t.Fatal(err)
			}
			can := fmt.Sprint(canWrite.V)
			if len(unread) == 1 && unread[0] == "can_write" && !canWrite.Valid {
				can = "unread"
			}
			if ref != tc.ref || can != tc.canWrite {
				t.Errorf("account %q, can write %s, want %q, %s", ref, can, tc.ref, tc.canWrite)
			}
			if got := CanWrite(nil, entity(t, "", tc.me)); got != canWrite {
				t.Errorf("CanWrite says %v", got)
			}
		})
	}
}

func TestAccount_ReadsTheBalanceUnderManyNames(t *testing.T) {
	for name, tc := range map[string]struct{ balance, want, unread string }{
		"sample": {sampleBalance, `5.00 card 2.00 2.50 low m`, ""},
		"empty":  {`{}`, `NULL NULL NULL NULL NULL NULL`, "balance payment_mode average_daily_spend days_left"},
		"nulls": {`{"balance":null,"payment_mode":null,"average_daily_spend":null,"days_left":null,` +
			`"status":null,"message":null}`, `NULL NULL NULL NULL NULL NULL`, ""},
		"nested": {`{"balance":{"amount":5,"status":"low"},"status":"success","payment_mode":"card",` +
			`"average_daily_spend":2,"days_left":2}`, `5.00 card 2.00 2.00 low NULL`, ""},
		"nested/money": {`{"available_balance":{"amount":5,"currency":"USD"},"payment_mode":"card",` +
			`"average_daily_spend":2,"days_left":2}`, `5.00 card 2.00 2.00 NULL NULL`, ""},
		"auto-funding": {`{"auto_funding":{"amount":500,"status":"on"},"payment_mode":"card","average_daily_spend":0,` +
			`"days_left":1e2}`, `NULL card 0.00 100.00 NULL NULL`, "balance"},
		"nested/beside": {`{"available_balance":{"status":"low"},"balance":5,"payment_mode":"card",` +
			`"average_daily_spend":2,"days_left":2}`, `5.00 card 2.00 2.00 low NULL`, ""},
		"overdrawn": {`{"balance":-0.5,"payment_mode":"card","average_daily_spend":2,"days_left":0}`,
			`-0.50 card 2.00 0.00 NULL NULL`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			snap, _, _, _, unread, err := account(t, sampleMe, sampleLimits, tc.balance)
			if err != nil && !strings.Contains(err.Error(), " is a line balance.") {
				t.Fatal(err)
			}
			text := func(valid bool, v any) string {
				if !valid {
					return "NULL"
				}
				return fmt.Sprint(v)
			}
			got := strings.Join([]string{
				text(snap.Balance.Valid, snap.Balance.V), text(snap.PaymentMode.Valid, snap.PaymentMode.V),
				text(snap.AverageDailySpend.Valid, snap.AverageDailySpend.V),
				text(snap.DaysLeft.Valid, snap.DaysLeft.V),
				text(snap.BalanceStatus.Valid, snap.BalanceStatus.V), text(snap.Message.Valid, snap.Message.V),
			}, " ")
			if got != tc.want || strings.Join(unread, " ") != tc.unread {
				t.Errorf("balance %q, unread %v, want %q, %q", got, unread, tc.want, tc.unread)
			}
			if want := `{"me":` + sampleMe + `,"limits":` + sampleLimits + `,"balance":` + tc.balance +
				`}`; snap.Raw.V != want {
				t.Errorf("raw %s, want %s", snap.Raw.V, want)
			}
		})
	}
}

func TestAccount_ReadsLimitsAsAListOrAMap(t *testing.T) {
	for name, tc := range map[string]struct{ limits, want string }{
		"list": {`{"limits":[{"kind":"b","used":1,"limit":50,"resets_at":"2026-03-09T00:00:00Z"},{"kind":"a",` +
			`"used":0,"limit":9}]}`, "a 0/9 never, b 1/50 2026-03-09"},
		"list/one-end": {`{"resets_at":"2026-03-09T00:00:00Z","daily_limits":[{"type":"a","used":2,"allowed":9}]}`,
			"a 2/9 2026-03-09"},
		"list/in-an-envelope": {`{"data":{"limits":[{"kind":"a","used":2,"limit":9}],` +
			`"resets_at":"2026-03-09T00:00:00Z"}}`, "a 2/9 2026-03-09"},
		"list/none": {`{"limits":[]}`, ""},
		"map": {`{"limits":{"b":{"used":1,"max":2},"a":{"used":3,"limit":4,` +
			`"reset_at":"2026-03-09T00:00:00Z"}}}`, "a 3/4 2026-03-09, b 1/2 never"},
		"map/one-end": {`{"limits":{"a":{"used":3,"limit":4},"resets_at":"2026-03-09T00:00:00Z"}}`,
			"a 3/4 2026-03-09"},
		"map/none": {`{"limits":{}}`, ""},
		"map/whole": {`{"a":{"used":3,"limit":4},"b":{"used":1,"limit":2},"resets_at":"2026-03-09T00:00:00Z"}`,
			"a 3/4 2026-03-09, b 1/2 2026-03-09"},
		"map/kinds-like-lists": {`{"limits":{"budgets":{"used":1,"limit":2},"items":{"used":3,"limit":4}}}`,
			"budgets 1/2 never, items 3/4 never"},
		"kind/longest": {`{"limits":{"` + strings.Repeat("k", 200) + `":{"used":1,"limit":2}}}`,
			strings.Repeat("k", 200) + " 1/2 never"},
		"unlimited": {`{"limits":[{"kind":"a","used":3,"limit":null},{"kind":"b","limit":5}]}`,
			"a 3/NULL never, b NULL/5 never"},
		"remaining": {`{"limits":[{"kind":"a","remaining":3,"limit":10}]}`, "a 7/10 never"},
		"overdrawn": {`{"limits":[{"kind":"a","remaining":30,"limit":10}]}`, "a 0/10 never"},
	} {
		t.Run(name, func(t *testing.T) {
			_, lims, _, _, _, err := account(t, sampleMe, tc.limits, sampleBalance)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			number := func(n schema.Null[int64]) string {
				if !n.Valid {
					return "NULL"
				}
				return fmt.Sprint(n.V)
			}
			for _, l := range lims {
				ends := "never"
				if l.ResetsAt.Valid {
					ends = l.ResetsAt.V.Time().Format("2006-01-02")
				}
				got = append(got, fmt.Sprintf("%s %s/%s %s", l.LimitKind, number(l.Used), number(l.Allowed), ends))
				if l.AccountID != "acme" || l.SeenAt != seenAt || l.RunID != "01KRUN" {
					t.Errorf("limit %+v", l)
				}
			}
			if got := strings.Join(got, ", "); got != tc.want {
				t.Errorf("limits %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAccount_RefusesWhatItDoesNotKnow(t *testing.T) {
	const snapshots, limits = "account_snapshot", "account_limit"
	for name, tc := range map[string]struct {
		me, limits, balance string // empty: the sample
		table, column       string
		want                error
		says                string
	}{
		"me/bare-id":      {`{"id":"k","name":"x"}`, "", "", snapshots, "account", ErrForm, `the keys "id", "name"`},
		"me/no-id-inside": {`{"account":{"name":"x"}}`, "", "", snapshots, "account", ErrForm, `the keys "account"`},
		"me/fraction":     {`{"account_id":1.5}`, "", "", snapshots, "account_id", ErrNotText, "1.5"},
		"me/empty":        {`{"account_id":""}`, "", "", snapshots, "account_id", ErrMissing, ""},
		"me/control":      {`{"account_id":"a\nx"}`, "", "", snapshots, "account_id", ErrControl, ""},
		"me/flag": {`{"account_id":"a","can_write":"yes"}`, "", "", snapshots, "can_write", ErrNotFlag,
			`"yes"`},
		"balance/text":   {"", "", `{"balance":"5,0"}`, snapshots, "balance", schema.ErrNotNumber, `"5,0"`},
		"balance/huge":   {"", "", `{"balance":1e12}`, snapshots, "balance", schema.ErrRange, "1e12"},
		"balance/days":   {"", "", `{"days_left":"many"}`, snapshots, "days_left", schema.ErrNotNumber, `"many"`},
		"balance/status": {"", "", `{"status":{"code":1}}`, snapshots, "balance_status", ErrNotText, ""},
		"limits/nothing": {"", `{"plan":"x"}`, "", limits, "kind", ErrForm, `the keys "plan"`},
		"limits/one": {"", `{"limits":{"used":1,"limit":2}}`, "", limits, "kind", ErrForm,
			`the keys "limit", "used"`},
		"limits/text": {"", `{"limits":"none"}`, "", limits, "kind", ErrForm, `"none"`},
		"limits/null": {"", `{"limits":null}`, "", limits, "kind", ErrForm, "null"},
		"limits/list": {"", `{"limits":["a"]}`, "", limits, "kind", ErrForm, `"a"`},
		"limits/no-kind": {"", `{"limits":[{"used":1,"limit":2}]}`, "", limits, "kind", ErrForm,
			`the keys "limit", "used"`},
		"limits/no-numbers": {"", `{"limits":{"a":{"x":1}}}`, "", limits, "kind", ErrForm, `kind a: an object with ` +
			`the keys "x"`},
		"limits/control": {"", `{"limits":{"a\u001b":{"used":1,"limit":2}}}`, "", limits, "kind", ErrControl,
			`a\x1b`},
		"limits/long-kind": {"", `{"limits":{"` + strings.Repeat("k", 201) + `":{"used":1,"limit":2}}}`, "", limits,
			"kind", ErrControl, "kkk..."},
		"limits/fraction": {"", `{"limits":{"a":{"used":1.5,"limit":2}}}`, "", limits, "used",
			schema.ErrFraction, "1.5"},
		"limits/time": {"", `{"limits":{"a":{"used":1,"limit":2,"resets_at":"00:00"}}}`, "", limits, "resets_at",
			ErrNotTime, `"00:00"`},
		"limits/twice": {"", `{"limits":[{"kind":"a","used":1,"limit":2},{"kind":"a","used":2,"limit":2}]}`, "",
			limits, "kind", errTwice, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			or := func(s, sample string) string {
				if s == "" {
					return sample
				}
				return s
			}
			snap, lims, ref, _, unread, err := account(t, or(tc.me, sampleMe), or(tc.limits, sampleLimits),
				or(tc.balance, sampleBalance))
			wantFieldError(t, err, tc.want, tc.table, "", tc.column)
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %q does not say %q", err, tc.says)
			}
			// The other two replies are not affected.
			if (ref == "A17") != (tc.me == "") && tc.column != "can_write" ||
				snap.Message.Valid != (tc.balance == "") || (len(lims) == 1) != (tc.limits == "") && len(lims) > 1 {
				t.Errorf("account %q, limits %v, unread %v, snapshot %+v", ref, lims, unread, snap)
			}
		})
	}
}
