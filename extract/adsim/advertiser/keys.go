package advertiser

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/world"
)

// apiKey is a key of the advertiser API.
type apiKey struct {
	secret, name string
	canWrite     bool
	expiresAt    time.Time // zero: see [apiKey.ends]
	limiter      limiter
}

// keysOf returns the keys of an account.
func keysOf(cfg *config.Config) []*apiKey {
	return []*apiKey{{secret: cfg.APIKey, name: "reporting", expiresAt: cfg.KeyExpiresAt},
		{secret: cfg.WriteKey, name: "management", canWrite: true, expiresAt: cfg.KeyExpiresAt}}
}

// ends returns the instant at which the key expires: by default the first of a month, two to three months from now.
func (k *apiKey) ends(now time.Time) time.Time {
	if !k.expiresAt.IsZero() {
		return k.expiresAt
	}
	y, m, _ := now.UTC().Date()
	return time.Date(y, m+3, 1, 0, 0, 0, 0, time.UTC)
}

// setHeaders sets the headers about the key's expiry: always the time of the expiry, and a warning during the last 14
// days.
func (k *apiKey) setHeaders(h http.Header, now time.Time) {
	ends := k.ends(now)
	h.Set("Service-Api-Key-Expires-At", ends.UTC().Format(time.RFC3339))
	if left := ends.Sub(now); left <= 14*24*time.Hour {
		h.Set("Service-Api-Key-Expiry-Warning", "The API key expires in "+
			strconv.Itoa(int(math.Ceil(left.Hours()/24)))+" days. Renew it on the API access page.")
	}
}

// accountOf returns the key in an Authorization header and the account of that key. Both are nil if the header contains
// no valid key.
func accountOf(accounts []*API, authorization string, now time.Time) (*API, *apiKey) {
	scheme, secret, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, nil
	}
	for _, api := range accounts {
		for _, key := range api.keys {
			if world.Same(strings.TrimSpace(secret), key.secret) && now.Before(key.ends(now)) {
				return api, key
			}
		}
	}
	return nil, nil
}
