package advertiser

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/fetch"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// Call is an accepted request of the advertiser API, from REST or MCP.
type Call struct {
	St    *ledger.State
	Key   *APIKey
	Op    *Operation
	id    string   // in the path
	args  body     // of the query or the body
	wrong *problem // with the arguments
	Fault *wire.Fault
}

// API answers the advertiser API for one account.
type API struct {
	World *world.World
	keys  *Keys
	files *fetch.Fetcher
}

func NewAPI(w *world.World, keys *Keys, files *fetch.Fetcher) *API {
	return &API{World: w, keys: keys, files: files}
}

// Serve checks the key and lets its account answer.
func Serve(accounts []*API, now time.Time, r *http.Request, f *wire.Fault) wire.Reply {
	if r.Method == http.MethodPost && r.URL.Path == wire.APIPrefix+"/v1/api-keys" {
		return createKey(accounts, now, r)
	}
	own, key := AccountOf(accounts, r.Header.Get("Authorization"), now)
	if own == nil {
		return accounts[0].Unauthorized()
	}
	st := own.World.StateAt(now)
	rep := own.serveKey(&Call{St: &st, Key: key, Fault: f}, r)
	key.Tell(rep.Header, now)
	return rep
}

func (s *API) Unauthorized() wire.Reply {
	rep := s.APIError(http.StatusUnauthorized, "unauthorized", "The API key is invalid, expired or revoked.", nil)
	rep.Header.Set("Www-Authenticate", "Bearer")
	return rep
}

// serveKey answers a request whose key is right.
func (s *API) serveKey(c *Call, r *http.Request) wire.Reply {
	allow := c.route(r.Method, r.URL.Path)
	if c.Op != nil {
		c.wrong = c.takeRequest(r)
		return s.Perform(c)
	}
	if p := s.throttle(c); p != nil {
		return s.Refuse(p)
	}
	if allow == nil {
		return s.APIError(http.StatusNotFound, "not_found", "There is no such path.", nil)
	}
	rep := s.APIError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", nil)
	rep.Header.Set("Allow", strings.Join(allow, ", "))
	return rep
}

// Perform answers a call whose operation is known.
func (s *API) Perform(c *Call) wire.Reply {
	if p := s.admit(c); p != nil {
		return s.Refuse(p)
	}
	if c.Fault.Is(wire.Upstream) && c.Op.Write() && !c.Fault.Other {
		return s.Refuse(upstreamProblem)
	}
	rep := c.Op.answer(s, c)
	if c.Fault.Is(wire.Upstream) && rep.Status < 300 {
		return s.Refuse(upstreamProblem)
	}
	return rep
}

var upstreamProblem = &problem{status: http.StatusBadGateway, code: "upstream_error",
	message: "A backend step failed. The change may nevertheless have gone through."}

// throttle counts a call against the minute. Pausing is never limited.
func (s *API) throttle(c *Call) *problem {
	if c.pauses() {
		return nil
	}
	if wait := c.Key.Limiter.take(c.St.Now, s.World.Cfg.RateLimit); wait > 0 {
		return tooMany(wait, "More than %d requests per minute.", s.World.Cfg.RateLimit)
	}
	return nil
}

// admit makes the checks common to all operations: the rate, the scope, the arguments.
func (s *API) admit(c *Call) *problem {
	if p := s.throttle(c); p != nil {
		return p
	}
	if c.Fault.Is(wire.Unavailable) && !c.pauses() {
		wait, err := strconv.Atoi(c.Fault.RetryAfter)
		if err != nil {
			wait = 30
		}
		return &problem{status: http.StatusServiceUnavailable, code: "unavailable",
			message: "Temporarily unavailable. Pausing still works.", wait: wait}
	}
	if c.Op.Write() && c.Key.Scope != ScopeWrite {
		return &problem{status: http.StatusForbidden, code: "forbidden", message: "The API key is read-only."}
	}
	return c.wrong
}

// pauses reports whether the call pauses a campaign or a creative: that is never
// limited, and works while nothing else does.
func (c *Call) pauses() bool {
	return c.Op != nil && (c.Op.Name == "set_campaign_status" || c.Op.Name == "set_creative_status") &&
		c.args.text("status") == "paused"
}

// APIError returns the advertiser API's error body.
func (s *API) APIError(status int, code, message string, details []detail) wire.Reply {
	type problem struct {
		Code      string   `json:"code"`
		Message   string   `json:"message"`
		Details   []detail `json:"details,omitempty"`
		RequestID string   `json:"request_id"`
	}
	return wire.JSONReply(status,
		tree.Marshal(map[string]problem{"error": {code, message, details, s.World.RequestID()}}))
}

func (s *API) notFound(what string) wire.Reply { return s.Refuse(noSuch(what)) }

// CodeOf is the code that goes with a status.
func CodeOf(status int) string { return cmp.Or(codes[status], "internal_error") }

var codes = map[int]string{
	http.StatusBadRequest: "validation_failed", http.StatusUnauthorized: "unauthorized",
	http.StatusForbidden: "forbidden", http.StatusNotFound: "not_found", http.StatusMethodNotAllowed: "not_found",
	http.StatusConflict: "conflict", http.StatusTooManyRequests: "rate_limited",
	http.StatusBadGateway: "upstream_error", http.StatusServiceUnavailable: "unavailable",
}

// Limiter is a window of 60 seconds that slides with the service's clock.
type Limiter struct {
	mu    sync.Mutex
	taken []time.Time
}

// take counts a request, or returns how many seconds to wait.
func (l *Limiter) take(now time.Time, most int) int {
	if most < 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A clock that was set back has no requests before it.
	l.taken = slices.DeleteFunc(l.taken, func(t time.Time) bool {
		return t.After(now) || now.Sub(t) >= time.Minute
	})
	if len(l.taken) < most {
		l.taken = append(l.taken, now)
		return 0
	}
	return max(1, int(math.Ceil((time.Minute - now.Sub(l.taken[0])).Seconds())))
}
