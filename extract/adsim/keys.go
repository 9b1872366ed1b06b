package adsim

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

// apiKey is a key in use. Its fields are guarded by its account's mutex where they
// change; a call holds a copy.
type apiKey struct {
	id string
	Key
	revoked bool
	endless bool // an OAuth sign-in: there is no key to expire
	limiter *limiter
}

func newKey(n int, k Key) *apiKey {
	return &apiKey{id: "key_" + strconv.Itoa(n), Key: k, limiter: &limiter{}}
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

// keyRing is the keys of one account.
type keyRing struct {
	world *world
	mu    sync.Mutex
	list  []*apiKey
}

func newKeyRing(w *world) *keyRing { return &keyRing{world: w, list: configuredKeys(&w.cfg)} }

// reset restores the configured keys.
func (k *keyRing) reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = configuredKeys(&k.world.cfg)
}

// working returns copies of the keys that work at an instant.
func (k *keyRing) working(now time.Time) (list []apiKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.list {
		if key.works(now) {
			list = append(list, *key)
		}
	}
	return list
}

// redo makes the change of a line again. It reports false for one of another room.
func (k *keyRing) redo(line *journalLine) (known bool, err error) {
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

// accountOf finds the account that a Bearer key acts on, and the key.
func accountOf(accounts []*api, authorization string, now time.Time) (*api, *apiKey) {
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
func (r *keyRing) findKey(secret string) *apiKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.list {
		if same(secret, k.Secret) {
			found := *k
			return &found
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
func serveAPIKeys(accounts []*api, now time.Time, r *http.Request) reply {
	s := accounts[0]
	if r.Method != http.MethodPost {
		rep := s.apiError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", nil)
		rep.header.Set("Allow", http.MethodPost)
		return rep
	}
	user, password, basic := r.BasicAuth()
	i := slices.IndexFunc(accounts, func(own *api) bool { return own.world.isUser(user, password) })
	if !basic || i < 0 {
		rep := s.apiError(http.StatusUnauthorized, "unauthorized", "The dashboard user's name or password is wrong.",
			nil)
		rep.header.Set("Www-Authenticate", `Basic realm="dashboard"`)
		return rep
	}
	raw, err := readBody(r)
	if err != nil {
		return s.refuse(invalidField("", "%v", err))
	}
	own := accounts[i]
	st := own.world.stateAt(now)
	c := &call{st: &st, op: createKey, raw: raw}
	if p := c.takeBody(); p != nil {
		return s.refuse(p)
	}
	return own.answerKey(c, own.keys.addKey(c.body.text("name"), c.body.text("scope")))
}

// addKey makes a key.
func (r *keyRing) addKey(name, scope string) *apiKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.world.clock.now()
	n := len(r.list) + 1
	h := chance(r.world.account.seed, aboutKey, uint64(n))
	k := newKey(n, Key{Secret: fmt.Sprintf("%s%016x%016x", keyPrefix, h, mix(h)), Name: name, Scope: scope,
		ExpiresAt: now.Add(keyLife).Truncate(time.Second)})
	r.list = append(r.list, k)
	r.world.record(journalLine{Op: "key", Name: name, Scope: scope})
	return k
}

func (s *api) answerKey(c *call, k *apiKey) reply {
	rep := s.one(c, "api_key", func(o *object) {
		o.str("id", k.id)
		o.str("name", k.Name)
		o.str("scope", k.Scope)
		o.str("api_key", k.Secret)
		o.str("expires_at", instant(k.ExpiresAt))
	})
	rep.status = http.StatusCreated
	return rep
}

// RenewKey sets when a key ends, by its ID or its secret; RevokeKey ends it for
// good. Both stand for what a person does in the dashboard.
func (r *keyRing) RenewKey(key string, until time.Time) error {
	return r.changeKey(key, func(k *apiKey) { k.ExpiresAt = until }, journalLine{Op: "renew", Name: key, Until: until})
}

// RevokeKey ends a key: see [Service.RenewKey].
func (r *keyRing) RevokeKey(key string) error {
	return r.changeKey(key, func(k *apiKey) { k.revoked = true }, journalLine{Op: "revoke", Name: key})
}

func (r *keyRing) changeKey(key string, do func(*apiKey), en journalLine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(k *apiKey) bool { return k.id == key || k.Secret == key })
	if i < 0 {
		return errors.New("key: there is none of that ID or text")
	}
	do(r.list[i])
	en.Name = r.list[i].id // no secret goes where it need not
	r.world.record(en)
	return nil
}
