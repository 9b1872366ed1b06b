package adsim

import (
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

// call is an accepted request of the advertiser API.
type call struct {
	st    *state
	query url.Values
	path  []string // below /v1/
	fault *Fault
}

// operation answers a call. A problem with the query is a validation error.
type operation struct {
	params []string
	answer func(*Service, *call) reply
}

// serveAPI checks the key, counts the request, and finds the operation.
func (s *Service) serveAPI(st *state, r *http.Request, f *Fault) reply {
	expires := s.keyExpiresAt(st)
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || !same(strings.TrimSpace(key), s.cfg.APIKey) || !st.now.Before(expires) {
		rep := s.apiError(http.StatusUnauthorized, "unauthorized", "The API key is invalid, expired or revoked.", "")
		rep.header.Set("Www-Authenticate", "Bearer")
		return rep
	}
	rep := s.serveKey(st, r, f)
	rep.header.Set("Service-Api-Key-Expires-At", expires.UTC().Format(time.RFC3339))
	if left := expires.Sub(st.now); left <= 14*24*time.Hour {
		days := int(math.Ceil(left.Hours() / 24))
		rep.header.Set("Service-Api-Key-Expiry-Warning", "The API key expires in "+strconv.Itoa(days)+" days. Renew it on the API access page.")
	}
	return rep
}

// serveKey answers a request whose key is right.
func (s *Service) serveKey(st *state, r *http.Request, f *Fault) reply {
	if wait := s.limiter.take(st.now, s.cfg.RateLimit); wait > 0 {
		rep := s.apiError(http.StatusTooManyRequests, "rate_limited", "More than "+strconv.Itoa(s.cfg.RateLimit)+" requests per minute.", "")
		rep.header.Set("Retry-After", strconv.Itoa(wait))
		return rep
	}
	path, _ := strings.CutPrefix(r.URL.Path, APIPrefix+"/v1/")
	c := &call{st: st, query: r.URL.Query(), path: strings.Split(path, "/"), fault: f}
	op, ok := s.operation(r.URL.Path, c)
	if !ok {
		return s.apiError(http.StatusNotFound, "not_found", "There is no such path.", "")
	}
	if r.Method != http.MethodGet {
		rep := s.apiError(http.StatusMethodNotAllowed, "not_found", "The path has no "+r.Method+".", "")
		rep.header.Set("Allow", http.MethodGet)
		return rep
	}
	for name, values := range c.query {
		if !slices.Contains(op.params, name) {
			return s.invalid(name, "unknown parameter")
		}
		if len(values) > 1 {
			return s.invalid(name, "given more than once")
		}
	}
	return op.answer(s, c)
}

// operation finds what a path stands for.
func (s *Service) operation(path string, c *call) (operation, bool) {
	if !strings.HasPrefix(path, APIPrefix+"/v1/") {
		return operation{}, false
	}
	shape := slices.Clone(c.path)
	if len(shape) > 1 {
		shape[1] = "*"
	}
	switch strings.Join(shape, "/") {
	case "me":
		return operation{answer: (*Service).me}, true
	case "limits":
		return operation{answer: (*Service).limits}, true
	case "balance":
		return operation{params: []string{"fresh"}, answer: (*Service).balance}, true
	case "openapi.json":
		return operation{answer: (*Service).openAPI}, true
	case "campaigns":
		return operation{params: []string{"status", "search", "limit", "offset"}, answer: (*Service).listCampaigns}, true
	case "campaigns/*":
		return operation{answer: (*Service).getCampaign}, true
	case "campaigns/*/creatives":
		return operation{params: []string{"status", "limit", "offset"}, answer: (*Service).listCreatives}, true
	case "campaigns/*/sources":
		return operation{answer: (*Service).getSources}, true
	case "creatives/*":
		return operation{answer: (*Service).getCreative}, true
	}
	return operation{}, false
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
	o := object{}
	o.list("", 1, func(int) {
		o.begin("")
		o.str("field", field)
		o.str("message", message)
		o.end()
	})
	return s.apiError(http.StatusBadRequest, "validation_failed", "Invalid "+field+": "+message+".", string(o.dst))
}

func (s *Service) notFound(what string) reply {
	return s.apiError(http.StatusNotFound, "not_found", "There is no such "+what+" in this account.", "")
}

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

// keyExpiresAt is when the key ends.
func (s *Service) keyExpiresAt(st *state) time.Time {
	if !s.cfg.KeyExpiresAt.IsZero() {
		return s.cfg.KeyExpiresAt
	}
	y, m, _ := st.now.UTC().Date()
	return time.Date(y, m+3, 1, 0, 0, 0, 0, time.UTC)
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
