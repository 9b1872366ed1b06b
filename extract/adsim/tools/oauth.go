package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// MCP may be used without a key: by signing in with the dashboard user's e-mail
// address and password (OAuth 2.1, an authorization code with PKCE). A sign-in works
// only on MCP, can make changes, and has no key to expire.
const (
	OAuthPath   = wire.APIPrefix + "/oauth/"
	OAuthServer = "/.well-known/oauth-authorization-server"
)

// signIns are the clients, the codes that were not used yet, and the tokens.
type signIns struct {
	mu      sync.Mutex
	number  uint64
	clients map[string][]string // redirect URIs
	codes   map[string]grant
	tokens  map[string]signIn
}

type grant struct {
	client, redirect, challenge string
	own                         *advertiser.API
}

type signIn struct {
	own *advertiser.API
	key *advertiser.APIKey
}

// signedIn finds the account of an OAuth token.
func (s *Server) signedIn(authorization string) (*advertiser.API, *advertiser.APIKey) {
	s.signIns.mu.Lock()
	defer s.signIns.mu.Unlock()
	_, token, _ := strings.Cut(authorization, " ")
	in := s.signIns.tokens[token]
	return in.own, in.key
}

// secret is unique; s.signIns.mu is held.
func (s *Server) secret(kind string) string {
	s.signIns.number++
	w := s.accounts[0].World
	h := chance.Hash(w.Account.Seed, chance.AboutSignIn, s.signIns.number, uint64(w.Clock.Now().UnixNano()))
	return fmt.Sprintf("%s_%016x%016x", kind, h, chance.Mix(h))
}

// serveOAuth answers what a client needs to sign in; false is another path.
func (s *Server) serveOAuth(r *http.Request) (wire.Reply, bool) {
	base := wire.BaseOf(r)
	if strings.HasPrefix(r.URL.Path, OAuthPath) {
		raw, _ := wire.ReadBody(r) // half a form is refused as one
		r.Body = io.NopCloser(bytes.NewReader(raw))
		s.signIns.mu.Lock() // from here on nothing waits for the client
		defer s.signIns.mu.Unlock()
	}
	switch r.Method + " " + r.URL.Path {
	case "GET " + ProtectedResource, "GET " + ProtectedResource + MCPPath:
		return oauthJSON(http.StatusOK, map[string]any{"resource": base + MCPPath,
			"authorization_servers":    []string{base + wire.APIPrefix},
			"bearer_methods_supported": []string{"header"}}), true
	case "GET " + OAuthServer, "GET " + OAuthServer + wire.APIPrefix, "GET " + wire.APIPrefix + OAuthServer:
		return oauthJSON(http.StatusOK, map[string]any{
			"issuer": base + wire.APIPrefix, "authorization_endpoint": base + OAuthPath + "authorize",
			"token_endpoint": base + OAuthPath + "token", "registration_endpoint": base + OAuthPath + "register",
			"response_types_supported":              []string{"code"},
			"grant_types_supported":                 []string{"authorization_code"},
			"code_challenge_methods_supported":      []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		}), true
	case "POST " + OAuthPath + "register":
		return s.registerClient(r), true
	case "GET " + OAuthPath + "authorize", "POST " + OAuthPath + "authorize":
		return s.authorize(r), true
	case "POST " + OAuthPath + "token":
		return s.token(r), true
	}
	return wire.Reply{}, false
}

func oauthJSON(status int, v any) wire.Reply {
	rep := wire.JSONReply(status, tree.Marshal(v))
	rep.Header.Set("Cache-Control", "no-store")
	return rep
}

func oauthError(code, text string) wire.Reply {
	return oauthJSON(http.StatusBadRequest, map[string]any{"error": code, "error_description": text})
}

// registerClient takes where a client may be sent back to.
func (s *Server) registerClient(r *http.Request) wire.Reply {
	var in struct {
		RedirectURIs []string `json:"redirect_uris"`
		ClientName   string   `json:"client_name"`
	}
	raw, err := wire.ReadBody(r)
	if err != nil || json.Unmarshal(raw, &in) != nil || len(in.RedirectURIs) == 0 {
		return oauthError("invalid_client_metadata", "redirect_uris is required")
	}
	for _, uri := range in.RedirectURIs {
		if u, err := url.Parse(uri); err != nil || u.Scheme == "" || u.Fragment != "" || u.Scheme == "javascript" {
			return oauthError("invalid_redirect_uri", uri)
		}
	}
	id := s.secret("client")
	s.signIns.clients[id] = in.RedirectURIs
	return oauthJSON(http.StatusCreated, map[string]any{"client_id": id, "client_name": in.ClientName,
		"redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code"}, "response_types": []string{"code"}})
}

const signInPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in</title></head><body><h1>Sign in</h1>
<p role="alert">%s</p>
<form method="post"><label>E-mail <input name="email" type="email" required></label>
<label>Password <input name="password" type="password" required></label> <button>Sign in</button></form>
</body></html>
`

// authorize shows the form, and sends the user of right credentials back with a code.
func (s *Server) authorize(r *http.Request) wire.Reply {
	q := r.URL.Query()
	g := grant{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge")}
	switch {
	case !slices.Contains(s.signIns.clients[g.client], g.redirect): // redirects go to registered clients only
		return oauthError("invalid_request", "unknown client_id or redirect_uri")
	case q.Get("response_type") != "code" || g.challenge == "" || q.Get("code_challenge_method") != "S256":
		return oauthError("invalid_request", "expected response_type code and a code_challenge with S256")
	}
	wrong := ""
	if r.Method == http.MethodPost {
		for _, g.own = range s.accounts {
			if g.own.World.IsUser(r.PostFormValue("email"), r.PostFormValue("password")) {
				return s.sendBack(g, q.Get("state"))
			}
		}
		wrong = "Incorrect e-mail address or password"
	}
	return wire.Reply{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: fmt.Appendf(nil, signInPage, wrong)}
}

func (s *Server) sendBack(g grant, state string) wire.Reply {
	code := s.secret("code")
	s.signIns.codes[code] = g
	to, _ := url.Parse(g.redirect) // registerClient has seen that it is one
	q := to.Query()
	q.Set("code", code)
	if state != "" {
		q.Set("state", state)
	}
	to.RawQuery = q.Encode()
	return wire.Reply{Status: http.StatusFound, Header: http.Header{"Location": {to.String()}}}
}

// token gives a token for a code, once.
func (s *Server) token(r *http.Request) wire.Reply {
	if r.PostFormValue("grant_type") != "authorization_code" {
		return oauthError("unsupported_grant_type", "expected authorization_code")
	}
	code := r.PostFormValue("code")
	g, known := s.signIns.codes[code]
	delete(s.signIns.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("client_id") != g.client || r.PostFormValue("redirect_uri") != g.redirect ||
		!world.Same(base64.RawURLEncoding.EncodeToString(sum[:]), g.challenge) {
		return oauthError("invalid_grant", "the code is not valid")
	}
	token := s.secret("oauth")
	s.signIns.tokens[token] = signIn{g.own, &advertiser.APIKey{ID: "oauth", Name: "sign-in",
		Scope: advertiser.ScopeWrite, Endless: true}}
	return oauthJSON(http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer"})
}
