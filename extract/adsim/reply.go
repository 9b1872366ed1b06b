package adsim

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// reply is an answer before it goes on the wire.
type reply struct {
	status  int
	header  http.Header
	body    []byte
	chunked bool // sent without a Content-Length
}

// jsonReply is a reply with a JSON body.
func jsonReply(status int, body []byte) reply {
	return reply{status: status, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body: body}
}

// mostBody is how large a body may be: the largest image that base64 may hold, and
// then some.
const mostBody = 1 << 20

// readBody reads a body that is not too large.
func readBody(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	if err == nil && len(raw) > mostBody {
		err = fmt.Errorf("the body has more than %d bytes", mostBody)
	}
	return raw, err
}

func parsePositive(q url.Values, name string, def, most int) (int, string) {
	v := q.Get(name)
	if v == "" {
		return def, ""
	}
	n, err := strconv.Atoi(v)
	switch {
	case err != nil || n < 1:
		return 0, "Invalid " + name + " (expected an integer of 1 or more)"
	case n > most:
		return 0, name + " cannot be more than " + strconv.Itoa(most)
	}
	return n, ""
}

// baseOf is where the client has found the service.
func baseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// The paths under which the service's interfaces are mounted. The spend
// report's base URL ends in ReportPrefix, the advertiser API's in APIPrefix and the push sending APIs' in PushPrefix.
const (
	ReportPrefix = "/report"
	APIPrefix    = "/api"
	PushPrefix   = "/push"
)

// parseWindow takes limit and offset; field names the one that is wrong.
func parseWindow(q url.Values) (w window, field, message string) {
	w = window{limit: 25}
	for _, p := range []struct {
		name     string
		min, max int
		into     *int
	}{{"limit", 1, 100, &w.limit}, {"offset", 0, 10000, &w.offset}} {
		if !q.Has(p.name) {
			continue
		}
		n, err := strconv.Atoi(q.Get(p.name))
		if err != nil || n < p.min || n > p.max {
			return w, p.name, "expected an integer from " + strconv.Itoa(p.min) + " to " + strconv.Itoa(p.max)
		}
		*p.into = n
	}
	return w, "", ""
}

// window is the part of a list that was asked for.
type window struct{ limit, offset int }
