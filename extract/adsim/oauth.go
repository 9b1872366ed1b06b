package adsim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// MCP may be used without a key: by signing in with the dashboard user's e-mail
// address and password (OAuth 2.1, an authorization code with PKCE). A sign-in works
// only on MCP, can make changes, and has no key to expire. Sign-ins are not kept in
// a file.
const (
	oauthPath    = APIPrefix + "/oauth/"
	oauthServer  = "/.well-known/oauth-authorization-server"
	mostSignIns  = 10_000
	mostRedirect = 20
)

// signIns are the clients, the codes that were not used yet, and the tokens.
type signIns struct {
	mu      sync.Mutex
	number  uint64
	clients map[string][]string // redirect URIs
	codes   map[string]grant
	tokens  map[string]*signIn
}

type grant struct {
	client, redirect, challenge string
	own                         *api
}

type signIn struct {
	own *api
	key *apiKey
}

// signedIn finds the account of an OAuth token.
func (s *tools) signedIn(authorization string) (*api, *apiKey) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, nil
	}
	s.signIns.mu.Lock()
	defer s.signIns.mu.Unlock()
	in := s.signIns.tokens[strings.TrimSpace(token)]
	if in == nil {
		return nil, nil
	}
	return in.own, in.key
}

// endSignIns ends all OAuth sign-ins.
func (s *tools) endSignIns() {
	s.signIns.mu.Lock()
	defer s.signIns.mu.Unlock()
	s.signIns.codes, s.signIns.tokens = nil, nil
}

// oauthSecret is a text that nobody has had before; s.signIns.mu is held.
func (s *tools) oauthSecret(kind string) string {
	s.signIns.number++
	h := chance(
		s.accounts[0].world.account.seed,
		aboutSignIn,
		s.signIns.number,
		uint64(s.accounts[0].world.clock.now().UnixNano()),
	)
	return fmt.Sprintf("%s_%016x%016x", kind, h, mix(h))
}

// serveOAuth answers what a client needs to sign in; false is another path.
func (s *tools) serveOAuth(r *http.Request) (reply, bool) {
	base := baseOf(r)
	switch r.Method + " " + r.URL.Path {
	case "GET " + protectedResource, "GET " + protectedResource + mcpPath:
		return oauthJSON(http.StatusOK, map[string]any{"resource": base + mcpPath,
			"authorization_servers": []string{base + APIPrefix}, "bearer_methods_supported": []string{"header"}}), true
	case "GET " + oauthServer, "GET " + oauthServer + APIPrefix, "GET " + APIPrefix + oauthServer:
		return oauthJSON(http.StatusOK, map[string]any{
			"issuer": base + APIPrefix, "authorization_endpoint": base + oauthPath + "authorize",
			"token_endpoint":        base + oauthPath + "token",
			"registration_endpoint": base + oauthPath + "register", "response_types_supported": []string{"code"},
			"grant_types_supported":                 []string{"authorization_code"},
			"code_challenge_methods_supported":      []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		}), true
	case "POST " + oauthPath + "register":
		return s.registerClient(r), true
	case "GET " + oauthPath + "authorize", "POST " + oauthPath + "authorize":
		return s.authorize(r), true
	case "POST " + oauthPath + "token":
		return s.token(r), true
	}
	return reply{}, false
}

func oauthJSON(status int, v any) reply {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and lists of texts
	}
	rep := jsonReply(status, text)
	rep.header.Set("Cache-Control", "no-store")
	return rep
}

func oauthError(code, text string) reply {
	return oauthJSON(http.StatusBadRequest, map[string]any{"error": code, "error_description": text})
}

// registerClient takes where a client may be sent back to.
func (s *tools) registerClient(r *http.Request) reply {
	var in struct {
		RedirectURIs []string `json:"redirect_uris"`
		ClientName   string   `json:"client_name"`
	}
	raw, err := readBody(r)
	if err != nil || json.Unmarshal(raw, &in) != nil || len(in.RedirectURIs) == 0 ||
		len(in.RedirectURIs) > mostRedirect {
		return oauthError("invalid_client_metadata", "redirect_uris is required")
	}
	for _, uri := range in.RedirectURIs {
		if u, err := url.Parse(uri); err != nil || u.Scheme == "" || u.Fragment != "" || u.Scheme == "javascript" {
			return oauthError("invalid_redirect_uri", uri)
		}
	}
	s.signIns.mu.Lock()
	defer s.signIns.mu.Unlock()
	if s.signIns.clients == nil || len(s.signIns.clients) >= mostSignIns {
		s.signIns.clients = map[string][]string{}
	}
	id := s.oauthSecret("client")
	s.signIns.clients[id] = in.RedirectURIs
	return oauthJSON(http.StatusCreated, map[string]any{"client_id": id, "client_name": in.ClientName,
		"redirect_uris":              in.RedirectURIs,
		"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code"},
		"response_types": []string{"code"}})
}

var signInPage = template.Must(template.New("sign in").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in</title></head><body><h1>Sign in</h1>
{{if .Wrong}}<p role="alert">Incorrect e-mail address or password</p>{{end}}
<form method="post"><label>E-mail <input name="email" type="email" required></label>
<label>Password <input name="password" type="password" required></label> <button>Sign in</button></form>
</body></html>
`))

// authorize shows the form, and sends the user of right credentials back with a code.
func (s *tools) authorize(r *http.Request) reply {
	q := r.URL.Query()
	g := grant{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge")}
	s.signIns.mu.Lock()
	known := slices.Contains(s.signIns.clients[g.client], g.redirect)
	s.signIns.mu.Unlock()
	switch {
	case !known: // nobody is sent to where no client is
		return oauthError("invalid_request", "unknown client_id or redirect_uri")
	case q.Get("response_type") != "code" || g.challenge == "" || q.Get("code_challenge_method") != "S256":
		return oauthError("invalid_request", "expected response_type code and a code_challenge with S256")
	case r.Method == http.MethodPost:
		r.Body = http.MaxBytesReader(nil, r.Body, 64<<10)
		user, password := r.PostFormValue("email"), r.PostFormValue("password")
		for _, g.own = range s.accounts {
			if g.own.world.isUser(user, password) {
				return s.sendBack(g, q.Get("state"))
			}
		}
	}
	var page strings.Builder
	if err := signInPage.Execute(&page, map[string]bool{"Wrong": r.Method == http.MethodPost}); err != nil {
		return oauthError("server_error", err.Error())
	}
	return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		body: []byte(page.String())}
}

func (s *tools) sendBack(g grant, state string) reply {
	s.signIns.mu.Lock()
	defer s.signIns.mu.Unlock()
	if s.signIns.codes == nil || len(s.signIns.codes) >= mostSignIns {
		s.signIns.codes = map[string]grant{}
	}
	code := s.oauthSecret("code")
	s.signIns.codes[code] = g
	to, _ := url.Parse(g.redirect) // registerClient has seen that it is one
	q := to.Query()
	q.Set("code", code)
	if state != "" {
		q.Set("state", state)
	}
	to.RawQuery = q.Encode()
	return reply{status: http.StatusFound, header: http.Header{"Location": {to.String()}}}
}

// token gives a token for a code, once.
func (s *tools) token(r *http.Request) reply {
	r.Body = http.MaxBytesReader(nil, r.Body, 64<<10)
	if r.PostFormValue("grant_type") != "authorization_code" {
		return oauthError("unsupported_grant_type", "expected authorization_code")
	}
	s.signIns.mu.Lock()
	defer s.signIns.mu.Unlock()
	code := r.PostFormValue("code")
	g, known := s.signIns.codes[code]
	delete(s.signIns.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("client_id") != g.client || r.PostFormValue("redirect_uri") != g.redirect ||
		!same(base64.RawURLEncoding.EncodeToString(sum[:]), g.challenge) {
		return oauthError("invalid_grant", "the code is not valid")
	}
	if s.signIns.tokens == nil || len(s.signIns.tokens) >= mostSignIns {
		s.signIns.tokens = map[string]*signIn{}
	}
	token := s.oauthSecret("oauth")
	s.signIns.tokens[token] = &signIn{g.own, &apiKey{id: "oauth", Key: Key{Name: "sign-in", Scope: scopeWrite}, endless: true,
		limiter: &limiter{}}}
	return oauthJSON(http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer"})
}
