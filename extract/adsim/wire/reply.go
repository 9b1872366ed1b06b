package wire

import (
	"net/http"
	"net/url"
	"strconv"
)

// Reply is a reply of the simulated service before it is sent.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSONReply is a reply with a JSON body.
func JSONReply(status int, body []byte) Reply {
	return Reply{Status: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: body}
}

// ParsePositive returns an integer query parameter, or the default def if the parameter is missing. If the parameter is
// not an integer from 1 to most, ParsePositive returns the error text of a refusal.
func ParsePositive(q url.Values, name string, def, most int) (int, string) {
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

// The paths of the service's two interfaces. The base URL of the spend report ends in ReportPrefix. The base URL of the
// advertiser API ends in APIPrefix.
const (
	ReportPrefix = "/report"
	APIPrefix    = "/api"
)
