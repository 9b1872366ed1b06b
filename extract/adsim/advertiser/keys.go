package advertiser

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// ScopeWrite is the scope of a key that may make changes; the other one is read.
const ScopeWrite = "write"

// APIKey is a key of the advertiser API. It does not change.
type APIKey struct {
	ID, Secret, Name string
	Scope            string    // read or write
	ExpiresAt        time.Time // zero: the first of a month, two to three months from the clock
	Endless          bool      // an OAuth sign-in: it has no key that could expire
	Limiter          Limiter
}

// Ends returns when the key expires. A zero time means never.
func (k *APIKey) Ends(now time.Time) time.Time {
	if k.Endless || !k.ExpiresAt.IsZero() {
		return k.ExpiresAt
	}
	y, m, _ := now.UTC().Date()
	return time.Date(y, m+3, 1, 0, 0, 0, 0, time.UTC)
}

// works reports whether the key has not expired.
func (k *APIKey) works(now time.Time) bool {
	return k.Endless || now.Before(k.Ends(now))
}

// Warning returns the text for a key that ends within 14 days, else "".
func (k *APIKey) Warning(now time.Time) string {
	left := k.Ends(now).Sub(now)
	if k.Endless || left > 14*24*time.Hour {
		return ""
	}
	days := int(math.Ceil(left.Hours() / 24))
	return "The API key expires in " + strconv.Itoa(days) + " days. Renew it on the API access page."
}

// Tell sets the headers that every authenticated response has.
func (k *APIKey) Tell(h http.Header, now time.Time) {
	if k.Endless {
		return
	}
	h.Set("Service-Api-Key-Expires-At", k.Ends(now).UTC().Format(time.RFC3339))
	if text := k.Warning(now); text != "" {
		h.Set("Service-Api-Key-Expiry-Warning", text)
	}
}

// Keys is the keys of one account.
type Keys struct {
	mu   sync.Mutex
	List []*APIKey
}

// NewKeys makes the two keys that an account has from the start.
func NewKeys(w *world.World) *Keys {
	cfg := &w.Cfg
	return &Keys{List: []*APIKey{
		{ID: "key_1", Secret: cfg.APIKey, Name: "reporting", Scope: "read", ExpiresAt: cfg.KeyExpiresAt},
		{ID: "key_2", Secret: cfg.WriteKey, Name: "management", Scope: ScopeWrite, ExpiresAt: cfg.KeyExpiresAt},
	}}
}

// AccountOf finds the account that a Bearer key acts on, and the key.
func AccountOf(accounts []*API, authorization string, now time.Time) (*API, *APIKey) {
	scheme, secret, _ := strings.Cut(authorization, " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, nil
	}
	for _, own := range accounts {
		if key := own.keys.findKey(secret); key != nil && key.works(now) {
			return own, key
		}
	}
	return nil, nil
}

// findKey is the key with this secret.
func (r *Keys) findKey(secret string) *APIKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.List {
		if world.Same(secret, k.Secret) {
			return k
		}
	}
	return nil
}

// createKey answers POST /v1/api-keys, which takes the dashboard user's credentials.
func createKey(accounts []*API, now time.Time, r *http.Request) wire.Reply {
	user, password, _ := r.BasicAuth()
	i := slices.IndexFunc(accounts, func(s *API) bool { return s.World.IsUser(user, password) })
	if i < 0 {
		rep := accounts[0].APIError(http.StatusUnauthorized, "unauthorized", "Incorrect username or password.", nil)
		rep.Header.Set("Www-Authenticate", `Basic realm="dashboard"`)
		return rep
	}
	s := accounts[i]
	raw, err := wire.ReadBody(r)
	if err != nil {
		return s.Refuse(invalidField("", "%v", err))
	}
	b, err := parseBody(raw)
	if err != nil {
		return s.Refuse(invalidField("", "%v", err))
	}
	by := described().Paths["/v1/api-keys"]["post"].RequestBody.Content["application/json"].Schema
	if found := by.check(nil, "", map[string]any(b)); len(found) > 0 {
		return s.Refuse(invalidFields(found))
	}
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	n := len(s.keys.List) + 1
	k := &APIKey{ID: "key_" + strconv.Itoa(n), Name: b.text("name"), Scope: b.text("scope"),
		Secret: "adv_" + chance.Hex24(chance.Hash(s.World.Account.Seed, chance.AboutSignIn, uint64(n)))}
	s.keys.List = append(s.keys.List, k)
	return wire.JSONReply(http.StatusCreated, tree.Marshal(map[string]string{"id": k.ID, "name": k.Name,
		"scope": k.Scope, "api_key": k.Secret, "expires_at": clock.Instant(k.Ends(now))}))
}
