package advertiser

import (
	"cmp"
	"io"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// call is an authenticated request.
type call struct {
	st    *ledger.State
	key   *apiKey
	id    string // ID of the campaign or creative in the path
	verb  string // last element of the path
	query url.Values
	body  io.Reader
	fault *wire.Fault
}

// route is an operation of the API.
type route struct {
	method, path string // a star in path stands for an ID or a verb
	params       string // allowed query parameters, separated by spaces
	answer       func(*API, *call) wire.Reply
}

var routes = []route{
	{http.MethodGet, "/v1/me", "", (*API).me},
	{http.MethodGet, "/v1/limits", "", (*API).limits},
	{http.MethodGet, "/v1/balance", "fresh", (*API).balance},
	{http.MethodGet, "/v1/campaigns", "status limit offset", (*API).listCampaigns},
	{http.MethodGet, "/v1/campaigns/*", "", (*API).getCampaign},
	{http.MethodGet, "/v1/campaigns/*/creatives", "status limit offset", (*API).listCreatives},
	{http.MethodGet, "/v1/creatives/*", "", (*API).getCreative},
	{http.MethodGet, "/v1/campaigns/*/sources", "", (*API).getSources},
	{http.MethodPost, "/v1/campaigns/*/sources/*", "", (*API).changeSources},
}

// API serves the requests of one account to the advertiser API.
type API struct {
	World *world.World
	keys  []*apiKey
}

// NewAPI returns the API of an account with its two keys.
func NewAPI(w *world.World) *API { return &API{World: w, keys: keysOf(&w.Cfg)} }

// Serve finds the account whose key the request has, and returns that account's reply.
func Serve(accounts []*API, now time.Time, r *http.Request, f *wire.Fault) wire.Reply {
	api, key := accountOf(accounts, r.Header.Get("Authorization"), now)
	if api == nil {
		rep := accounts[0].APIError(http.StatusUnauthorized, "The API key is invalid, expired or revoked.")
		rep.Header.Set("Www-Authenticate", "Bearer")
		return rep
	}
	st := api.World.StateAt(now)
	rep := api.serve(&call{st: &st, key: key, query: r.URL.Query(), body: r.Body, fault: f}, r)
	key.setHeaders(rep.Header, now)
	return rep
}

// serve answers a request whose key is valid and belongs to the account.
func (s *API) serve(c *call, r *http.Request) wire.Reply {
	if wait := c.key.limiter.wait(c.st.Now, s.World.Cfg.RateLimit); wait > 0 {
		return s.refuse(&problem{status: http.StatusTooManyRequests, wait: wait,
			message: "More requests per minute than are allowed."})
	}
	asked := strings.TrimPrefix(r.URL.Path, wire.APIPrefix)
	i := slices.IndexFunc(routes, func(o route) bool {
		fits, _ := path.Match(o.path, asked)
		return fits && o.method == r.Method
	})
	if i < 0 {
		return s.APIError(http.StatusNotFound, "There is no such path.")
	}
	for name, values := range c.query {
		if !slices.Contains(strings.Fields(routes[i].params), name) || len(values) > 1 {
			return s.refuse(invalid(name, "expected one of %s, once", cmp.Or(routes[i].params, "no parameters")))
		}
	}
	if parts := strings.Split(asked, "/"); len(parts) > 3 {
		c.id, c.verb = parts[3], parts[len(parts)-1]
	}
	return routes[i].answer(s, c)
}

// APIError returns an error reply of the advertiser API, with the code that belongs to the status.
func (s *API) APIError(status int, message string, details ...detail) wire.Reply {
	type problem struct {
		Code      string   `json:"code"`
		Message   string   `json:"message"`
		Details   []detail `json:"details,omitempty"`
		RequestID string   `json:"request_id"`
	}
	return wire.JSONReply(status, tree.Marshal(map[string]problem{"error": {
		cmp.Or(codes[status], "internal_error"), message, details, s.World.RequestID()}}))
}

var codes = map[int]string{
	http.StatusBadRequest: "validation_failed", http.StatusUnauthorized: "unauthorized",
	http.StatusForbidden: "forbidden", http.StatusNotFound: "not_found", http.StatusMethodNotAllowed: "not_found",
	http.StatusConflict: "conflict", http.StatusTooManyRequests: "rate_limited",
	http.StatusBadGateway: "upstream_error", http.StatusServiceUnavailable: "unavailable",
}

// limiter counts the requests of the last 60 seconds of the service's clock.
type limiter struct {
	mu       sync.Mutex
	accepted []time.Time
}

// The method wait allows at most the given number of requests in 60 seconds. If a request is allowed, it is counted and
// the result is 0. Otherwise the result is the number of seconds until a request would be allowed. If the given number
// is negative, there is no limit.
func (l *limiter) wait(now time.Time, most int) int {
	if most < 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Drop requests from the future, too: the clock may have been set back.
	l.accepted = slices.DeleteFunc(l.accepted, func(t time.Time) bool {
		return t.After(now) || now.Sub(t) >= time.Minute
	})
	if len(l.accepted) < most {
		l.accepted = append(l.accepted, now)
		return 0
	}
	return max(1, int(math.Ceil((time.Minute - now.Sub(l.accepted[0])).Seconds())))
}
