package extract

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAccount_IsTakenOutOfItsEnvelope(t *testing.T) {
	type read = func(*Client) (Entity, error)
	me := func(c *Client) (Entity, error) { return c.Me(t.Context()) }
	limits := func(c *Client) (Entity, error) { return c.Limits(t.Context()) }
	balance := func(c *Client) (Entity, error) { return c.Balance(t.Context()) }
	for name, tc := range map[string]struct {
		read       read
		body, want string // the raw JSON, or a part of the error
	}{
		"me/bare":           {me, `{ "advertiser_id": 17 }`, `{"advertiser_id":17}`},
		"me/data":           {me, `{"data":{"advertiser_id":17},"ok":true}`, `{"advertiser_id":17}`},
		"me/name":           {me, `{"me":{"advertiser_id":17},"account_notice":"x"}`, `{"advertiser_id":17}`},
		"me/data/name":      {me, `{"data":{"me":{"advertiser_id":17}}}`, `{"advertiser_id":17}`},
		"me/name-with-more": {me, `{"me":{"id":1},"advertiser_id":17}`, `{"me":{"id":1},"advertiser_id":17}`},
		"me/key-repeated": {me, `{"advertiser_id":17,"key":"adv_open-sesame","x":"Bearer adv_open-sesame"}`,
			`{"advertiser_id":17,"key":"[redacted]","x":"Bearer [redacted]"}`},
		"me/array":          {me, `[]`, "key info: no key info: a value of type array, not an object"},
		"limits/bare":       {limits, `{"limits":[]}`, `{"limits":[]}`},
		"limits/data":       {limits, `{"data":{"limits":[]}}`, `{"limits":[]}`},
		"limits/array":      {limits, `[{"kind":"x"}]`, `[{"kind":"x"}]`},
		"limits/data/array": {limits, `{"data":[{"kind":"x"}]}`, `[{"kind":"x"}]`},
		"limits/text":       {limits, `"none"`, "limits: no limits: a value of type string"},
		"balance/bare":      {balance, `{"balance":5,"status":"ok"}`, `{"balance":5,"status":"ok"}`},
		"balance/name":      {balance, `{"balance":{"available":5}}`, `{"available":5}`},
		"balance/with-more": {balance, `{"balance":{"available":5},"status":"ok"}`, `{"balance":{"available":5},` +
			`"status":"ok"}`},
		"balance/data": {balance, `{"data":{"balance":{"available":5},"status":"ok"}}`,
			`{"balance":{"available":5},"status":"ok"}`},
		"balance/data-array": {balance, `{"data":[]}`, "balance: no balance: a value of type array"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, saying(tc.body), func(o *Options) {
				o.Authorize = func(r *http.Request) { r.Header.Set("Authorization", "Bearer adv_open-sesame") }
			})
			e, err := tc.read(c)
			if err != nil {
				wantError(t, err, ErrContract, tc.want)
				return
			}
			check(t, "raw", string(e.Raw), tc.want)
			check(t, "id", e.ID, "")
			if _, array := Value(e.Raw).Array(); array {
				check(t, "limits", string(e.Fields["limits"]), tc.want)
			}
		})
	}
}

func TestKeyNotice_UnderstandsTheForms(t *testing.T) {
	const at, warn = "Service-Api-Key-Expires-At", "Service-Api-Key-Expiry-Warning"
	noon := time.Date(2026, time.March, 8, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		headers []string
		expires time.Time
		warning string
		ok      bool
	}{
		"none":          {nil, time.Time{}, "", false},
		"rfc3339":       {[]string{at, "2026-03-08T12:00:00Z"}, noon, "", true},
		"fraction":      {[]string{at, "2026-03-08T12:00:00.000Z"}, noon, "", true},
		"offset":        {[]string{at, "2026-03-08T06:00:00-06:00"}, noon, "", true},
		"lower-case":    {[]string{at, " 2026-03-08t12:00:00z "}, noon, "", true},
		"no-zone":       {[]string{at, "2026-03-08T12:00:00"}, noon, "", true},
		"day":           {[]string{at, "2026-03-08"}, noon.Add(-12 * time.Hour), "", true},
		"nonsense":      {[]string{at, "soon"}, time.Time{}, "", true},
		"warning":       {[]string{at, "2026-03-08T12:00:00Z", warn, "3 days left"}, noon, "3 days left", true},
		"warning/alone": {[]string{warn, "3 days left"}, time.Time{}, "3 days left", true},
		"warning/odd": {[]string{warn, "a\x1b[31m" + strings.Repeat("b", 400)}, time.Time{}, `a\x1b[31m` +
			strings.Repeat("b", 294) + "...", true},
		"other-prefix": {[]string{"Acme-Api-Key-Expires-At", "2026-03-08T12:00:00Z"}, noon, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
				return answerWith(404, "{}", tc.headers...) // on any reply
			}))
			_, _ = c.Me(t.Context())
			expires, warning, ok := c.KeyNotice()
			check(t, "expires", expires, tc.expires)
			check(t, "warning", warning, tc.warning)
			check(t, "ok", ok, tc.ok)
		})
	}
}

// TestParseEntity_TellsAnErrorFromTheAccount: a reply with status 200 that is an error is no
// account without fields, and a field called error makes no account an error.
func TestParseEntity_TellsAnErrorFromTheAccount(t *testing.T) {
	for name, tc := range map[string]struct{ body, raw, want string }{
		"described":       {`{"error":{"code":"x","message":"y"},"balance":5}`, "", "no balance: the reply is an"},
		"alone":           {`{"error":"x","success":false,"status":500,"request_id":"r"}`, "", "the reply is an error"},
		"alone/message":   {`{"error":true,"message":"x","code":1,"details":[],"status_code":5}`, "", "is an error"},
		"beside":          {`{"error":"x","balance":5}`, `{"error":"x","balance":5}`, ""},
		"beside/no-code":  {`{"error":{"message":"y"},"balance":5}`, `{"error":{"message":"y"},"balance":5}`, ""},
		"beside/no-words": {`{"error":{"code":"x"},"balance":5}`, `{"error":{"code":"x"},"balance":5}`, ""},
		"null":            {`{"error":null}`, `{"error":null}`, ""},
		"result":          {`{"result":{"funds":5},"ok":true}`, `{"funds":5}`, ""},
		"result/null":     {`{"result":null,"funds":5}`, `{"result":null,"funds":5}`, ""},
		"data/null":       {`{"data":null,"result":{"funds":5}}`, `{"funds":5}`, ""},
		"data/number":     {`{"data":7,"funds":5}`, `{"data":7,"funds":5}`, ""},
		"named/notices":   {`{"balance":{"funds":5},"request_id":"r","meta":{}}`, `{"funds":5}`, ""},
		"named/number":    {`{"balance":5}`, `{"balance":5}`, ""},
		"thrice":          {`{"data":{"data":{"data":{"x":1}}}}`, `{"data":{"x":1}}`, ""},
		"array":           {`{"data":[{"x":1}]}`, "", "no balance: a value of type array"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := ParseEntity(nil, "balance", "", []byte(tc.body))
			if tc.want != "" {
				wantError(t, err, ErrContract, tc.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, "raw", string(e.Raw), tc.raw)
		})
	}
}
