package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// canary is a password that looks different in each kind of escaping.
const canary = `cAn4ry"ä<&>/+ %s\x`

// row is a row of the report.
const row = `{"date":"2026-03-08","campaign_id":"C1000001","campaign_name":"Spring","creative_id":"C1000001-001",` +
	`"source_id":"S1","total_spend":1.25,"clicks":5,"impressions":100,"conversions":1},`

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// withBasic and withKey return Authorization headers.
func withBasic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func withKey(key string) string { return "Bearer " + key }

// unicodeEscaped writes each letter of a text as a JSON escape of its code.
func unicodeEscaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// echoes are the ways in which a service may write a secret into a text of JSON.
var echoes = map[string]func(string) string{
	"plain":       asJSON,
	"slashes":     func(s string) string { return strings.ReplaceAll(asJSON(s), "/", `\/`) },
	"escaped":     unicodeEscaped,
	"json/twice":  func(s string) string { return asJSON(asJSON(s)) },
	"query":       url.QueryEscape,
	"path":        url.PathEscape,
	"lower":       func(s string) string { return "user%3a" + lowerPercent(s) },
	"html":        func(s string) string { return asJSON(html.EscapeString(s)) },
	"html/number": func(s string) string { return strings.ReplaceAll(asJSON(html.EscapeString(s)), "&#34;", "&#x22;") },
	"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64/url":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64/1":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "yz")) },
	"base64/2":    func(s string) string { return base64.URLEncoding.EncodeToString([]byte("user: " + s)) },
	"in a text":   func(s string) string { return "you sent " + asJSON(s) + ", and that is wrong" },
	"in JSON":     func(s string) string { return asJSON(`{"password":"` + asJSON(s) + `"}`) },
}

func lowerPercent(s string) string { return lowerHex(url.PathEscape(s)) }

// wantNoTrace looks for a secret in all texts and keys of a JSON value, before and after decoding percent signs, HTML
// and base64.
func wantNoTrace(t *testing.T, where string, body []byte, secret string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v in %s", where, err, body)
	}
	look := func(text string) {
		unescaped, _ := url.PathUnescape(text)
		for _, s := range []string{text, unescaped, html.UnescapeString(text)} {
			if strings.Contains(s, secret) || strings.Contains(s, asJSON(secret)) {
				t.Errorf("%s: %q shows the secret", where, text)
			}
		}
		for from := range text {
			for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				if plain, _ := code.DecodeString(text[from:]); bytes.Contains(plain, []byte(secret)) {
					t.Errorf("%s: %q decodes to the secret", where, text)
				}
			}
		}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			look(v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				look(key)
				walk(e)
			}
		}
	}
	walk(v)
}

// TestRedact_EveryFormOfASecret: if a service repeats a secret, in any form, in a value or a key, no trace of the
// secret remains. The rest of the reply is not altered.
func TestRedact_EveryFormOfASecret(t *testing.T) {
	for name, c := range map[string]struct {
		header, secret string
	}{
		"password":         {withBasic("ann", canary), canary},
		"password/plain":   {withBasic("analyst@example.com", "sim-password"), "sim-password"},
		"password/letters": {withBasic("ann", "OpenSesame"), "OpenSesame"},
		"password/short":   {withBasic("ann", "s3cr3t"), "s3cr3t"},
		"password/signs":   {withBasic("ann", `a%b&c/d"e+`), `a%b&c/d"e+`},
		"basic":            {withBasic("ann", "1234"), "ann:1234"},
		"key":              {withKey("adv_sim_key"), "adv_sim_key"},
		"key/long":         {withKey("adv_" + strings.Repeat("5c1f9", 12)), "adv_" + strings.Repeat("5c1f9", 12)},
		"token":            {withBasic("ann", canary), base64.StdEncoding.EncodeToString([]byte("ann:" + canary))},
		"header":           {withKey("adv_sim_key"), "adv_sim_key"},
	} {
		beside := Of(withBasic("bob", "another-word"), c.header, withKey("adv_another_key"))
		for form, echo := range echoes {
			where := name + ", " + form
			said := echo(c.secret)
			body := `{"id":"C1000001","n":[12.50,1234,"1234"], "said" :"` + said + `","` + said + `" : {"x":"y\u00e4"}}`
			clean, found := Of(c.header).Reply([]byte(body))
			if also, _ := beside.Reply([]byte(body)); string(also) != string(clean) {
				t.Errorf("%s: beside other credentials %s, alone %s", where, also, clean)
			}
			if !found {
				t.Errorf("%s: not found in %s", where, body)
				continue
			}
			wantNoTrace(t, where, clean, c.secret)
			for _, kept := range []string{
				`{"id":"C1000001","n":[12.50,1234,"1234"], "said" :"`, `" : {"x":"y\u00e4"}}`,
			} {
				if !bytes.Contains(clean, []byte(kept)) {
					t.Errorf("%s: %s is altered: %s", where, kept, clean)
				}
			}
		}
	}
}

// TestRedact_NeverAltersNumbersAndIDs: a password that looks like data is replaced only where it cannot be data.
func TestRedact_NeverAltersNumbersAndIDs(t *testing.T) {
	body := []byte(row + row)
	settings := []byte(`{"campaigns":[{"id":"C1000001","creatives":null,"status":"pending_review",` +
		`"default_bid":1234567,` +
		`"sources":["S12345678","12345678"],"audience":{"country":"US"},"start_date":"2026-03-08T00:00:00Z"}]}`)
	for _, password := range []string{
		"", "1", "12", "1234", "12345678", "1234567", "C1000001", "C1000001-001", "S1", "S12345678", "2026-03-08",
		"spend", "Sprin", "campaign_id", "campaigns", "CreativeId", "creatives", "clicks", "audience",
		"pending_review", "100", "1.25",
		"impressions", "total_spend",
	} {
		d := Of(withBasic("ann", password))
		for _, b := range [][]byte{body, settings} {
			if clean, found := d.Reply(b); found || !bytes.Equal(clean, b) {
				t.Errorf("%q: %s", password, clean)
			}
		}
		if len(password) < 4 {
			continue
		}
		together := `{"x":"ann:` + password + `","y":"` +
			base64.StdEncoding.EncodeToString([]byte("ann:"+password)) + `"}`
		clean, _ := d.Reply([]byte(together))
		check(t, password, string(clean), `{"x":"[redacted]","y":"[redacted]"}`)
	}
	// Numbers are never altered, whatever the password is.
	d := Of(withBasic("ann", "1.25-00-x9"))
	if clean, found := d.Reply([]byte(`[1.25,125]`)); found {
		t.Errorf("%s", clean)
	}
}

// TestRedact_AWordWithinAWordStays: a password of letters is removed if it is a word of its own, but not within another
// word.
func TestRedact_AWordWithinAWordStays(t *testing.T) {
	d := Of(withBasic("ann", "market"))
	clean, _ := d.Reply([]byte(`{"market_size":"supermarket, market. market","marketing":"(market)"}`))
	check(t, "clean", string(clean), `{"market_size":"supermarket, [redacted]. [redacted]","marketing":"([redacted])"}`)
}

// TestRedact_KeysStayDifferent: the keys of an object must stay different, because an object with a duplicate key is
// refused.
func TestRedact_KeysStayDifferent(t *testing.T) {
	r := withBasic("ann", canary)
	token := strings.TrimPrefix(r, "Basic ")
	keys := []string{canary, token, "ann:" + canary, "Basic " + token, url.QueryEscape(canary),
		strings.TrimRight(token, "="),
		html.EscapeString(canary), base64.StdEncoding.EncodeToString([]byte(token)), asJSON(canary)}
	body := `{"columns":[`
	for i, k := range keys {
		if i > 0 {
			body += `],`
		}
		body += `"` + asJSON(k) + `":[`
	}
	clean, found := Of(r).Reply([]byte(body + `]}`))
	check(t, "found", found, true)
	body = string(clean)
	distinct := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([^"]*)":\[`).FindAllStringSubmatch(body, -1) {
		distinct[m[1]] = true
	}
	if len(distinct) != len(keys)+1 {
		t.Errorf("%d keys of %d: %s", len(distinct), len(keys)+1, body)
	}
}

// TestRedact_FindsASecretAnywhere: a secret is found at any place in a reply. A reply without a secret stays unchanged.
func TestRedact_FindsASecretAnywhere(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	d := Of(withKey("adv_canary_5c1f9"))
	for range 3000 {
		pad := func() string {
			b := make([]byte, rng.IntN(60))
			for i := range b {
				b[i] = `adv_cnry519 {}[]:,.`[rng.IntN(19)]
			}
			return string(b)
		}
		before, after := pad(), pad()
		plain := []byte(`["` + before + after + `"]`)
		if clean, found := d.Reply(plain); found != bytes.Contains(plain, []byte("adv_canary_5c1f9")) ||
			!found && &clean[0] != &plain[0] {
			t.Fatalf("%s: found %v", plain, found)
		}
		body := `["` + before + "adv_canary_5c1f9" + after + `"]`
		clean, _ := d.Reply([]byte(body))
		check(t, body, string(clean), strings.ReplaceAll(body, "adv_canary_5c1f9", redacted))
	}
}

// TestRedact_RepliesThatAreNotWhole: a reply that is cut off or is not JSON is searched, too.
func TestRedact_RepliesThatAreNotWhole(t *testing.T) {
	d := Of(withKey("adv_canary_5c1f9"))
	body := `{"a":"x\u00e4adv_canary_5c1f9\\","b":["adv_canary_5c1f9"]}`
	for end := range body {
		clean, _ := d.Reply([]byte(body[:end]))
		if strings.Contains(string(clean), "adv_canary_5c1f9") {
			t.Errorf("%s", clean)
		}
	}
	for _, odd := range []string{``, `"`, `\`, `\\`, `"\`, `\"adv_canary_5c1f9`, `x\"adv_canary_5c1f9"\`} {
		d.Reply([]byte(odd)) // must return
	}
}

// BenchmarkRedact searches a page without a secret, in two versions. In the second, names have an escape.
func BenchmarkRedact(b *testing.B) {
	plain := []byte(strings.Repeat(row, 10_000))
	for name, page := range map[string][]byte{
		"plain":   plain,
		"escaped": bytes.ReplaceAll(plain, []byte("Spring"), []byte(`Spring \u0026 sale`)),
	} {
		b.Run(name, func(b *testing.B) {
			d := Of(withBasic("analyst@example.com", "sim-password"))
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				if _, found := d.Reply(page); found {
					b.Fatal("found")
				}
			}
		})
	}
}
