package advertiser

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// The scopes of a key. Write includes read.
const (
	scopeRead  = "read"
	ScopeWrite = "write"
)

// keyPrefix is the prefix of every key.
const keyPrefix = "adv_"

// keyLife is the lifetime of a key created through the API.
const keyLife = 90 * 24 * time.Hour

// APIKey is a key in use. Its fields are guarded by its account's mutex where they
// change; a call holds a copy.
type APIKey struct {
	ID string
	config.Key
	revoked bool
	Endless bool // an OAuth sign-in: it has no key that could expire
	Limiter *Limiter
}

func newKey(n int, k config.Key) *APIKey {
	return &APIKey{ID: "key_" + strconv.Itoa(n), Key: k, Limiter: &Limiter{}}
}

// configuredKeys are the keys that an account has from the start.
func configuredKeys(cfg *config.Config) []*APIKey {
	list := append([]config.Key{
		{Secret: cfg.APIKey, Name: "reporting", Scope: scopeRead, ExpiresAt: cfg.KeyExpiresAt},
		{Secret: cfg.WriteKey, Name: "management", Scope: ScopeWrite, ExpiresAt: cfg.KeyExpiresAt},
	}, cfg.Keys...)
	keys := make([]*APIKey, len(list))
	for i, k := range list {
		keys[i] = newKey(i+1, k)
	}
	return keys
}

// Ends is when the key ends: never where the time is zero.
func (k *APIKey) Ends(now time.Time) time.Time {
	if k.Endless || !k.ExpiresAt.IsZero() {
		return k.ExpiresAt
	}
	y, m, _ := now.UTC().Date()
	return time.Date(y, m+3, 1, 0, 0, 0, 0, time.UTC)
}

// works reports whether the key is neither revoked nor expired.
func (k *APIKey) works(now time.Time) bool {
	return !k.revoked && (k.Endless || now.Before(k.Ends(now)))
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
	world *world.World
	mu    sync.Mutex
	List  []*APIKey
}

func NewKeys(w *world.World) *Keys { return &Keys{world: w, List: configuredKeys(&w.Cfg)} }

// Reset restores the configured keys.
func (k *Keys) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.List = configuredKeys(&k.world.Cfg)
}

// Working returns copies of the keys that work at an instant.
func (k *Keys) Working(now time.Time) (list []APIKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.List {
		if key.works(now) {
			list = append(list, *key)
		}
	}
	return list
}

// Redo makes the change of a line again. It reports false for one of another room.
func (k *Keys) Redo(line *world.Entry) (known bool, err error) {
	switch line.Op {
	case "key":
		k.addKey(line.Name, line.Scope)
	case "renew":
		err = k.RenewKey(line.Name, line.Until)
	case "revoke":
		err = k.RevokeKey(line.Name)
	default:
		return false, nil
	}
	return true, err
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

// findKey is a copy of the key with this secret.
func (r *Keys) findKey(secret string) *APIKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.List {
		if world.Same(secret, k.Secret) {
			found := *k
			return &found
		}
	}
	return nil
}

var createKeyBody = objectOf([]string{"name", "scope"}, map[string]*schema{
	"name":  wordsOf(1, 100),
	"scope": enumOf(scopeRead, ScopeWrite),
})

// CreateKey is POST /v1/api-keys, the one operation with HTTP Basic.
var CreateKey = &Operation{Name: "create_api_key", Method: http.MethodPost, Path: "/v1/api-keys",
	status: http.StatusCreated, Body: createKeyBody, reply: "Key",
	Summary: "Create a key, with the dashboard user's name and password."}

// serveAPIKeys answers /v1/api-keys.
func serveAPIKeys(accounts []*API, now time.Time, r *http.Request) wire.Reply {
	s := accounts[0]
	if r.Method != http.MethodPost {
		rep := s.APIError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", nil)
		rep.Header.Set("Allow", http.MethodPost)
		return rep
	}
	user, password, basic := r.BasicAuth()
	i := slices.IndexFunc(accounts, func(own *API) bool { return own.World.IsUser(user, password) })
	if !basic || i < 0 {
		rep := s.APIError(http.StatusUnauthorized, "unauthorized", "The dashboard user's name or password is wrong.",
			nil)
		rep.Header.Set("Www-Authenticate", `Basic realm="dashboard"`)
		return rep
	}
	raw, err := wire.ReadBody(r)
	if err != nil {
		return s.Refuse(invalidField("", "%v", err))
	}
	own := accounts[i]
	st := own.World.StateAt(now)
	c := &Call{St: &st, Op: CreateKey, raw: raw}
	if p := c.takeBody(); p != nil {
		return s.Refuse(p)
	}
	return own.answerKey(c, own.keys.addKey(c.body.text("name"), c.body.text("scope")))
}

// addKey makes a key.
func (r *Keys) addKey(name, scope string) *APIKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.world.Clock.Now()
	n := len(r.List) + 1
	h := chance.Hash(r.world.Account.Seed, chance.AboutKey, uint64(n))
	k := newKey(
		n,
		config.Key{Secret: fmt.Sprintf("%s%016x%016x", keyPrefix, h, chance.Mix(h)), Name: name, Scope: scope,
			ExpiresAt: now.Add(keyLife).Truncate(time.Second)},
	)
	r.List = append(r.List, k)
	r.world.Record(world.Entry{Op: "key", Name: name, Scope: scope})
	return k
}

func (s *API) answerKey(c *Call, k *APIKey) wire.Reply {
	return created(one(c, "api_key", struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Scope     string `json:"scope"`
		APIKey    string `json:"api_key"`
		ExpiresAt string `json:"expires_at"`
	}{k.ID, k.Name, k.Scope, k.Secret, jsontext.Instant(k.ExpiresAt)}))
}

// RenewKey sets when a key ends, by its ID or its secret; RevokeKey ends it for
// good. Both stand for what a person does in the dashboard.
func (r *Keys) RenewKey(key string, until time.Time) error {
	return r.changeKey(key, func(k *APIKey) { k.ExpiresAt = until }, world.Entry{Op: "renew", Name: key, Until: until})
}

// RevokeKey ends a key: see [Service.RenewKey].
func (r *Keys) RevokeKey(key string) error {
	return r.changeKey(key, func(k *APIKey) { k.revoked = true }, world.Entry{Op: "revoke", Name: key})
}

func (r *Keys) changeKey(key string, do func(*APIKey), en world.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.List, func(k *APIKey) bool { return k.ID == key || k.Secret == key })
	if i < 0 {
		return errors.New("key: there is none of that ID or text")
	}
	do(r.List[i])
	en.Name = r.List[i].ID // no secret goes where it need not
	r.world.Record(en)
	return nil
}
