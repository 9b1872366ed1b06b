package adsim

import (
	"net/http"
	"strings"
	"time"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// faultReply is the reply of the kinds that replace it.
func (s *Service) faultReply(st *ledger.State, r *http.Request, f *wire.Fault) (wire.Reply, bool) {
	status := f.Status
	if status == 0 {
		status = http.StatusOK
	}
	var rep wire.Reply
	switch f.Kind {
	case wire.Status:
		if strings.HasPrefix(r.URL.Path, wire.APIPrefix+"/") {
			rep = s.api.APIError(status, advertiser.CodeOf(status), http.StatusText(status), nil)
		} else {
			rep = report.ReportError(status, s.reportText(status))
		}
	case wire.HTML:
		rep = wire.Reply{Status: status, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<!DOCTYPE html>\n<html><head><title>Be right back</title></head><body><h1>We&#39;ll be " +
				"right back</h1></body></html>\n")}
	case wire.Empty:
		rep = wire.JsonReply(status, nil)
	case wire.Null:
		rep = wire.JsonReply(status, []byte("null"))
	case wire.Body:
		rep = wire.JsonReply(status, []byte(f.Value))
	default:
		return wire.Reply{}, false
	}
	if wait, ok := strings.CutPrefix(f.RetryAfter, "+"); ok {
		d, _ := time.ParseDuration(wait) // set has seen that it is one
		rep.Header.Set("Retry-After", st.Now.Add(d).UTC().Format(http.TimeFormat))
	} else if f.RetryAfter != "" {
		rep.Header.Set("Retry-After", f.RetryAfter)
	}
	if f.Location != "" {
		rep.Header.Set("Location", f.Location)
	}
	return rep, true
}

// reportText is the report's text for a status that a fault asks for.
func (s *Service) reportText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return report.TextWrongAuth
	case http.StatusForbidden:
		return report.TextUnconfirmed
	case http.StatusInternalServerError:
		return report.TextInternal + " (request ID: " + s.RequestID() + ")"
	}
	return http.StatusText(status)
}
