package adsim

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The scopes of a key. Write is read and more.
const (
	scopeRead  = "read"
	scopeWrite = "write"
)

// keyPrefix is what every key begins with.
const keyPrefix = "adv_"

// keyLife is how long a key lasts that was created over the API.
const keyLife = 90 * 24 * time.Hour

// Key is a key of the advertiser API.
type Key struct {
	Secret string
	Name   string
	Scope  string // read or write
	// ExpiresAt is when it ends; by default it is the first of a month, two to three
	// months from the clock.
	ExpiresAt time.Time
}

// apiKey is a key in use. Its fields are guarded by its account's mutex where they
// change; a call holds a copy.
type apiKey struct {
	id string
	Key
	scope   string
	name    string
	revoked bool
	endless bool // an OAuth sign-in: there is no key to expire
	limiter *limiter
}

func newKey(n int, k Key) *apiKey {
	return &apiKey{id: "key_" + strconv.Itoa(n), Key: k, scope: k.Scope, name: k.Name, limiter: &limiter{}}
}

// configuredKeys are the keys that an account has from the start.
func configuredKeys(cfg *Config) []*apiKey {
	list := append([]Key{
		{Secret: cfg.APIKey, Name: "reporting", Scope: scopeRead, ExpiresAt: cfg.KeyExpiresAt},
		{Secret: cfg.WriteKey, Name: "management", Scope: scopeWrite, ExpiresAt: cfg.KeyExpiresAt},
	}, cfg.Keys...)
	keys := make([]*apiKey, len(list))
	for i, k := range list {
		keys[i] = newKey(i+1, k)
	}
	return keys
}

// expiresAt is when the key ends: never where the time is zero.
func (k *apiKey) expiresAt(now time.Time) time.Time {
	if k.endless || !k.ExpiresAt.IsZero() {
		return k.ExpiresAt
	}
	y, m, _ := now.UTC().Date()
	return time.Date(y, m+3, 1, 0, 0, 0, 0, time.UTC)
}

// works says whether the key is neither revoked nor expired.
func (k *apiKey) works(now time.Time) bool {
	return !k.revoked && (k.endless || now.Before(k.expiresAt(now)))
}

// warning is what is said of a key that ends within 14 days, else "".
func (k *apiKey) warning(now time.Time) string {
	left := k.expiresAt(now).Sub(now)
	if k.endless || left > 14*24*time.Hour {
		return ""
	}
	days := int(math.Ceil(left.Hours() / 24))
	return "The API key expires in " + strconv.Itoa(days) + " days. Renew it on the API access page."
}

// tell sets the headers that every authenticated response has.
func (k *apiKey) tell(h http.Header, now time.Time) {
	if k.endless {
		return
	}
	h.Set("Service-Api-Key-Expires-At", k.expiresAt(now).UTC().Format(time.RFC3339))
	if text := k.warning(now); text != "" {
		h.Set("Service-Api-Key-Expiry-Warning", text)
	}
}

// accountOf finds the account that a Bearer key acts on, and the key.
func (s *Service) accountOf(authorization string, now time.Time) (*Service, *apiKey) {
	scheme, secret, _ := strings.Cut(authorization, " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, nil
	}
	for _, own := range s.accounts {
		if key := own.findKey(secret); key != nil && key.works(now) {
			return own, key
		}
	}
	return nil, nil
}

// findKey is a copy of the key with this secret.
func (s *Service) findKey(secret string) *apiKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		if same(secret, k.Secret) {
			found := *k
			return &found
		}
	}
	return nil
}

// userOf finds the account whose dashboard user has these credentials.
func (s *Service) userOf(user, password string) *Service {
	for _, own := range s.accounts {
		if same(user, own.cfg.ReportUser) && same(password, own.cfg.ReportPassword) {
			return own
		}
	}
	return nil
}

var createKeyBody = objectOf([]string{"name", "scope"}, map[string]*schema{
	"name":  wordsOf(1, 100),
	"scope": enumOf(scopeRead, scopeWrite),
})

// createKey is POST /v1/api-keys, the one operation with HTTP Basic.
var createKey = &operation{name: "create_api_key", method: http.MethodPost, path: "/v1/api-keys",
	status: http.StatusCreated, body: createKeyBody, reply: "Key",
	summary: "Create a key, with the dashboard user's name and password."}

// serveAPIKeys answers /v1/api-keys.
func (s *Service) serveAPIKeys(st *state, r *http.Request) reply {
	if r.Method != http.MethodPost {
		rep := s.apiError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", "")
		rep.header.Set("Allow", http.MethodPost)
		return rep
	}
	user, password, basic := r.BasicAuth()
	own := s.userOf(user, password)
	if !basic || own == nil {
		rep := s.apiError(http.StatusUnauthorized, "unauthorized", "The dashboard user's name or password is wrong.",
			"")
		rep.header.Set("Www-Authenticate", `Basic realm="dashboard"`)
		return rep
	}
	raw, err := readBody(r)
	if err != nil {
		return s.refuse(invalidField("", "%v", err))
	}
	at := own.stateAt(st.now)
	c := &call{st: &at, op: createKey, raw: raw}
	if p := c.takeBody(); p != nil {
		return s.refuse(p)
	}
	return own.answerKey(c, own.addKey(c.body.text("name"), c.body.text("scope")))
}

// addKey makes a key.
func (s *Service) addKey(name, scope string) *apiKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	n := len(s.keys) + 1
	h := chance(s.account.seed, aboutKey, uint64(n))
	k := newKey(n, Key{Secret: fmt.Sprintf("%s%016x%016x", keyPrefix, h, mix(h)), Name: name, Scope: scope,
		ExpiresAt: now.Add(keyLife).Truncate(time.Second)})
	s.keys = append(s.keys, k)
	s.record(journalLine{Op: "key", Name: name, Scope: scope})
	return k
}

func (s *Service) answerKey(c *call, k *apiKey) reply {
	rep := s.one(c, "api_key", func(o *object) {
		o.str("id", k.id)
		o.str("name", k.name)
		o.str("scope", k.scope)
		o.str("api_key", k.Secret)
		o.str("expires_at", instant(k.ExpiresAt))
	})
	rep.status = http.StatusCreated
	return rep
}

// RenewKey sets when a key ends, by its ID or its secret; RevokeKey ends it for
// good. Both stand for what a person does in the dashboard.
func (s *Service) RenewKey(key string, until time.Time) error {
	return s.changeKey(key, func(k *apiKey) { k.ExpiresAt = until }, journalLine{Op: "renew", Name: key, Until: until})
}

// RevokeKey ends a key: see [Service.RenewKey].
func (s *Service) RevokeKey(key string) error {
	return s.changeKey(key, func(k *apiKey) { k.revoked = true }, journalLine{Op: "revoke", Name: key})
}

func (s *Service) changeKey(key string, do func(*apiKey), en journalLine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.keys, func(k *apiKey) bool { return k.id == key || k.Secret == key })
	if i < 0 {
		return errors.New("key: there is none of that ID or text")
	}
	do(s.keys[i])
	en.Name = s.keys[i].id // no secret goes where it need not
	s.record(en)
	return nil
}
