package adsim

import (
	"fmt"
	"net/http"
	"strconv"
)

// problem is why a request of the advertiser API is refused.
type problem struct {
	status  int
	code    string
	message string
	details []detail
	wait    int // seconds; 0: not known
}

// detail names a field and what is wrong with it.
type detail struct{ field, message string }

func invalidField(field, format string, args ...any) *problem {
	return invalidFields([]detail{{field, fmt.Sprintf(format, args...)}})
}

func invalidFields(found []detail) *problem {
	first := found[0]
	message := "Invalid " + first.field + ": " + first.message + "."
	if first.field == "" {
		message = "Invalid request: " + first.message + "."
	}
	return &problem{status: http.StatusBadRequest, code: "validation_failed", message: message, details: found}
}

func conflict(format string, args ...any) *problem {
	return &problem{status: http.StatusConflict, code: "conflict", message: fmt.Sprintf(format, args...)}
}

func noSuch(what string) *problem {
	return &problem{status: http.StatusNotFound, code: "not_found", message: "There is no such " + what +
		" in this account."}
}

func tooMany(wait int, format string, args ...any) *problem {
	return &problem{status: http.StatusTooManyRequests, code: "rate_limited", message: fmt.Sprintf(format, args...),
		wait: wait}
}

// refuse is the reply that tells a problem.
func (s *Service) refuse(p *problem) reply {
	details := ""
	if p.details != nil {
		o := object{}
		o.list("", len(p.details), func(i int) {
			o.begin("")
			o.str("field", p.details[i].field)
			o.str("message", p.details[i].message)
			o.end()
		})
		details = string(o.dst)
	}
	rep := s.apiError(p.status, p.code, p.message, details)
	if p.wait > 0 {
		rep.header.Set("Retry-After", strconv.Itoa(p.wait))
	}
	return rep
}
