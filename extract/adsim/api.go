package adsim

import (
	"bytes"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// call is an accepted request of the advertiser API, from REST or MCP.
type call struct {
	st    *state
	key   *apiKey
	op    *operation
	query url.Values
	path  []string // below /v1/
	raw   []byte   // the body as it came
	body  body
	fault *Fault
}

// api answers the advertiser API for one account.
type api struct {
	world      *world
	keys       *keyRing
	files      *fetcher
	operations []*operation
}

func newAPI(w *world, keys *keyRing, files *fetcher) *api {
	return &api{world: w, keys: keys, files: files, operations: operations()}
}

// serveAPI checks the key and lets its account answer.
func serveAPI(accounts []*api, now time.Time, r *http.Request, f *Fault) reply {
	if r.URL.Path == APIPrefix+"/v1/api-keys" {
		return serveAPIKeys(accounts, now, r)
	}
	own, key := accountOf(accounts, r.Header.Get("Authorization"), now)
	if own == nil {
		return accounts[0].unauthorized()
	}
	st := own.world.stateAt(now)
	rep := own.serveKey(&call{st: &st, key: key, query: r.URL.Query(), fault: f}, r)
	key.tell(rep.header, now)
	return rep
}

func (s *api) unauthorized() reply {
	rep := s.apiError(http.StatusUnauthorized, "unauthorized", "The API key is invalid, expired or revoked.", nil)
	rep.header.Set("Www-Authenticate", "Bearer")
	return rep
}

// serveKey answers a request whose key is right.
func (s *api) serveKey(c *call, r *http.Request) reply {
	allow := s.route(c, r.Method, r.URL.Path)
	if c.op != nil && c.op.body != nil {
		raw, err := readBody(r)
		if err != nil {
			return s.refuse(invalidField("", "the body can't be read: %v", err))
		}
		c.raw = raw
	}
	if p := s.throttle(c); p != nil {
		return s.refuse(p)
	}
	switch {
	case allow == nil:
		return s.apiError(http.StatusNotFound, "not_found", "There is no such path.", nil)
	case c.op == nil:
		rep := s.apiError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", nil)
		rep.header.Set("Allow", strings.Join(allow, ", "))
		return rep
	}
	return s.perform(c)
}

// perform answers a call whose operation is known and that was not too much.
func (s *api) perform(c *call) reply {
	if p := s.admit(c); p != nil {
		return s.refuse(p)
	}
	if c.fault.is(Upstream) && c.op.write && !c.fault.Other {
		return s.refuse(upstreamProblem)
	}
	rep := c.op.answer(s, c)
	if c.fault.is(Upstream) && rep.status < 300 {
		return s.refuse(upstreamProblem)
	}
	return rep
}

var upstreamProblem = &problem{status: http.StatusBadGateway, code: "upstream_error",
	message: "A backend step failed. The change may nevertheless have gone through."}

// throttle counts a call against the minute. Pausing is never limited.
func (s *api) throttle(c *call) *problem {
	if c.pauses() {
		return nil
	}
	if wait := c.key.limiter.take(c.st.now, s.world.cfg.RateLimit); wait > 0 {
		return tooMany(wait, "More than %d requests per minute.", s.world.cfg.RateLimit)
	}
	return nil
}

// admit checks all that does not depend on what is asked for: the scope, the
// parameters, the form of the body.
func (s *api) admit(c *call) *problem {
	if c.fault.is(Unavailable) && !c.pauses() {
		wait, err := strconv.Atoi(c.fault.RetryAfter)
		if err != nil {
			wait = 30
		}
		return &problem{status: http.StatusServiceUnavailable, code: "unavailable",
			message: "Temporarily unavailable. Pausing still works.", wait: wait}
	}
	if c.op.write && c.key.Scope != scopeWrite {
		return &problem{status: http.StatusForbidden, code: "forbidden", message: "The API key is read-only."}
	}
	for _, name := range sortedKeys(c.query) {
		if !slices.ContainsFunc(c.op.params, func(p param) bool { return p.name == name }) {
			return invalidField(name, "unknown parameter")
		}
		if len(c.query[name]) > 1 {
			return invalidField(name, "given more than once")
		}
	}
	return c.takeBody()
}

// takeBody parses the body and checks its form.
func (c *call) takeBody() *problem {
	if c.op.body == nil || c.body != nil {
		return nil
	}
	if c.op.bodyOptional && len(bytes.TrimSpace(c.raw)) == 0 {
		c.body = body{}
		return nil
	}
	b, err := parseBody(c.raw)
	if err != nil {
		return invalidField("", "%v", err)
	}
	if found := c.op.body.check(nil, "", map[string]any(b)); len(found) > 0 {
		return invalidFields(found)
	}
	c.body = b
	return nil
}

// pauses says whether the call pauses a campaign or a creative: that is never
// limited, and works while nothing else does.
func (c *call) pauses() bool {
	if c.op == nil || c.op.name != "set_campaign_status" && c.op.name != "set_creative_status" {
		return false
	}
	b, err := parseBody(c.raw)
	return err == nil && b.text("status") == "paused"
}

// apiError returns the advertiser API's error body.
func (s *api) apiError(status int, code, message string, details []detail) reply {
	type problem struct {
		Code      string   `json:"code"`
		Message   string   `json:"message"`
		Details   []detail `json:"details,omitempty"`
		RequestID string   `json:"request_id"`
	}
	return jsonReply(status, marshal(map[string]problem{"error": {code, message, details, s.world.requestID()}}))
}

func (s *api) invalid(field, message string) reply {
	return s.refuse(invalidField(field, "%s", message))
}

func (s *api) notFound(what string) reply { return s.refuse(noSuch(what)) }

// codeOf is the code that goes with a status.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "validation_failed"
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "not_found"
	case http.StatusConflict:
		return "conflict"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusBadGateway:
		return "upstream_error"
	case http.StatusServiceUnavailable:
		return "unavailable"
	}
	return "internal_error"
}

// limiter is a window of 60 seconds that slides with the service's clock.
type limiter struct {
	mu    sync.Mutex
	taken []time.Time
}

// take counts a request, or says how many seconds to wait.
func (l *limiter) take(now time.Time, most int) int {
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

// statuses takes the list of statuses asked for, each known and none twice.
func (c *call) statuses(known, byDefault []string) (list []string, message string) {
	if !c.query.Has("status") {
		return byDefault, ""
	}
	list = strings.Split(c.query.Get("status"), ",")
	for i, st := range list {
		if !slices.Contains(known, st) {
			return nil, "expected a list of " + strings.Join(known, ", ")
		}
		if slices.Contains(list[:i], st) {
			return nil, st + " is given more than once"
		}
	}
	return list, ""
}

// search takes the text that a name or an ID must hold.
func (c *call) search() (text, message string) {
	text = c.query.Get("search")
	if utf8.RuneCountInString(text) > 100 {
		return "", "expected at most 100 characters"
	}
	return text, ""
}
