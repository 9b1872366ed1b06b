package adsim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/tools"
)

// signInAs signs in as a client of MCP does and gives the token.
func signInAs(t testing.TB, s *Service, user, password string) string {
	t.Helper()
	const verifier, back = "a-verifier-of-some-length-that-nobody-knows", "http://127.0.0.1:9/back"
	post := func(path, contentType, body string) (int, http.Header, []byte) {
		return doWith(t, s, "POST", "http://sim"+path, body, func(r *http.Request) {
			r.Header.Set("Content-Type", contentType)
		})
	}
	var client struct {
		ClientID string `json:"client_id"`
	}
	_, _, raw := post(tools.OAuthPath+"register", "application/json", `{"redirect_uris":["`+back+`"]}`)
	if err := json.Unmarshal(raw, &client); err != nil || client.ClientID == "" {
		t.Fatalf("%v in %s", err, raw)
	}
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{"response_type": {"code"}, "client_id": {client.ClientID}, "redirect_uri": {back}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
	const plainForm = "application/x-www-form-urlencoded"
	status, h, page := post(tools.OAuthPath+"authorize?"+q.Encode(), plainForm, url.Values{"email": {user},
		"password": {password}}.Encode())
	if status != 302 {
		if !strings.Contains(string(page), "Incorrect") {
			t.Errorf("%d %s", status, page)
		}
		return ""
	}
	to, err := url.Parse(h.Get("Location"))
	if err != nil || to.Query().Get("state") != "s" || !strings.HasPrefix(to.String(), back) {
		t.Fatalf("sent to %v", to)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")},
		"client_id": {client.ClientID}, "redirect_uri": {back}, "code_verifier": {verifier}}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	_, _, raw = post(tools.OAuthPath+"token", plainForm, form.Encode())
	if err := json.Unmarshal(raw, &token); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if status, _, _ := post(tools.OAuthPath+"token", plainForm, form.Encode()); status != 400 {
		t.Errorf("a code is used twice: %d", status)
	}
	return token.AccessToken
}

func TestOAuth_SignsInOnMCPOnly(t *testing.T) {
	s := sim(
		config.Config{
			RateLimit:    -1,
			Control:      true,
			Accounts:     []config.Config{{ReportPassword: "two"}},
			KeyExpiresAt: noon,
		},
	)
	token := signInAs(t, s, config.DefaultUser, config.DefaultPassword)
	cs := session(t, s, token)
	got, failed := callTool(t, cs, "create_campaign", plainCampaign)
	if failed || got["key_expiry_warning"] != nil {
		t.Errorf("got %v", got)
	}
	if got, _ := callTool(t, cs, "get_api_key_info", `{}`); got["scope"] != "write" || got["expires_at"] != nil {
		t.Errorf("got %v", got)
	}
	refusedAs(t, "REST", callWith(t, s, token, "GET", "/v1/me", ""), 401, "unauthorized", "")
	other := signInAs(t, s, "analyst2@example.com", "two")
	if got, _ := callTool(t, session(t, s, other), "get_api_key_info", `{}`); got["advertiser_id"] != s.Account(1).
		Cfg.AdvertiserID {
		t.Errorf("the second user acts on %v", got)
	}
	if signInAs(t, s, config.DefaultUser, "x") != "" {
		t.Error("a wrong password signs in")
	}
}
