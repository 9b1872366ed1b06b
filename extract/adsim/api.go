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

// serveAPI checks the key and lets its account answer.
func (s *Service) serveAPI(st *state, r *http.Request, f *Fault) reply {
	switch r.URL.Path {
	case APIPrefix + "/v1/api-keys":
		return s.serveAPIKeys(st, r)
	case mcpPath:
		return s.serveMCP(st, r, f)
	}
	own, key := s.accountOf(r.Header.Get("Authorization"), st.now)
	if own == nil {
		return s.unauthorized()
	}
	if own != s {
		at := own.stateAt(st.now)
		st = &at
	}
	rep := own.serveKey(&call{st: st, key: key, query: r.URL.Query(), fault: f}, r)
	key.tell(rep.header, st.now)
	return rep
}

func (s *Service) unauthorized() reply {
	rep := s.apiError(http.StatusUnauthorized, "unauthorized", "The API key is invalid, expired or revoked.", "")
	rep.header.Set("Www-Authenticate", "Bearer")
	return rep
}

// serveKey answers a request whose key is right.
func (s *Service) serveKey(c *call, r *http.Request) reply {
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
		return s.apiError(http.StatusNotFound, "not_found", "There is no such path.", "")
	case c.op == nil:
		rep := s.apiError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", "")
		rep.header.Set("Allow", strings.Join(allow, ", "))
		return rep
	}
	return s.perform(c)
}

// perform answers a call whose operation is known and that was not too much.
func (s *Service) perform(c *call) reply {
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
func (s *Service) throttle(c *call) *problem {
	if c.pauses() {
		return nil
	}
	if wait := c.key.limiter.take(c.st.now, s.cfg.RateLimit); wait > 0 {
		return tooMany(wait, "More than %d requests per minute.", s.cfg.RateLimit)
	}
	return nil
}

// admit checks all that does not depend on what is asked for: the scope, the
// parameters, the form of the body.
func (s *Service) admit(c *call) *problem {
	if c.fault.is(Unavailable) && !c.pauses() {
		wait, err := strconv.Atoi(c.fault.RetryAfter)
		if err != nil {
			wait = 30
		}
		return &problem{status: http.StatusServiceUnavailable, code: "unavailable",
			message: "Temporarily unavailable. Pausing still works.", wait: wait}
	}
	if c.op.write && c.key.scope != scopeWrite {
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

// apiError is the advertiser API's error body. details is JSON, or "" for none.
func (s *Service) apiError(status int, code, message, details string) reply {
	o := object{}
	o.begin("")
	o.begin("error")
	o.str("code", code)
	o.str("message", message)
	if details != "" {
		o.raw("details", details)
	}
	o.str("request_id", s.requestID())
	o.end()
	o.end()
	return jsonReply(status, o.dst)
}

func (s *Service) invalid(field, message string) reply {
	return s.refuse(invalidField(field, "%s", message))
}

func (s *Service) notFound(what string) reply { return s.refuse(noSuch(what)) }

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

// window is the part of a list that was asked for.
type window struct{ limit, offset int }

// window takes limit and offset; field names the one that is wrong.
func (c *call) window() (w window, field, message string) {
	w = window{limit: 25}
	for _, p := range []struct {
		name     string
		min, max int
		into     *int
	}{{"limit", 1, 100, &w.limit}, {"offset", 0, 10000, &w.offset}} {
		if !c.query.Has(p.name) {
			continue
		}
		n, err := strconv.Atoi(c.query.Get(p.name))
		if err != nil || n < p.min || n > p.max {
			return w, p.name, "expected an integer from " + strconv.Itoa(p.min) + " to " + strconv.Itoa(p.max)
		}
		*p.into = n
	}
	return w, "", ""
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
