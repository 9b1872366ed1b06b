package adsim

import (
	"net/http"
	"strings"
	"time"
)

// faultReply is the reply of the kinds that replace it.
func (s *Service) faultReply(st *state, r *http.Request, f *Fault) (reply, bool) {
	status := f.Status
	if status == 0 {
		status = http.StatusOK
	}
	var rep reply
	switch f.Kind {
	case Status:
		if strings.HasPrefix(r.URL.Path, APIPrefix+"/") {
			rep = s.api.apiError(status, codeOf(status), http.StatusText(status), nil)
		} else {
			rep = reportError(status, s.reportText(status))
		}
	case HTML:
		rep = reply{status: status, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			body: []byte("<!DOCTYPE html>\n<html><head><title>Be right back</title></head><body><h1>We&#39;ll be " +
				"right back</h1></body></html>\n")}
	case Empty:
		rep = jsonReply(status, nil)
	case Null:
		rep = jsonReply(status, []byte("null"))
	case Body:
		rep = jsonReply(status, []byte(f.Value))
	default:
		return reply{}, false
	}
	if wait, ok := strings.CutPrefix(f.RetryAfter, "+"); ok {
		d, _ := time.ParseDuration(wait) // set has seen that it is one
		rep.header.Set("Retry-After", st.now.Add(d).UTC().Format(http.TimeFormat))
	} else if f.RetryAfter != "" {
		rep.header.Set("Retry-After", f.RetryAfter)
	}
	if f.Location != "" {
		rep.header.Set("Location", f.Location)
	}
	return rep, true
}

// reportText is the report's text for a status that a fault asks for.
func (s *Service) reportText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return textWrongAuth
	case http.StatusForbidden:
		return textUnconfirmed
	case http.StatusInternalServerError:
		return textInternal + " (request ID: " + s.requestID() + ")"
	}
	return http.StatusText(status)
}
